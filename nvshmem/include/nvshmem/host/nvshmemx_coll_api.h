#pragma once

#include "nvshmem/nvshmemx.h"
