// What NVSHMEM's programs check a status with. The macros that jump want a label of the caller's.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "nvshmem/detail/constants.h"

extern "C" {

// A status in words; never null.
const char* nvshmemx_status_string(int status);

}  // extern "C"

// One line on stderr: the place in the source, and what printf makes of the arguments.
#define NVSHMEMI_ERROR_PRINT(...)                        \
  do {                                                   \
    std::fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
    std::fprintf(stderr, __VA_ARGS__);                   \
    std::fprintf(stderr, "\n");                          \
  } while (0)
#define NVSHMEMI_WARN_PRINT(...) NVSHMEMI_ERROR_PRINT(__VA_ARGS__)

#define NVSHMEMI_ERROR_EXIT(...)       \
  do {                                 \
    NVSHMEMI_ERROR_PRINT(__VA_ARGS__); \
    std::exit(-1);                     \
  } while (0)

#define NVSHMEMI_ERROR_JMP(STATUS, ERROR, LABEL, ...) \
  do {                                                \
    NVSHMEMI_ERROR_PRINT(__VA_ARGS__);                \
    STATUS = ERROR;                                   \
    goto LABEL;                                       \
  } while (0)

#define NVSHMEMI_NULL_ERROR_JMP(POINTER, STATUS, ERROR, LABEL, ...)               \
  do {                                                                            \
    if ((POINTER) == NULL) NVSHMEMI_ERROR_JMP(STATUS, ERROR, LABEL, __VA_ARGS__); \
  } while (0)
#define NVSHMEMI_NE_ERROR_JMP(STATUS, EXPECTED, ERROR, LABEL, ...)                     \
  do {                                                                                 \
    if ((STATUS) != (EXPECTED)) NVSHMEMI_ERROR_JMP(STATUS, ERROR, LABEL, __VA_ARGS__); \
  } while (0)
#define NVSHMEMI_EQ_ERROR_JMP(STATUS, EXPECTED, ERROR, LABEL, ...)                     \
  do {                                                                                 \
    if ((STATUS) == (EXPECTED)) NVSHMEMI_ERROR_JMP(STATUS, ERROR, LABEL, __VA_ARGS__); \
  } while (0)
#define NVSHMEMI_NZ_ERROR_JMP(STATUS, ERROR, LABEL, ...) \
  NVSHMEMI_NE_ERROR_JMP(STATUS, 0, ERROR, LABEL, __VA_ARGS__)

#define NVSHMEMI_NZ_EXIT(STATUS, ...)                    \
  do {                                                   \
    if ((STATUS) != 0) NVSHMEMI_ERROR_EXIT(__VA_ARGS__); \
  } while (0)
