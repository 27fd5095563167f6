//===- choose_optimizer.cpp - What a program has memory for ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"
#include "kinds/Optimizers.h"
#include "runtime/base/error.h"
#include "runtime/trainer/options.h"

using namespace rondo;
using namespace rondo::runtime;

/// What memory must be planned for.
static PlannedOptimizer neededBy(const Options &options) {
  if (options.optimizer == OptimizerKind::AdamW)
    return PlannedOptimizer::AdamW;
  return options.momentum == 0.0 ? PlannedOptimizer::PlainSgd
                                 : PlannedOptimizer::Sgd;
}

void rondo::runtime::chooseOptimizer(const Executable &executable,
                                     Options &options) {
  const PlannedOptimizer planned = optimizerWith(executable.moments);
  if (!options.hasOptimizer && planned != PlannedOptimizer::AdamW) {
    options.optimizer = OptimizerKind::Sgd;
    if (planned == PlannedOptimizer::PlainSgd && !options.momentum)
      options.momentum = 0;
  }
  if (options.momentum && options.optimizer != OptimizerKind::Sgd)
    throw Error("--momentum needs --optimizer sgd; --help lists the flags",
                Exit::Usage);
  const PlannedOptimizer needed = neededBy(options);
  if (traitsOf(needed).moments <= executable.moments)
    return;
  auto counted = [](int32_t moments) { return countOf(moments, "moment"); };
  const bool isPlain = planned == PlannedOptimizer::PlainSgd;
  throw Error(
      "the program's memory is planned for " +
          std::string(traitsOf(planned).keyword) + ", " +
          counted(executable.moments) + " of each weight; " +
          traitsOf(needed).keyword + " keeps " +
          counted(traitsOf(needed).moments) + ": run it with --optimizer sgd" +
          (isPlain ? " --momentum 0" : "") +
          ", or compile it with --optimizer " + traitsOf(needed).keyword,
      Exit::Usage);
}
