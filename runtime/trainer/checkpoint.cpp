//===- checkpoint.cpp - Weights and optimizer state in a file -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/checkpoint.h"

#include "runtime/base/error.h"
#include "runtime/bodies/tensors.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/gather.h"
#include "runtime/trainer/new_file.h"
#include "runtime/trainer/safetensors_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <vector>

using namespace rondo::runtime;

static const char formatName[] = "rondo-checkpoint/1";
static const std::string changesPrefix = "optimizer.d.";

namespace {

/// One array of a file, and what it is of a tensor.
struct Slice {
  std::string name;
  const Tensor *tensor;
  float *Tensor::*values;
};

} // namespace

/// Whether the replica of a tensor keeps changes; other processes know it too.
static bool hasChanges(const State &state, const Tensor &tensor) {
  return state.replicas()[tensor.replica]
             .share->bytes[static_cast<int>(Buffer::WeightChanges)] > 0;
}

/// Copies of a tensor have its name, but changes of their own.
static std::string nameOfChanges(const State &state, const Tensor &tensor) {
  const Executable &exe = state.executable();
  const StageDesc &stage = exe.stages[exe.replicas[tensor.replica].stage];
  const std::string layer =
      exe.layers[stage.firstLayer + tensor.layerInStage].name;
  return changesPrefix + (tensor.sharedWith.empty() ? "" : layer + ".") +
         tensor.name;
}

/// Everything a checkpoint holds, in the order of its data.
static std::vector<Slice> slicesOf(const State &state, OptimizerKind optimizer,
                                   bool withChanges) {
  std::vector<Slice> slices;
  for (const Tensor &tensor : state.tensors()) {
    if (tensor.replica != tensor.owner)
      continue;
    if (withChanges && hasChanges(state, tensor))
      slices.push_back(
          {nameOfChanges(state, tensor), &tensor, &Tensor::changes});
    if (!tensor.sharedWith.empty())
      continue;
    slices.push_back({tensor.name, &tensor, &Tensor::weights});
    if (state.executable().moments > 0)
      slices.push_back(
          {"optimizer.m." + tensor.name, &tensor, &Tensor::moment1});
    if (optimizer == OptimizerKind::AdamW)
      slices.push_back(
          {"optimizer.v." + tensor.name, &tensor, &Tensor::moment2});
  }
  return slices;
}

//===----------------------------------------------------------------------===//
// Writing.
//===----------------------------------------------------------------------===//

void rondo::runtime::saveCheckpoint(const std::string &path, const State &state,
                                    const RunPosition &position) {
  SafetensorsHeader header;
  header.metadata = {{"format", formatName},
                     {"schedule", state.executable().name},
                     {"step", std::to_string(position.step)},
                     {"seed", std::to_string(position.seed)},
                     {"data_hash", std::to_string(position.dataHash)},
                     {"optimizer", nameOf(position.optimizer)}};
  std::vector<Slice> slices =
      slicesOf(state, position.optimizer, /*withChanges=*/true);
  int64_t end = 0;
  for (const Slice &slice : slices) {
    SafetensorsEntry entry;
    entry.dtype = "F32";
    entry.shape = shapeOf(slice.tensor->layout);
    entry.begin = end;
    entry.end = end += 4 * slice.tensor->layout.count;
    header.tensors[slice.name] = entry;
  }
  std::string json = writeSafetensorsHeader(header);
  uint64_t length = json.size();

  // The other processes give all their tensors even if writing fails.
  std::optional<NewFile> file;
  std::optional<Error> failure;
  auto attempt = [&](auto action) {
    if (failure || !state.world().isFirst())
      return;
    try {
      action();
    } catch (const Error &error) {
      failure = error;
      file.reset();
    }
  };
  attempt([&] {
    file.emplace(path, "checkpoint '" + path + "'");
    file->write(&length, sizeof length);
    file->write(json.data(), json.size());
  });
  std::vector<float> values;
  for (const Slice &slice : slices) {
    const std::vector<const Tensor *> shards = state.shardsOf(*slice.tensor);
    if (std::none_of(shards.begin(), shards.end(), [&](const Tensor *shard) {
          return takesPart(state, shard->replica);
        }))
      continue;
    values.resize(slice.tensor->layout.count);
    for (const Tensor *shard : shards)
      if (takesPart(state, shard->replica))
        gather(state, shard->replica, keyOf(state, shard->replica, slice.name),
               shard->*slice.values, values.data() + shard->first,
               4 * shard->count);
    attempt([&] { file->write(values.data(), 4 * values.size()); });
  }
  attempt([&] { file->commit(); });
  if (failure)
    throw *failure;
}

//===----------------------------------------------------------------------===//
// Reading.
//===----------------------------------------------------------------------===//

static uint64_t numberIn(const SafetensorsHeader &header, const char *key) {
  auto it = header.metadata.find(key);
  if (it == header.metadata.end())
    throw Error("its metadata have no '" + std::string(key) + "'");
  const std::string &text = it->second;
  if (text.empty() || text.size() > 20 ||
      text.find_first_not_of("0123456789") != std::string::npos)
    throw Error("its metadata give '" + text + "' for '" + key +
                "', which is not a number");
  errno = 0;
  uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
  if (errno == ERANGE)
    throw Error("its metadata give '" + text + "' for '" + key +
                "', which is too large");
  return value;
}

static void checkNames(const SafetensorsHeader &header,
                       const std::vector<Slice> &slices) {
  for (const Slice &slice : slices) {
    auto it = header.tensors.find(slice.name);
    if (it == header.tensors.end())
      throw Error("it has no tensor '" + slice.name +
                  "', which the model needs");
    std::vector<int64_t> shape = shapeOf(slice.tensor->layout);
    if (it->second.dtype != "F32" || it->second.shape != shape)
      throw Error("tensor '" + slice.name + "' is " + it->second.dtype + " " +
                  describeShape(it->second.shape) + ", the model needs F32 " +
                  describeShape(shape));
  }
  if (header.tensors.size() == slices.size())
    return;
  // A program that moves no weights back does without their changes.
  for (const auto &[name, entry] : header.tensors) {
    bool isKnown = false;
    for (const Slice &slice : slices)
      isKnown |= slice.name == name;
    if (!isKnown && name.rfind(changesPrefix, 0) != 0)
      throw Error("it has the tensor '" + name +
                  "', which the model does not have");
  }
}

namespace {

/// A checkpoint being read.
class Source {
public:
  Source(const std::string &path, const State &state, OptimizerKind optimizer);

  /// Whether it has the changes of weights that the state keeps.
  bool hasChanges() const { return changesAreThere; }
  const RunPosition &position() const { return where; }
  /// Elements of a tensor that the header lists; valid until the next call.
  const float *read(const std::string &name, int64_t first, int64_t count);

private:
  void readHeader(const State &state, OptimizerKind optimizer);

  SafetensorsFile file;
  RunPosition where;
  bool changesAreThere = false;
  std::vector<float> values;
};

} // namespace

Source::Source(const std::string &path, const State &state,
               OptimizerKind optimizer)
    : file(path, "checkpoint") {
  file.named([&] { readHeader(state, optimizer); });
}

void Source::readHeader(const State &state, OptimizerKind optimizer) {
  const SafetensorsHeader &header = file.header();
  auto format = header.metadata.find("format");
  if (format == header.metadata.end() || format->second != formatName)
    throw Error("its metadata do not say format '" + std::string(formatName) +
                "'");
  uint64_t step = numberIn(header, "step");
  if (step > INT64_MAX)
    throw Error("its metadata give step " + std::to_string(step) +
                ", which is too large");
  where.step = static_cast<int64_t>(step);
  where.seed = numberIn(header, "seed");
  where.dataHash = numberIn(header, "data_hash");
  // Files from before there were several have none.
  const auto found = header.metadata.find("optimizer");
  const std::string writer = found == header.metadata.end()
                                 ? nameOf(OptimizerKind::AdamW)
                                 : found->second;
  if (writer != nameOf(optimizer))
    throw Error("its moments are those of " + writer + ", and this run uses " +
                nameOf(optimizer) + "; resume it with --optimizer " + writer +
                ", or begin with its weights by --init");
  where.optimizer = optimizer;
  changesAreThere = std::any_of(
      header.tensors.begin(), header.tensors.end(), [](const auto &entry) {
        return entry.first.rfind(changesPrefix, 0) == 0;
      });
  checkNames(header, slicesOf(state, optimizer, changesAreThere));
}

const float *Source::read(const std::string &name, int64_t first,
                          int64_t count) {
  values.resize(count);
  file.read(file.header().tensors.at(name), 4 * first, values.data(),
            4 * count);
  return values.data();
}

/// Writes the state; `source` is null in every process but 0.
static void distribute(Source *source, State &state, OptimizerKind optimizer,
                       bool withChanges) {
  auto put = [&](const Tensor &tensor, float *values, const std::string &name) {
    if (takesPart(state, tensor.replica) && tensor.count > 0)
      scatter(state, tensor.replica, keyOf(state, tensor.replica, name), values,
              source ? source->read(name, tensor.first, tensor.count) : nullptr,
              4 * tensor.count);
  };
  for (const Slice &slice : slicesOf(state, optimizer, withChanges))
    for (const Tensor *shard : state.shardsOf(*slice.tensor))
      put(*shard, shard->*slice.values, slice.name);
  for (const Tensor &copy : state.tensors()) {
    if (copy.sharedWith.empty() && state.isOwner(copy.replica))
      continue;
    const std::string &name =
        copy.sharedWith.empty() ? copy.name : copy.sharedWith;
    put(copy, copy.weights, name);
    const bool hasMoments = copy.weightsFrom < 0;
    if (hasMoments && state.executable().moments > 0)
      put(copy, copy.moment1, "optimizer.m." + name);
    if (hasMoments && optimizer == OptimizerKind::AdamW)
      put(copy, copy.moment2, "optimizer.v." + name);
    // Of a shared tensor, the owner of the copy has taken them above.
    if (withChanges && hasChanges(state, copy) && copy.replica != copy.owner)
      put(copy, copy.changes, nameOfChanges(state, copy));
  }
  state.weightsWritten();
}

RunPosition rondo::runtime::loadCheckpoint(const std::string &path,
                                           State &state,
                                           OptimizerKind optimizer) {
  const World &world = state.world();
  std::optional<Source> source;
  RunPosition position;
  position.optimizer = optimizer;
  bool withChanges = false;
  if (world.isFirst()) {
    source.emplace(path, state, optimizer);
    position = source->position();
    withChanges = source->hasChanges();
  }
  if (!world.isAlone()) {
    std::istringstream words(
        world.store
            ->exchange("the checkpoint's position",
                       std::to_string(position.step) + " " +
                           std::to_string(position.seed) + " " +
                           std::to_string(position.dataHash) +
                           (withChanges ? " 1" : " 0"))
            .front());
    words >> position.step >> position.seed >> position.dataHash >> withChanges;
  }
  distribute(source ? &*source : nullptr, state, optimizer, withChanges);
  return position;
}
