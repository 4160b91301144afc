# What a user may choose, the flags every target shares, and gdakit_add_test.

option(GDAKIT_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(GDAKIT_BUILD_TOOLS "Build the gdakit command" ${PROJECT_IS_TOP_LEVEL})
option(GDAKIT_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(GDAKIT_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(GDAKIT_WERROR "Warnings are errors" ${PROJECT_IS_TOP_LEVEL})
set(GDAKIT_CUDA AUTO CACHE STRING
    "Build the CUDA parts (needs the CUDA Toolkit): ON, OFF, or AUTO: where there is one")
option(GDAKIT_CUDA_QUICK
       "Where there is no GPU, compile the CUDA parts quickly, to see that they compile" OFF)
set(GDAKIT_SANITIZER "" CACHE STRING
    "Sanitizers for every target: empty, address,undefined or thread")
option(GDAKIT_PREBUILT_TESTS
       "Build tests for another machine: run none to list what is in it, and let programs move" OFF)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Programs find their libraries from where they lie themselves. scripts/test --pack packs them.
if(GDAKIT_PREBUILT_TESTS)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_BUILD_RPATH "\$ORIGIN/../lib")
  set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
endif()

# ccache finds what another folder of this machine has compiled: it sees paths relative to the build
# folder, and objects name sources as from the root, wherever that lies. scripts/test counts hits by
# the log.
find_program(GDAKIT_CCACHE ccache)
set(gdakit_ccache_settings CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
set(gdakit_compiler_launcher)
set(gdakit_prefix_maps)
if(GDAKIT_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(gdakit_compiler_launcher env ${gdakit_ccache_settings}
                               CCACHE_STATSLOG=${PROJECT_BINARY_DIR}/ccache.log ${GDAKIT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${gdakit_compiler_launcher})
  file(RELATIVE_PATH gdakit_root_from_build ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set(gdakit_prefix_maps -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
                         -ffile-prefix-map=${gdakit_root_from_build}=)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${gdakit_prefix_maps}>")
endif()

# From here on GDAKIT_CUDA is ON or OFF.
set(GDAKIT_LEAST_CUDA 12.8)
if(GDAKIT_CUDA STREQUAL "AUTO")
  include(CheckLanguage)
  list(APPEND CMAKE_PROGRAM_PATH /usr/local/cuda/bin)
  check_language(CUDA)
  set(GDAKIT_CUDA OFF)
  if(CMAKE_CUDA_COMPILER)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_says)
    string(REGEX MATCH "release ([0-9.]+)" nvcc_release "${nvcc_says}")
    if(CMAKE_MATCH_1 VERSION_GREATER_EQUAL GDAKIT_LEAST_CUDA)
      set(GDAKIT_CUDA ON)
    else()
      message(STATUS "The CUDA parts are left out: ${CMAKE_CUDA_COMPILER} is of CUDA "
                     "${CMAKE_MATCH_1}, and they need ${GDAKIT_LEAST_CUDA}")
    endif()
  endif()
endif()
if(GDAKIT_CUDA)
  # Machine code for the GPUs that clusters have, and PTX for newer ones. To show that the code
  # compiles, one kind of PTX will do.
  set(for_no_gpu 90-virtual)
  set(gdakit_cuda_is_quick OFF)
  if(GDAKIT_CUDA_QUICK AND NOT EXISTS /dev/nvidiactl AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(gdakit_cuda_is_quick ON)
    set(CMAKE_CUDA_ARCHITECTURES ${for_no_gpu})
  endif()
  # Tests and benchmarks have many kernels: they are compiled for the GPU at hand only; without one
  # for those that the user names, or else to PTX, which a driver can still translate.
  if(EXISTS /dev/nvidiactl)
    set(test_architectures native)
  elseif(DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(test_architectures ${CMAKE_CUDA_ARCHITECTURES})
  else()
    set(test_architectures ${for_no_gpu})
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
  endif()
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS GDAKIT_LEAST_CUDA)
    message(FATAL_ERROR "GDAKIT_CUDA=ON: ${CMAKE_CUDA_COMPILER} is of CUDA "
                        "${CMAKE_CUDA_COMPILER_VERSION}; use ${GDAKIT_LEAST_CUDA} or newer, or "
                        "GDAKIT_CUDA=OFF")
  endif()
  find_package(CUDAToolkit REQUIRED)
  set(GDAKIT_TEST_CUDA_ARCHITECTURES "" CACHE STRING
      "What GPU tests and benchmarks are compiled for; empty: for the GPU at hand or, without one, \
for CMAKE_CUDA_ARCHITECTURES")
  if(NOT GDAKIT_TEST_CUDA_ARCHITECTURES)
    set(GDAKIT_TEST_CUDA_ARCHITECTURES ${test_architectures})
  endif()
  # Nobody runs that PTX here, so it need not be fast: that takes nvcc a third of the time.
  set(gdakit_test_nvcc_flags)
  set(gdakit_tests_are_for_no_gpu OFF)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    set(made_fast --Ofast-compile=max)
    if(GDAKIT_TEST_CUDA_ARCHITECTURES STREQUAL for_no_gpu)
      set(gdakit_tests_are_for_no_gpu ON)
      set(gdakit_test_nvcc_flags ${made_fast})
    endif()
    if(gdakit_cuda_is_quick)
      add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:${made_fast}>)
      # The host's part of such a file takes longer than the GPU's.
      string(REPLACE "-O2" "-O0" CMAKE_CUDA_FLAGS_RELWITHDEBINFO
             "${CMAKE_CUDA_FLAGS_RELWITHDEBINFO}")
    endif()
  endif()
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc takes C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  if(GDAKIT_CCACHE AND PROJECT_IS_TOP_LEVEL)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${gdakit_compiler_launcher})
  endif()
endif()

find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
find_package(libdeflate MODULE REQUIRED)
find_package(libsodium MODULE REQUIRED)

add_library(gdakit_flags INTERFACE)
target_compile_options(gdakit_flags INTERFACE
                       $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow>
                       $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall>)
if(GDAKIT_WERROR AND NOT CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT GDAKIT_SANITIZER)
  # Not at -O3, where g++ 12 warns of copies that cannot happen (GCC bug 105651 and its kin), and
  # not in what the sanitizers make of the code.
  target_compile_options(gdakit_flags INTERFACE
                         $<$<COMPILE_LANGUAGE:CXX>:-Werror>
                         $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(GDAKIT_SANITIZER)
  target_compile_options(gdakit_flags INTERFACE
                         -fsanitize=${GDAKIT_SANITIZER} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  if(GDAKIT_SANITIZER MATCHES "undefined")
    # They take a sixth of the compilation; an access by a null pointer ends a program without them.
    target_compile_options(gdakit_flags INTERFACE -fno-sanitize=null,vptr)
  endif()
  target_link_options(gdakit_flags INTERFACE -fsanitize=${GDAKIT_SANITIZER})
endif()
if(GDAKIT_SANITIZER STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Asio's fences, which ThreadSanitizer does not understand; ours are read-modify-writes there.
  target_compile_options(gdakit_flags INTERFACE -Wno-tsan)
endif()

# For a folder of tests or benchmarks.
macro(gdakit_compile_for_gpu_at_hand)
  if(GDAKIT_CUDA)
    set(CMAKE_CUDA_ARCHITECTURES ${GDAKIT_TEST_CUDA_ARCHITECTURES})
    add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:${gdakit_test_nvcc_flags}>)
  endif()
endmacro()

# gdakit_list_tests(PROGRAM PREFIX PROPERTIES properties...): every test of that GoogleTest program
# is a CTest test with these properties, and with PREFIX before its name. In a prebuilt tree the
# whole program is one, with the label gtest: scripts/prebuilt_run.py lists its tests over there.
function(gdakit_list_tests program prefix)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "PROPERTIES")
  if(GDAKIT_PREBUILT_TESTS)
    add_test(NAME ${prefix}${program} COMMAND ${program})
    set_tests_properties(${prefix}${program} PROPERTIES ${arg_PROPERTIES})
    set_property(TEST ${prefix}${program} APPEND PROPERTY LABELS gtest)
  else()
    gtest_discover_tests(${program} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_TIMEOUT 60
                         TEST_PREFIX "${prefix}" TEST_LIST ${prefix}${program}_TESTS
                         PROPERTIES ${arg_PROPERTIES})
  endif()
endfunction()

# gdakit_test_runs(TEST NAME target [NAME target...]): the GoogleTest program TEST runs these
# programs. The macro NAME is the program's path; in a prebuilt tree from its root, where tests run.
function(gdakit_test_runs test)
  set(words ${ARGN})
  while(words)
    list(POP_FRONT words name target)
    add_dependencies(${test} ${target})
    set(path $<TARGET_FILE:${target}>)
    if(GDAKIT_PREBUILT_TESTS)
      foreach(prefix "" direct. gpu. gpu.direct.)
        if(TEST ${prefix}${test})
          set_property(TEST ${prefix}${test} APPEND PROPERTY REQUIRED_FILES ${path})
        endif()
      endforeach()
      set(path $<PATH:RELATIVE_PATH,${path},${PROJECT_BINARY_DIR}>)
    endif()
    target_compile_definitions(${test} PRIVATE ${name}="${path}")
  endwhile()
endfunction()

# gdakit_add_test(NAME LABEL label SOURCES... [LIBRARY target] [TIMEOUT seconds] [DIRECT]): one
# GoogleTest program; every test in it is a CTest test with that label (unit, sim or job).
# A program of tests/device is built under a sanitizer only if tests/sanitized.cmake lists it.
# LIBRARY: what it links in the place of gdakit. DIRECT: and another test, direct.*, in which PEs
# reach each other without the NIC.
function(gdakit_add_test name)
  cmake_parse_arguments(arg "DIRECT" "LABEL;LIBRARY;TIMEOUT" "SOURCES" ${ARGN})
  if(NOT arg_LIBRARY)
    set(arg_LIBRARY gdakit)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARY} gdakit_flags GTest::gmock GTest::gtest_main)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/device$")
    gdakit_is_sanitized(${name} here)
    if(NOT here)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      return()
    endif()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(GDAKIT_SANITIZER)  # under the thread sanitizer, on two busy cores, some took a minute
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  gdakit_list_tests(${name} "" PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  if(arg_DIRECT)
    gdakit_list_tests(${name} direct. PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
                                                 ENVIRONMENT GDAKIT_TRANSPORT=direct)
  endif()
endfunction()

# gdakit_add_gpu_test(NAME SOURCES... [TIMEOUT seconds] [DIRECT] [TWIN]): the same for CUDA sources,
# with GDAKIT_DEVICE set to gpu. Its tests are called gpu.*, have the label gpu, and run one after
# the other: programs that share a GPU take turns of milliseconds. Without a GPU they are skipped by
# name. DIRECT is as above: gpu.direct.*. TWIN: the CPU runs the same source; where there is neither
# a GPU nor one that the user names, nvcc checks it, as code for the GPU and for the host, and makes
# nothing of it: that takes a third of the time. The program is then one test, which is skipped.
function(gdakit_add_gpu_test name)
  cmake_parse_arguments(arg "DIRECT;TWIN" "TIMEOUT" "SOURCES" ${ARGN})
  if(arg_TWIN AND gdakit_tests_are_for_no_gpu)
    gdakit_check_gpu_test(${name} ${arg_SOURCES})
    return()
  endif()
  add_executable(${name} ${arg_SOURCES} $<TARGET_OBJECTS:needs_gpu>)
  target_compile_definitions(${name} PRIVATE GDAKIT_ON_GPU_ONLY)
  target_link_libraries(${name} PRIVATE gdakit gdakit_flags GTest::gmock GTest::gtest_main)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  gdakit_list_tests(${name} gpu. PROPERTIES LABELS gpu TIMEOUT ${arg_TIMEOUT} RESOURCE_LOCK gpu
                                            ENVIRONMENT GDAKIT_DEVICE=gpu)
  if(arg_DIRECT)
    gdakit_list_tests(${name} gpu.direct.
                      PROPERTIES LABELS gpu TIMEOUT ${arg_TIMEOUT} RESOURCE_LOCK gpu
                                 ENVIRONMENT "GDAKIT_DEVICE=gpu;GDAKIT_TRANSPORT=direct")
  endif()
endfunction()

# For gdakit_add_gpu_test.
function(gdakit_check_gpu_test name)
  add_library(${name} OBJECT ${ARGN})
  set_target_properties(${name} PROPERTIES CUDA_PTX_COMPILATION ON)
  target_compile_definitions(${name} PRIVATE GDAKIT_ON_GPU_ONLY)
  target_compile_options(${name} PRIVATE --fdevice-syntax-only)
  target_link_libraries(${name} PRIVATE gdakit gdakit_flags GTest::gmock)
  add_test(NAME gpu.${name} COMMAND gpu_unbuilt_test)
  set_tests_properties(gpu.${name} PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION "no GPU: ")
endfunction()
