# What a user may choose, the flags every target shares, and gdakit_add_test.

option(GDAKIT_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(GDAKIT_BUILD_TOOLS "Build the gdakit command" ${PROJECT_IS_TOP_LEVEL})
option(GDAKIT_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(GDAKIT_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(GDAKIT_CUDA "Build the CUDA parts (needs the CUDA Toolkit)" OFF)
set(GDAKIT_SANITIZER "" CACHE STRING
    "Sanitizers for every target: empty, address,undefined or thread")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(GDAKIT_CCACHE ccache)
if(GDAKIT_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GDAKIT_CCACHE})
endif()

if(GDAKIT_CUDA)
  enable_language(CUDA)
endif()

find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)

add_library(gdakit_flags INTERFACE)
target_compile_options(gdakit_flags INTERFACE -Wall -Wextra -Wshadow)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  # Not at -O3, where g++ 12 warns of copies that cannot happen (GCC bug 105651 and its kin).
  target_compile_options(gdakit_flags INTERFACE -Werror)
endif()
if(GDAKIT_SANITIZER)
  target_compile_options(gdakit_flags INTERFACE
                         -fsanitize=${GDAKIT_SANITIZER} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(gdakit_flags INTERFACE -fsanitize=${GDAKIT_SANITIZER})
endif()
if(GDAKIT_SANITIZER STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Asio's fences, which ThreadSanitizer does not understand; ours are read-modify-writes there.
  target_compile_options(gdakit_flags INTERFACE -Wno-tsan)
endif()

# gdakit_add_test(NAME LABEL label SOURCES... [TIMEOUT seconds]): one GoogleTest program; every test
# in it is a CTest test with that label (unit, sim, job, gpu, nic).
function(gdakit_add_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE gdakit gdakit_flags GTest::gmock GTest::gtest_main)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  gtest_discover_tests(${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
