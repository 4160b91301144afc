#pragma once

#include "nvshmem/nvshmem.h"
