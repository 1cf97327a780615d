# Two packages for Debian, by `cpack -G DEB` (scripts/deb): largo has the command line, its completions and its manual
# page; liblargo-dev the library, its headers and the package that find_package(largo) reads.
set(CPACK_PACKAGE_CONTACT "The largo developers <largo@invalid>")
set(CPACK_PACKAGE_VENDOR "largo")
set(CPACK_COMPONENTS_ALL cli dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_CLI_PACKAGE_NAME largo)
set(CPACK_DEBIAN_CLI_PACKAGE_SHLIBDEPS ON)
# Figures as PDF need a font.
set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS fonts-dejavu-core)
set(CPACK_COMPONENT_CLI_DESCRIPTION "The large-prompt limit of softmax attention, from the command line
 Attention over finite and infinite prompts, how far apart they are at any
 length, and in-context learning on prompts of every length, without sampling
 where there is a formula.")

# The library is static: who links it needs what it was made with.
set(CPACK_DEBIAN_DEV_PACKAGE_NAME liblargo-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
string(JOIN ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libeigen3-dev (>= 3.4)" "libhwy-dev (>= 1.0.3)" libtbb-dev
  "libsundials-dev (>= 6.4)" libsqlite3-dev "libfmt-dev (>= 9)" "libtomlplusplus-dev (>= 3.3)")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS libopenmpi-dev)
set(CPACK_COMPONENT_DEV_DESCRIPTION "The large-prompt limit of softmax attention, C++ library
 The static library largo with its headers, for find_package(largo) in CMake.")
include(CPack)
