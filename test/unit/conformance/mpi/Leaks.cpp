//===- Leaks.cpp - No leak detection with MPI -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Open MPI and PMIx leave memory allocated and unload the modules that did it,
// so that at the end their names are unknown and the memory of threads cannot
// be read safely. The other pairs check Rondo's own part of this suite for
// leaks.
//
//===----------------------------------------------------------------------===//

/// AddressSanitizer asks this; the environment overrides it.
extern "C" const char *__asan_default_options();
const char *__asan_default_options() { return "detect_leaks=0"; }
