# Installs the library, its headers and the package that find_package(gdakit) reads.
#
#   lib/libgdakit.*              the library, static or shared by BUILD_SHARED_LIBS
#   lib/libgdakit_nvshmem.so     NVSHMEM's interface
#   include/gdakit/<room>/...    the public headers, in the folders they have in the sources
#   bin/gdakit                   the command
#   lib/libgdakit-verbs.so       what `gdakit verbs` preloads
#   share/man/man1/gdakit.1      its manual page
#   lib/cmake/gdakit/            the package
#   lib/pkgconfig/               gdakit_nvshmem.pc, for programs of NVSHMEM compiled without CMake
#
# A user writes #include <gdakit/gdakit.h>. The headers include one another from the root of the
# sources ("core/base/result.h"), so both include/ and include/gdakit/ are on a user's include path.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

option(GDAKIT_INSTALL "Install gdakit with this project" ${PROJECT_IS_TOP_LEVEL})

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/gdakit)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/gdakit)

target_include_directories(gdakit_headers INTERFACE
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(gdakit PROPERTIES VERSION ${PROJECT_VERSION}
                                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# Users who embed the sources include <gdakit/gdakit.h>, too: a folder of links to the public rooms.
set(embedded ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${embedded}/gdakit)
foreach(entry core device sim backends host_calls nvshmem/include/nvshmem gdakit.h gdakit_mpi.h)
  get_filename_component(name ${entry} NAME)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${entry} ${embedded}/gdakit/${name} SYMBOLIC)
endforeach()
target_include_directories(gdakit_headers INTERFACE $<BUILD_INTERFACE:${embedded}>)

if(NOT GDAKIT_INSTALL)
  return()
endif()

# What was compiled quickly is slow on a GPU, and is not what a cluster should get unasked.
if(gdakit_cuda_is_quick)
  install(CODE [[message(WARNING
    "The CUDA parts of this build were compiled quickly, to see that they compile, as there is no "
    "GPU here. For use on a GPU build and install the preset cuda, or -DGDAKIT_CUDA_QUICK=OFF")]])
endif()

# gdakit_flags is only for building: the package neither installs nor names it.
install(TARGETS gdakit gdakit_headers gdakit_nvshmem EXPORT gdakit)
foreach(room core device sim backends host_calls nvshmem/include/nvshmem)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room} DESTINATION ${headers}
          FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "mlx5" EXCLUDE
                  PATTERN "uverbs" EXCLUDE)
endforeach()
if(EXISTS ${PROJECT_SOURCE_DIR}/gdakit.h)
  install(FILES ${PROJECT_SOURCE_DIR}/gdakit.h ${PROJECT_SOURCE_DIR}/gdakit_mpi.h
          DESTINATION ${headers})
endif()
if(TARGET gdakit_cli)
  set_target_properties(gdakit_cli PROPERTIES INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS gdakit_cli)
  if(TARGET gdakit_verbs)
    install(TARGETS gdakit_verbs LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/tools/gdakit.bash RENAME gdakit
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
if(TARGET gdakit_man_page)
  get_target_property(page gdakit_man_page PAGE)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT gdakit NAMESPACE gdakit:: FILE gdakit_targets.cmake DESTINATION ${package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gdakit-config.cmake.in
                              ${PROJECT_BINARY_DIR}/gdakit-config.cmake
                              INSTALL_DESTINATION ${package})
# Before 1.0, a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gdakit-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gdakit-config.cmake
              ${PROJECT_BINARY_DIR}/gdakit-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/Findlibdeflate.cmake
              ${CMAKE_CURRENT_LIST_DIR}/Findlibsodium.cmake
        DESTINATION ${package})
# Found from where it lies, so that the installed tree can be moved.
file(RELATIVE_PATH from_pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/gdakit_nvshmem.pc.in
               ${PROJECT_BINARY_DIR}/gdakit_nvshmem.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/gdakit_nvshmem.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
