# Builds and runs consumer.cc and nvshmem_consumer.cc as users would. Run by CTest as
#
#   cmake -D mode=installed|embedded -D source=ROOT -D build=BUILD -D scratch=DIR
#         -D generator=NAME -D compiler=CXX -D nvcc=NVCC -D architecture=GPU -D nvcc_flags=FLAGS
#         -D launcher=CCACHE -D sanitizer=KINDS -D quick=BOOL -D build_type=TYPE -D cxx_flags=FLAGS
#         -D cuda_flags=FLAGS -D compile_options=OPTIONS -P package_test.cmake
#
# installed: installs BUILD below DIR and finds the package there; then, without CMake, compiles as
#            NVSHMEM's programs are, by what pkg-config says, by CXX, and by NVCC if it is given.
# embedded:  adds ROOT to the consumer's own project, of that type and by those flags and options.
#            Keeps its build between runs, in DIR itself.

# run(COMMAND...): ends the test if the command fails.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(arguments -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
              -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher})
if(sanitizer)
  list(APPEND arguments -D CMAKE_CXX_FLAGS=-fsanitize=${sanitizer})
endif()
if(mode STREQUAL installed)
  set(consumer ${scratch}/consumer)
  set(prefix ${scratch}/prefix)
  file(REMOVE_RECURSE ${scratch})
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${build} --prefix ${prefix}
                  ERROR_VARIABLE warning COMMAND_ERROR_IS_FATAL ANY)
  if(quick AND NOT warning MATCHES "compiled quickly")
    message(FATAL_ERROR "installing what was compiled quickly says nothing of it: ${warning}")
  endif()
  foreach(header nvshmem.h nvshmemx.h nvshmem_host.h host/nvshmem_api.h device/nvshmem_defines.h
          device_host/nvshmem_common.cuh)
    if(NOT EXISTS ${prefix}/include/gdakit/nvshmem/${header})
      message(FATAL_ERROR "<${header}> is not installed")
    endif()
  endforeach()
  if(NOT EXISTS ${prefix}/share/man/man1/gdakit.1)
    message(FATAL_ERROR "the manual page is not installed")
  endif()
  if(NOT sanitizer)  # with one there is no library that could be preloaded
    execute_process(COMMAND ${prefix}/bin/gdakit verbs env
                    OUTPUT_VARIABLE variables COMMAND_ERROR_IS_FATAL ANY)
    if(NOT variables MATCHES "LD_PRELOAD='${prefix}/[^'\n]*libgdakit-verbs.so'")
      message(FATAL_ERROR "gdakit verbs preloads another library than the installed: ${variables}")
    endif()
  endif()
  list(APPEND arguments -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=
                        -D CMAKE_PREFIX_PATH=${prefix})
else()
  set(consumer ${scratch})
  string(TOUPPER "${build_type}" type)
  list(APPEND arguments -D GDAKIT_SOURCE_DIR=${source} -D GDAKIT_WERROR=ON
                        -D CMAKE_BUILD_TYPE=${build_type} "-D CMAKE_CXX_FLAGS_${type}=${cxx_flags}"
                        "-D EMBEDDED_COMPILE_OPTIONS=${compile_options}")
  if(nvcc)
    list(APPEND arguments -D CMAKE_CUDA_COMPILER_LAUNCHER=${launcher}
                          "-D CMAKE_CUDA_FLAGS_${type}=${cuda_flags}")
    if(quick)
      list(APPEND arguments -D GDAKIT_CUDA_QUICK=ON)
    else()
      list(APPEND arguments -D CMAKE_CUDA_ARCHITECTURES=${architecture}
                            -D CMAKE_CUDA_FLAGS=${nvcc_flags})
    endif()
  endif()
endif()

run(${CMAKE_COMMAND} -S ${source}/tests/package/${mode} -B ${consumer} ${arguments})
run(${CMAKE_COMMAND} --build ${consumer} --target consumer nvshmem_consumer)
run(${consumer}/consumer)
set(on_cpu ${CMAKE_COMMAND} -E env GDAKIT_DEVICE=cpu)
run(${on_cpu} ${consumer}/nvshmem_consumer)

if(mode STREQUAL installed)
  file(GLOB library ${prefix}/lib*/libgdakit_nvshmem.so ${prefix}/lib*/*/libgdakit_nvshmem.so)
  get_filename_component(libraries ${library} DIRECTORY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${libraries}/pkgconfig
                          pkg-config --cflags --libs gdakit_nvshmem
                  OUTPUT_VARIABLE by_hand COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(by_hand UNIX_COMMAND "${by_hand}")
  set(flags)
  if(sanitizer)
    set(flags -fsanitize=${sanitizer})
  endif()
  run(${compiler} -std=c++17 ${flags} ${source}/tests/package/nvshmem_consumer.cc
      -o ${scratch}/by_hand ${by_hand} -Wl,-rpath,${libraries})
  run(${on_cpu} ${scratch}/by_hand)
  if(nvcc)
    run(${nvcc} -arch=compute_90 ${source}/tests/nvshmem/simple_shift.cu -o ${scratch}/simple_shift
        ${by_hand})
  endif()
endif()
