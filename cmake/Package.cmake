# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `cpack` in the build folder makes a .deb for Debian 12 and a .tgz of an
# installation. Both can be unpacked anywhere; the tools need LLVM and MLIR 22
# where the build had them.
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/RondoConfig.cmake.in ${PROJECT_BINARY_DIR}/RondoConfig.cmake
  INSTALL_DESTINATION lib/cmake/Rondo)
# Before 1.0 a minor version may change the language.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/RondoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RondoConfig.cmake ${PROJECT_BINARY_DIR}/RondoConfigVersion.cmake
  DESTINATION lib/cmake/Rondo)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION share/doc/rondo)

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME rondo)
set(CPACK_PACKAGE_VENDOR "Rondo maintainers")
set(CPACK_PACKAGE_CONTACT "Seed 35903773 maintainers <maintainers@users.noreply.a-seed-35903773.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "schedule compiler for pipeline-parallel training")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# What the tools link, in the versions of Debian 12, and what `rondo compile`
# needs. Named here, since dpkg-shlibdeps sometimes misses libllvm22: the tools
# find it by a link of llvm-22-dev.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), libstdc++6 (>= 12), libgcc-s1, \
libllvm22 (>= 1:22.1), libmlir-22 (>= 1:22.1), g++, libopenblas-dev, libsodium-dev")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopenmpi-dev, openmpi-bin, cmake, python3")
include(CPack)
