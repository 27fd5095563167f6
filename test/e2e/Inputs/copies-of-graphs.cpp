// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linked with a program for emulated GPUs: prints at its end how many copies
// between the host and the GPU its recorded iterations have done.

#include "emulation.h"

#include <cstdio>

namespace {

struct Report {
  ~Report() {
    std::printf("graphs have done %d copies of the host\n",
                emulation::hostCopiesOfGraphs());
  }
};

Report report;

} // namespace
