//===- Sharded.h - Executables whose state lies sharded ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_SHARDED_H
#define RONDO_TEST_UNIT_RUNTIME_SHARDED_H

#include "ActList.h"

#include "runtime/execution/program_run.h"

#include "gtest/gtest.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rondo::runtime::test {

/// A GPT in two stages, with samples that replicas cannot divide.
inline Spec shardedGpt(const Sharding &how, bool tied) {
  Spec spec;
  spec.layers = gptLayers(2, tied);
  for (LayerDesc &layer : spec.layers)
    layer.batch = 5;
  spec.layersOfStage = {2, 2};
  spec.rankOfStage = {0, 1};
  spec.sharding = how;
  return spec;
}

/// An executable of which the lists of one program are changed.
class EditedProgram : public Program {
public:
  EditedProgram(const Spec &spec, ProgramKind kind,
                const std::function<void(int, std::vector<Act> &)> &edit)
      : Program(spec) {
    for (ProgramDesc &program : programs) {
      if (program.kind != kind)
        continue;
      for (int32_t r = 0; r < program.numRanks; ++r) {
        const int64_t *row = program.ranks[r].row;
        std::vector<Act> list;
        for (int64_t i = 0; i < row[0]; ++i) {
          const int64_t *act = row + 1 + 4 * i;
          list.push_back({static_cast<Act::Kind>(act[0]), act[1], act[2],
                          static_cast<Message>(act[3])});
        }
        edit(r, list);
        rows.push_back(encode(list));
      }
      for (const std::vector<int64_t> &row : rows)
        ranks.push_back({runList, row.data()});
      program.ranks = ranks.data();
    }
  }

private:
  std::vector<std::vector<int64_t>> rows;
  std::vector<RankDesc> ranks;
};

/// Key: tensor. Gradients of an iteration of the pipeline without steps, of
/// generated samples.
std::map<std::string, std::vector<float>> firstGradients(const Spec &spec);

/// Distance of the first to the second, relative to the norm of the second.
double distance(const std::vector<float> &a, const std::vector<float> &b);

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_SHARDED_H
