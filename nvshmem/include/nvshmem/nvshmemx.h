// NVSHMEM's extensions: nvshmem.h has them, too.
#pragma once

#include "nvshmem/nvshmem.h"
