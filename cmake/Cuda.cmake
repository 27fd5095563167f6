# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds what is needed to build the CUDA runtime library. Sets RONDO_HAS_CUDA,
# and with it RONDO_NCCL, RONDO_NCCL_INCLUDE_DIR and RONDO_CUDA_LINK_ARGUMENTS,
# and enables the language CUDA.

# A project that requires CUDA has set this.
if(NOT DEFINED RONDO_CUDA)
  set(RONDO_CUDA AUTO CACHE STRING "Build the CUDA runtime: AUTO (where nvcc and NCCL are), ON or OFF")
  set_property(CACHE RONDO_CUDA PROPERTY STRINGS AUTO ON OFF)
endif()
# One generation, since each is compiled separately: that of the machine's GPU.
# Without a GPU it is the oldest, whose PTX runs on all: newer GPUs translate it
# when a program first starts there. The preset cuda-all compiles for each.
set(generation 80)
if(EXISTS /dev/nvidiactl AND NOT CMAKE_VERSION VERSION_LESS 3.24)
  set(generation native)
endif()
set(CMAKE_CUDA_ARCHITECTURES ${generation} CACHE STRING "GPUs that the CUDA runtime has code for")

option(RONDO_QUICK_KERNELS "Compile GPU kernels in less time, for builds that do not run them" OFF)

set(RONDO_HAS_CUDA OFF)
if(RONDO_CUDA STREQUAL "OFF")
  return()
endif()

# nvcc works best with g++; it refuses clang 21 and later.
if(NOT CMAKE_CUDA_HOST_COMPILER AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_program(RONDO_CUDA_HOST_COMPILER g++)
  if(RONDO_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER ${RONDO_CUDA_HOST_COMPILER})
  endif()
endif()
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
  set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
endif()
include(CheckLanguage)
check_language(CUDA)
set(missing)
if(NOT CMAKE_CUDA_COMPILER)
  list(APPEND missing "nvcc: install the CUDA toolkit 12.8 or later, or set CUDACXX")
else()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  find_package(CUDAToolkit 12.8 QUIET)
  if(NOT CUDAToolkit_FOUND)
    list(APPEND missing "a CUDA toolkit of 12.8 or later beside ${CMAKE_CUDA_COMPILER}")
  else()
    # Where Python wheels put NCCL or cuBLAS: folders with include/ and lib/.
    find_program(RONDO_PYTHON python3)
    set(wheels)
    if(RONDO_PYTHON)
      execute_process(
        COMMAND ${RONDO_PYTHON} -c
          "import nvidia, os; print(*(e.path for p in nvidia.__path__ for e in os.scandir(p)), sep=';', end='')"
        OUTPUT_VARIABLE wheels ERROR_QUIET)
    endif()
    set(toolkit ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_BIN_DIR}/..)
    find_path(RONDO_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${toolkit} PATHS ${wheels} PATH_SUFFIXES include)
    # A wheel has no libnccl.so.
    find_library(RONDO_NCCL NAMES nccl libnccl.so.2 HINTS ${toolkit} PATHS ${wheels} PATH_SUFFIXES lib64 lib)
    if(NOT TARGET CUDA::cublasLt)
      find_path(RONDO_CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${wheels} PATH_SUFFIXES include)
      find_library(RONDO_CUBLASLT NAMES cublasLt libcublasLt.so.${CUDAToolkit_VERSION_MAJOR} PATHS ${wheels} PATH_SUFFIXES lib)
      if(RONDO_CUBLASLT_INCLUDE_DIR AND RONDO_CUBLASLT)
        add_library(CUDA::cublasLt SHARED IMPORTED GLOBAL)
        set_target_properties(CUDA::cublasLt PROPERTIES IMPORTED_LOCATION ${RONDO_CUBLASLT}
          INTERFACE_INCLUDE_DIRECTORIES ${RONDO_CUBLASLT_INCLUDE_DIR})
      endif()
    endif()
    # Attention by cuDNN, where its headers are.
    find_path(RONDO_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${wheels} PATH_SUFFIXES include)
    set(wheel_headers ${wheels})
    list(TRANSFORM wheel_headers APPEND /../../include)
    find_path(RONDO_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h PATHS ${wheel_headers})
    set(RONDO_HAS_CUDNN OFF)
    if(RONDO_CUDNN_INCLUDE_DIR AND RONDO_CUDNN_FRONTEND_INCLUDE_DIR)
      # Those that are known to compile: cuDNN 9, and a front end that keeps the rows' sums on request.
      file(STRINGS ${RONDO_CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend_version.h cudnn_major REGEX "define CUDNN_FRONTEND_MAJOR_VERSION")
      file(STRINGS ${RONDO_CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend_version.h cudnn_minor REGEX "define CUDNN_FRONTEND_MINOR_VERSION")
      file(STRINGS ${RONDO_CUDNN_INCLUDE_DIR}/cudnn_version.h cudnn_library REGEX "define CUDNN_MAJOR 9")
      string(REGEX REPLACE ".* " "" cudnn_major "${cudnn_major}")
      string(REGEX REPLACE ".* " "" cudnn_minor "${cudnn_minor}")
      if(cudnn_library AND NOT "${cudnn_major}.${cudnn_minor}" VERSION_LESS 1.14)
        set(RONDO_HAS_CUDNN ON)
      else()
        message(STATUS "attention without cuDNN, which must be 9 with a front end of 1.14 or later, not ${cudnn_major}.${cudnn_minor}")
      endif()
    endif()
    if(NOT RONDO_NCCL OR NOT RONDO_NCCL_INCLUDE_DIR)
      list(APPEND missing "NCCL: set RONDO_NCCL (libnccl.so) and RONDO_NCCL_INCLUDE_DIR (nccl.h)")
    endif()
    if(NOT TARGET CUDA::cublasLt OR NOT TARGET CUDA::cudart_static)
      list(APPEND missing "cuBLASLt or the static CUDA runtime in ${CUDAToolkit_LIBRARY_DIR}")
    endif()
  endif()
endif()

# For programs that link librondo_cuda.a, separated by |. The driver's library is
# left out, so that without a driver the program still starts and says what is
# missing.
set(RONDO_CUDA_LINK_ARGUMENTS)
if(NOT missing)
  set(RONDO_HAS_CUDA ON)
  if(RONDO_QUICK_KERNELS)
    # Older toolkits do not have it.
    include(CheckCompilerFlag)
    check_compiler_flag(CUDA --Ofast-compile=max RONDO_HAS_OFAST_COMPILE)
  endif()
  get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
  get_target_property(cublaslt CUDA::cublasLt IMPORTED_LOCATION)
  set(RONDO_CUDA_LINK_ARGUMENTS "${cudart}|${cublaslt}|${RONDO_NCCL}|-ldl|-lrt|-Wl,--enable-new-dtags")
  foreach(library IN ITEMS ${cublaslt} ${RONDO_NCCL})
    get_filename_component(folder ${library} DIRECTORY)
    string(APPEND RONDO_CUDA_LINK_ARGUMENTS "|-Wl,-rpath,${folder}")
  endforeach()
  message(STATUS "CUDA ${CUDAToolkit_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}, NCCL ${RONDO_NCCL}")
else()
  list(JOIN missing "; " missing)
  if(RONDO_CUDA STREQUAL "ON")
    message(FATAL_ERROR "RONDO_CUDA is ON, but this was not found: ${missing}")
  endif()
  message(STATUS "building without CUDA, not found: ${missing}")
endif()
