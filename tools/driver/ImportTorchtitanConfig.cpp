//===- ImportTorchtitanConfig.cpp - rondo import torchtitan-config -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/TorchtitanConfig.h"
#include "tools/driver/Commands.h"
#include "tools/driver/RunFiles.h"

#define OPTIONS "tools/driver/ImportTorchtitanConfig.inc"
#include "tools/driver/OptionTable.inc"

namespace rondo::driver {

static int run(const Arguments &arguments) {
  return importRun(arguments, launch::readTorchtitanArguments);
}

const Command &importTorchtitanConfigCommand() {
  static const Command command{
      156,
      "import torchtitan-config",
      "make a rondo-layout of a command line of torchtitan",
      optionTable(),
      {"FILE --cluster FILE [-o FILE] [OPTIONS]"},
      {"rondo import torchtitan-config train.sh --cluster cluster.mlir -o "
       "run.json"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
