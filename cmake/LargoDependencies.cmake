# Every dependency is a Debian package; scripts/deps installs them all.
# Imported targets are system includes, so warnings in Eigen or Boost do not reach our -Werror.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(hwy 1.0.3 REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(TBB 2021 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(tomlplusplus 3.3 REQUIRED)

# The tests compare our vectorised Philox with Random123's, which is header-only and has no CMake package.
if(LARGO_BUILD_TESTS)
  find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
  add_library(largo_random123 INTERFACE IMPORTED)
  target_include_directories(largo_random123 SYSTEM INTERFACE ${RANDOM123_INCLUDE_DIR})
endif()
