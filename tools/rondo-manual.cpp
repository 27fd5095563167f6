//===- rondo-manual.cpp - Writes the manual of rondo ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The build runs it to make the manual for installations and docs/reference.
//
//===----------------------------------------------------------------------===//

#include "tools/driver/Commands.h"

#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 2 || argv[1][0] == '-') {
    llvm::errs() << "usage: rondo-manual FOLDER\n";
    return rondo::driver::Usage;
  }
  return rondo::driver::writeManual(argv[1]);
}
