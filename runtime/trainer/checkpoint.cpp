//===- checkpoint.cpp - Weights and optimizer state in a file -------------===//

#include "runtime/trainer/checkpoint.h"

#include "runtime/error.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/gather.h"
#include "runtime/trainer/new_file.h"
#include "runtime/trainer/safetensors.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

using namespace rondo::runtime;

static const char formatName[] = "rondo-checkpoint/1";

namespace {

/// One array of a file.
struct Slice {
  std::string name;
  const Tensor *tensor;
  float *values;
};

} // namespace

/// Everything that a checkpoint holds, in the order of its data.
static std::vector<Slice> slicesOf(const State &state) {
  std::vector<Slice> slices;
  for (const Tensor &tensor : state.tensors()) {
    if (!tensor.sharedWith.empty())
      continue;
    slices.push_back({tensor.name, &tensor, tensor.weights});
    slices.push_back({"optimizer.m." + tensor.name, &tensor, tensor.moment1});
    slices.push_back({"optimizer.v." + tensor.name, &tensor, tensor.moment2});
  }
  return slices;
}

static std::vector<int64_t> shapeOf(const LayerTensor &layout) {
  return std::vector<int64_t>(layout.shape, layout.shape + layout.numDims);
}

static std::string describe(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
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
                     {"data_hash", std::to_string(position.dataHash)}};
  std::vector<Slice> slices = slicesOf(state);
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

  std::optional<NewFile> file;
  if (state.world().isFirst()) {
    file.emplace(path, "checkpoint '" + path + "'");
    file->write(&length, sizeof length);
    file->write(json.data(), json.size());
  }
  std::vector<float> values;
  for (const Slice &slice : slices) {
    if (!takesPart(state, slice.tensor->stage))
      continue;
    values.resize(slice.tensor->layout.count);
    gather(state, slice.tensor->stage, slice.name, slice.values, values.data(),
           4 * slice.tensor->layout.count);
    if (file)
      file->write(values.data(), 4 * values.size());
  }
  if (file)
    file->commit();
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
                "', which is no number");
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
                  describe(it->second.shape) + ", the model needs F32 " +
                  describe(shape));
  }
  if (header.tensors.size() == slices.size())
    return;
  for (const auto &[name, entry] : header.tensors) {
    bool isKnown = false;
    for (const Slice &slice : slices)
      isKnown |= slice.name == name;
    if (!isKnown)
      throw Error("it has the tensor '" + name +
                  "', which the model does not have");
  }
}

namespace {

/// What a file holds.
struct Contents {
  RunPosition position;
  SafetensorsHeader header;
  std::vector<char> data;
};

} // namespace

static Contents readFile(std::ifstream &file, const State &state) {
  file.seekg(0, std::ios::end);
  int64_t fileBytes = file.tellg();
  file.seekg(0);
  uint64_t length = 0;
  file.read(reinterpret_cast<char *>(&length), sizeof length);
  constexpr uint64_t maxHeaderBytes = 100'000'000;
  if (fileBytes < 8 || length > maxHeaderBytes ||
      static_cast<int64_t>(length) > fileBytes - 8)
    throw Error("it has " + std::to_string(fileBytes) +
                " bytes, too few for its header: it is truncated or no "
                "safetensors file");
  std::string json(length, '\0');
  file.read(json.data(), static_cast<std::streamsize>(length));
  int64_t dataBytes = fileBytes - 8 - static_cast<int64_t>(length);
  Contents contents;
  contents.header = readSafetensorsHeader(json, dataBytes);
  const SafetensorsHeader &header = contents.header;
  auto format = header.metadata.find("format");
  if (format == header.metadata.end() || format->second != formatName)
    throw Error("its metadata do not say format '" + std::string(formatName) +
                "'");
  RunPosition &position = contents.position;
  uint64_t step = numberIn(header, "step");
  if (step > INT64_MAX)
    throw Error("its metadata give step " + std::to_string(step) +
                ", which is too large");
  position.step = static_cast<int64_t>(step);
  position.seed = numberIn(header, "seed");
  position.dataHash = numberIn(header, "data_hash");
  checkNames(header, slicesOf(state));
  contents.data.resize(dataBytes);
  file.read(contents.data.data(), dataBytes);
  if (!file)
    throw Error("it ends before its data do");
  return contents;
}

/// Writes the state; `contents` are empty in all processes but 0.
static void distribute(const Contents &contents, State &state) {
  auto put = [&](const Tensor &tensor, float *values, const std::string &name) {
    if (!takesPart(state, tensor.stage))
      return;
    auto it = contents.header.tensors.find(name);
    const char *data = it == contents.header.tensors.end()
                           ? nullptr
                           : contents.data.data() + it->second.begin;
    scatter(state, tensor.stage, name, values, data, 4 * tensor.layout.count);
  };
  for (const Slice &slice : slicesOf(state))
    put(*slice.tensor, slice.values, slice.name);
  for (const Tensor &copy : state.tensors()) {
    if (copy.sharedWith.empty())
      continue;
    put(copy, copy.weights, copy.sharedWith);
    put(copy, copy.moment1, "optimizer.m." + copy.sharedWith);
    put(copy, copy.moment2, "optimizer.v." + copy.sharedWith);
  }
  state.weightsWritten();
}

RunPosition rondo::runtime::loadCheckpoint(const std::string &path,
                                           State &state) {
  // The state is written only when all has been read.
  Contents contents;
  const World &world = state.world();
  RunPosition &position = contents.position;
  if (world.isFirst()) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
      throw Error("cannot read checkpoint '" + path +
                  "': " + std::strerror(errno));
    try {
      contents = readFile(file, state);
    } catch (const Error &error) {
      throw Error("checkpoint '" + path + "': " + error.what());
    }
  }
  if (!world.isAlone()) {
    std::istringstream words(
        world.store
            ->exchange("the checkpoint's position",
                       std::to_string(position.step) + " " +
                           std::to_string(position.seed) + " " +
                           std::to_string(position.dataHash))
            .front());
    words >> position.step >> position.seed >> position.dataHash;
  }
  distribute(contents, state);
  return position;
}
