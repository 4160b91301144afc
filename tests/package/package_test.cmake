# Builds and runs consumer.cc as a user would. Run by CTest as
#
#   cmake -D mode=installed|embedded -D source=ROOT -D build=BUILD -D scratch=DIR
#         -D generator=NAME -D compiler=CXX -D launcher=CCACHE -D sanitizer=KINDS
#         -P package_test.cmake
#
# installed: installs BUILD below DIR and finds the package there.
# embedded:  adds ROOT to the consumer's own project. Keeps its build between runs.

# run(COMMAND...): ends the test if the command fails.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(consumer ${scratch}/consumer)
set(arguments -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
              -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher} -D CMAKE_BUILD_TYPE=Debug
              -D CMAKE_CXX_FLAGS_DEBUG=)
if(sanitizer)
  list(APPEND arguments -D CMAKE_CXX_FLAGS=-fsanitize=${sanitizer})
endif()
if(mode STREQUAL installed)
  set(prefix ${scratch}/prefix)
  file(REMOVE_RECURSE ${scratch})
  run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
  foreach(header nvshmem.h nvshmemx.h nvshmem_host.h host/nvshmem_api.h device/nvshmem_defines.h
          device_host/nvshmem_common.cuh)
    if(NOT EXISTS ${prefix}/include/gdakit/nvshmem/${header})
      message(FATAL_ERROR "<${header}> is not installed")
    endif()
  endforeach()
  list(APPEND arguments -D CMAKE_PREFIX_PATH=${prefix})
else()
  list(APPEND arguments -D GDAKIT_SOURCE_DIR=${source})
endif()

run(${CMAKE_COMMAND} -S ${source}/tests/package/${mode} -B ${consumer} ${arguments})
run(${CMAKE_COMMAND} --build ${consumer} --target consumer)
run(${consumer}/consumer)
