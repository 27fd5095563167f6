//===- ImportMegatronArgs.cpp - rondo import megatron-args ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/MegatronArguments.h"
#include "tools/driver/Commands.h"
#include "tools/driver/RunFiles.h"

#define OPTIONS "tools/driver/ImportMegatronArgs.inc"
#include "tools/driver/OptionTable.inc"

namespace rondo::driver {

static int run(const Arguments &arguments) {
  return importRun(arguments, launch::readMegatronArguments);
}

const Command &importMegatronArgsCommand() {
  static const Command command{
      155,
      "import megatron-args",
      "make a rondo-layout of a command line of Megatron-LM",
      optionTable(),
      {"FILE --cluster FILE [-o FILE] [OPTIONS]"},
      {"rondo import megatron-args train.sh --cluster cluster.mlir -o "
       "run.json"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
