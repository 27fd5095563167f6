//===- BuildPaths.cpp - Where this build has its parts --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/BuildPaths.h"

#ifdef RONDO_PORTABLE
const rondo::codegen::BuildPaths rondo::codegen::buildPaths = {"", "", "", "",
                                                               "", "", "", ""};
#else
const rondo::codegen::BuildPaths rondo::codegen::buildPaths = {
    RONDO_INCLUDE_DIR,    RONDO_LIBRARY_DIR,       RONDO_LLVM_TOOLS_DIR,
    RONDO_OPENBLAS_FILE,  RONDO_SODIUM_FILE,       RONDO_LINK_ARGUMENTS,
    RONDO_CUDA_ARGUMENTS, RONDO_MPI_LINK_ARGUMENTS};
#endif
