// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linked with a program for emulated GPUs: prints at its end how many copies
// between the host and the GPU its recorded iterations have done, and which
// streams, events and graphs it has not destroyed, or with another GPU current.

#include "emulation.h"

#include <cstdio>

namespace {

struct Report {
  ~Report() {
    std::printf("graphs have done %d copies of the host; %d handles left, %d "
                "destroyed elsewhere\n",
                emulation::hostCopiesOfGraphs(), emulation::liveHandles(),
                emulation::destroyedElsewhere());
  }
};

Report report;

} // namespace
