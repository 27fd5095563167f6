//===- checkpoint.cpp - Weights and optimizer state from files ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/checkpoints/checkpoint.h"

#include "runtime/base/error.h"
#include "runtime/bodies/tensors.h"
#include "runtime/checkpoints/safetensors.h"
#include "runtime/launch/store.h"
#include "runtime/launch/world.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

using namespace rondo::runtime;

bool rondo::runtime::hasChanges(const State &state, const Tensor &tensor) {
  return !tensor.layout.isFrozen &&
         state.replicas()[tensor.replica]
                 .share->bytes[static_cast<int>(Buffer::WeightChanges)] > 0;
}

std::string rondo::runtime::nameOfChanges(const State &state,
                                          const Tensor &tensor) {
  const Executable &exe = state.executable();
  const StageDesc &stage = exe.stages[exe.replicas[tensor.replica].stage];
  const std::string layer =
      exe.layers[stage.firstLayer + tensor.layerInStage].name;
  return changesPrefix + (tensor.sharedWith.empty() ? "" : layer + ".") +
         tensor.name;
}

std::vector<Slice> rondo::runtime::slicesOf(const State &state,
                                            OptimizerKind optimizer,
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
    if (tensor.layout.isFrozen)
      continue;
    if (state.executable().moments > 0)
      slices.push_back(
          {"optimizer.m." + tensor.name, &tensor, &Tensor::moment1});
    if (optimizer == OptimizerKind::AdamW)
      slices.push_back(
          {"optimizer.v." + tensor.name, &tensor, &Tensor::moment2});
  }
  return slices;
}

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

/// Reads the position from the metadata of a file.
static RunPosition positionIn(const SafetensorsHeader &header,
                              OptimizerKind optimizer) {
  RunPosition position;
  auto format = header.metadata.find("format");
  if (format == header.metadata.end() || format->second != checkpointFormat)
    throw Error("its metadata do not say format '" +
                std::string(checkpointFormat) + "'");
  auto signedNumber = [&](const char *key) {
    const uint64_t value = numberIn(header, key);
    if (value > INT64_MAX)
      throw Error("its metadata give " + std::string(key) + " " +
                  std::to_string(value) + ", which is too large");
    return static_cast<int64_t>(value);
  };
  position.step = signedNumber("step");
  position.seed = numberIn(header, "seed");
  position.data.hash = numberIn(header, "data_hash");
  // Older files have a hash of all tokens, and no time.
  if (header.metadata.count("data_time"))
    position.data.modifiedNs = signedNumber("data_time");
  // Files from before there were several have none.
  const auto found = header.metadata.find("optimizer");
  const std::string writer = found == header.metadata.end()
                                 ? nameOf(OptimizerKind::AdamW)
                                 : found->second;
  if (writer != nameOf(optimizer))
    throw Error("its moments are those of " + writer + ", and this run uses " +
                nameOf(optimizer) + "; resume it with --optimizer " + writer +
                ", or begin with its weights by --init");
  position.optimizer = optimizer;
  return position;
}

namespace {

/// A checkpoint being read.
class Source {
public:
  /// `path` is what the user named.
  Source(const std::string &path, const World &world, OptimizerKind optimizer)
      : path(path), optimizer(optimizer),
        phase(world, "reads the checkpoint '" + path + "'"),
        files(path, "checkpoint") {
    phase.progress();
  }

  /// Process 0: opens all files, and throws Error unless they are one
  /// checkpoint of the model.
  void check(const State &state);
  /// The other processes: what process 0 has found.
  void expect(const RunPosition &found, bool hasChanges) {
    position = found;
    changesAreThere = hasChanges;
  }
  const RunPosition &foundPosition() const { return *position; }
  /// Whether it has the changes of weights that a state may keep.
  bool hasChanges() const { return changesAreThere; }
  /// Writes the elements of a tensor of the state that its replica holds.
  void read(State &state, const Tensor &tensor, float *Tensor::*values,
            const std::string &name);

private:
  /// Throws Error if the file is not of the same save as the others.
  SafetensorsFile &open(const std::string &file);
  void checkNames(const std::vector<Slice> &slices);

  const std::string path;
  const OptimizerKind optimizer;
  DiskPhase phase;
  WeightFiles files;
  std::optional<RunPosition> position;
  bool changesAreThere = false;
  std::set<std::string> checked;
  std::vector<float> buffer;
};

} // namespace

SafetensorsFile &Source::open(const std::string &file) {
  SafetensorsFile &opened = files.open(file);
  if (!checked.insert(file).second)
    return opened;
  phase.progress();
  opened.named([&] {
    const RunPosition own = positionIn(opened.header(), optimizer);
    if (!position)
      position = own;
    if (own.step != position->step || own.seed != position->seed ||
        own.data.hash != position->data.hash)
      throw Error("it is of iteration " + std::to_string(own.step) + ", seed " +
                  std::to_string(own.seed) +
                  ", but the checkpoint is of iteration " +
                  std::to_string(position->step) + ", seed " +
                  std::to_string(position->seed) +
                  ": all files of a checkpoint are of one save");
  });
  return opened;
}

void Source::check(const State &state) {
  for (const std::string &file : files.dataFiles())
    open(file);
  const auto &fileOf = files.fileOf();
  changesAreThere =
      std::any_of(fileOf.begin(), fileOf.end(), [](const auto &place) {
        return place.first.rfind(changesPrefix, 0) == 0;
      });
  checkNames(slicesOf(state, optimizer, changesAreThere));
}

void Source::checkNames(const std::vector<Slice> &slices) {
  std::set<std::string> known;
  for (const Slice &slice : slices) {
    known.insert(slice.name);
    auto place = files.fileOf().find(slice.name);
    if (place == files.fileOf().end())
      throw Error("checkpoint '" + path + "': it has no tensor '" + slice.name +
                  "', which the model needs");
    const SafetensorsEntry &entry = files.entry(slice.name);
    const std::vector<int64_t> shape = shapeOf(slice.tensor->layout);
    if (entry.dtype != "F32" || entry.shape != shape)
      throw Error("checkpoint '" + place->second + "': tensor '" + slice.name +
                  "' is " + entry.dtype + " " + describeShape(entry.shape) +
                  ", the model needs F32 " + describeShape(shape));
  }
  // A program that moves no weights back does without their changes.
  for (const auto &[name, file] : files.fileOf())
    if (!known.count(name) && name.rfind(changesPrefix, 0) != 0)
      throw Error("checkpoint '" + file + "': it has the tensor '" + name +
                  "', which the model does not have");
}

void Source::read(State &state, const Tensor &tensor, float *Tensor::*values,
                  const std::string &name) {
  const State::Part part = State::partHere(tensor, values);
  if (part.count == 0)
    return;
  const auto place = files.fileOf().find(name);
  // Process 0 has checked its own copy of the index.
  if (place == files.fileOf().end())
    throw Error("checkpoint '" + path + "': it has no tensor '" + name +
                "', which it had when rank 0 checked it; all processes must "
                "read the same files");
  open(place->second);
  buffer.resize(copiedAtOnce);
  for (int64_t i = 0; i < part.count; i += copiedAtOnce) {
    const int64_t count = std::min(copiedAtOnce, part.count - i);
    files.read(name, part.first + i, count, buffer.data());
    state.write(part.replica, part.values + i, buffer.data(), 4 * count);
    phase.progress();
  }
}

/// Reads what this process holds.
static void readState(Source &source, State &state, OptimizerKind optimizer) {
  for (const Tensor &tensor : state.tensors()) {
    if (!state.holds(tensor.replica) || tensor.count == 0)
      continue;
    const std::string &name =
        tensor.sharedWith.empty() ? tensor.name : tensor.sharedWith;
    source.read(state, tensor, &Tensor::weights, name);
    const bool hasMoments = tensor.weightsFrom < 0 && !tensor.layout.isFrozen;
    if (hasMoments && state.executable().moments > 0)
      source.read(state, tensor, &Tensor::moment1, "optimizer.m." + name);
    if (hasMoments && optimizer == OptimizerKind::AdamW)
      source.read(state, tensor, &Tensor::moment2, "optimizer.v." + name);
    if (source.hasChanges() && hasChanges(state, tensor))
      source.read(state, tensor, &Tensor::changes,
                  nameOfChanges(state, tensor));
  }
  state.weightsWritten();
}

RunPosition rondo::runtime::loadCheckpoint(const std::string &path,
                                           State &state,
                                           OptimizerKind optimizer) {
  const World &world = state.world();
  std::optional<Source> source;
  std::string found;
  if (world.isFirst()) {
    source.emplace(path, world, optimizer);
    source->check(state);
    const RunPosition &position = source->foundPosition();
    found = std::to_string(position.step) + " " +
            std::to_string(position.seed) + " " +
            std::to_string(position.data.hash) + " " +
            std::to_string(position.data.modifiedNs) +
            (source->hasChanges() ? " 1" : " 0");
  }
  if (!world.isAlone())
    found = world.store
                ->exchange("the checkpoint's position", found,
                           Store::Patience::WhileReported)
                .front();
  if (!world.isFirst()) {
    RunPosition position;
    position.optimizer = optimizer;
    bool withChanges = false;
    std::istringstream(found) >> position.step >> position.seed >>
        position.data.hash >> position.data.modifiedNs >> withChanges;
    source.emplace(path, world, optimizer);
    source->expect(position, withChanges);
  }
  readState(*source, state, optimizer);
  if (!world.isAlone())
    world.store->exchange("the checkpoint is read", "",
                          Store::Patience::WhileReported);
  return source->foundPosition();
}
