//===- Sharded.cpp - Executables whose state lies sharded -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sharded.h"

#include "runtime/trainer/trainer.h"

#include <algorithm>
#include <cmath>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

std::map<std::string, std::vector<float>>
rondo::runtime::test::firstGradients(const Spec &spec) {
  const EditedProgram program(
      spec, ProgramKind::Pipeline, [](int, std::vector<Act> &list) {
        list.erase(std::remove_if(
                       list.begin(), list.end(),
                       [](const Act &act) { return act.kind == Act::Step; }),
                   list.end());
      });
  Options options;
  Trainer trainer(program.exe, options, /*useGeneratedData=*/true);
  trainer.state().initialise(1);
  const std::unique_ptr<ProgramRun> run =
      trainer.makeRun(findProgram(program.exe, ProgramKind::Pipeline));
  trainer.train(*run, /*seed=*/1, /*iteration=*/1, /*lastIteration=*/1);
  std::map<std::string, std::vector<float>> gradients;
  const State &state = trainer.state();
  for (const Tensor &tensor : state.tensors()) {
    if (tensor.replica != tensor.owner || !tensor.sharedWith.empty())
      continue;
    std::vector<float> &values = gradients[tensor.name];
    values.resize(static_cast<size_t>(tensor.layout.count));
    for (const State::Part &part : state.partsOf(tensor, &Tensor::gradients))
      std::copy(part.values, part.values + part.count,
                values.begin() + part.first);
  }
  return gradients;
}

double rondo::runtime::test::distance(const std::vector<float> &a,
                                      const std::vector<float> &b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double(a[i]) - double(b[i]), 2);
    size += std::pow(double(b[i]), 2);
  }
  return std::sqrt(difference / size);
}
