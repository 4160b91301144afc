# find_package(libsodium MODULE): defines the target libsodium::libsodium. The library itself brings
# a file for pkg-config only.
find_path(libsodium_INCLUDE_DIR sodium.h)
find_library(libsodium_LIBRARY sodium)
mark_as_advanced(libsodium_INCLUDE_DIR libsodium_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(libsodium
  REQUIRED_VARS libsodium_LIBRARY libsodium_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libsodium-dev (Debian, Ubuntu) or libsodium-devel (Fedora)")

if(libsodium_FOUND AND NOT TARGET libsodium::libsodium)
  add_library(libsodium::libsodium UNKNOWN IMPORTED)
  set_target_properties(libsodium::libsodium PROPERTIES
    IMPORTED_LOCATION "${libsodium_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${libsodium_INCLUDE_DIR}")
endif()
