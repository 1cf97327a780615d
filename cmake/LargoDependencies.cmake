# Every dependency is a Debian package; scripts/deps installs them all.
# Imported targets are system includes, so warnings in Eigen or Boost do not reach our -Werror.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(hwy 1.0.3 REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(TBB 2021 REQUIRED)
find_package(SUNDIALS 6.4 REQUIRED COMPONENTS cvode nvecserial sunlinsoldense sunmatrixdense sunlinsolspgmr)
find_package(SQLite3 3.38 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(tomlplusplus 3.3 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(rsvg REQUIRED IMPORTED_TARGET librsvg-2.0>=2.52)
pkg_check_modules(fontconfig REQUIRED IMPORTED_TARGET fontconfig)  # librsvg needs it anyway

# MPI is optional: without it there is no largo::mpi, and nothing else is missing.
set(LARGO_HAS_MPI OFF)
if(LARGO_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)  # the C interface is enough, and the C++ one was removed from the standard
  find_package(MPI QUIET COMPONENTS CXX)
  set(LARGO_HAS_MPI ${MPI_CXX_FOUND})
endif()
if(LARGO_HAS_MPI)
  message(STATUS "MPI: on (${MPI_CXX_LIBRARIES})")
elseif(LARGO_MPI)
  message(STATUS "MPI: off (not found)")
else()
  message(STATUS "MPI: off (LARGO_MPI is OFF)")
endif()

# And CUDA: without it there is no largo::cuda.
set(LARGO_HAS_CUDA OFF)
if(LARGO_CUDA)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${LARGO_CUDA_ARCHITECTURES})
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(LARGO_NVCC nvcc PATHS /usr/local/cuda/bin)
    if(LARGO_NVCC)
      set(ENV{CUDACXX} ${LARGO_NVCC})  # what check_language tries
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
    if(CUDAToolkit_FOUND AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12)  # the first with C++20
      set(LARGO_HAS_CUDA ON)
    endif()
  endif()
  if(LARGO_HAS_CUDA)
    message(STATUS "CUDA: on (${CMAKE_CUDA_COMPILER_VERSION}, for ${LARGO_CUDA_ARCHITECTURES})")
  elseif(LARGO_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA: off (no nvcc of version 12 or newer that works with ${CMAKE_CXX_COMPILER})")
  else()
    message(FATAL_ERROR "LARGO_CUDA is ON and there is no nvcc of version 12 or newer that works: set "
                        "CMAKE_CUDA_COMPILER, or LARGO_CUDA=OFF")
  endif()
else()
  message(STATUS "CUDA: off (LARGO_CUDA is OFF)")
endif()

# So is Python: without it there is no module, and nothing else is missing.
set(LARGO_HAS_PYTHON OFF)
if(LARGO_BUILD_PYTHON)
  # The system's Python first: NumPy, Matplotlib and PyTorch are Debian packages.
  if(NOT Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python3_EXECUTABLE /usr/bin/python3)
  endif()
  find_package(Python3 QUIET COMPONENTS Interpreter Development.Module NumPy)
  set(PYTHON_EXECUTABLE ${Python3_EXECUTABLE})  # as pybind11's own search calls it
  find_package(pybind11 2.10 QUIET)
  if(Python3_FOUND AND pybind11_FOUND)
    set(LARGO_HAS_PYTHON ON)
    message(STATUS "Python module: on (Python ${Python3_VERSION}, pybind11 ${pybind11_VERSION})")
  else()
    message(STATUS "Python module: off (needs Python 3, NumPy and pybind11 with their headers)")
  endif()
endif()

# The tests compare our vectorised Philox with Random123's, which is header-only and has no CMake package.
if(LARGO_BUILD_TESTS)
  find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
  add_library(largo_random123 INTERFACE IMPORTED)
  target_include_directories(largo_random123 SYSTEM INTERFACE ${RANDOM123_INCLUDE_DIR})
endif()
