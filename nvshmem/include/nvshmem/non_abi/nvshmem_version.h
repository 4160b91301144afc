// The version of NVSHMEM whose interface this is, as build files read it: numbers alone.
#pragma once

#define NVSHMEM_VENDOR_MAJOR_VERSION 3
#define NVSHMEM_VENDOR_MINOR_VERSION 5
#define NVSHMEM_VENDOR_PATCH_VERSION 0
