//===- initial_weights.cpp - Weights that a run begins with ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/checkpoints/initial_weights.h"

#include "kinds/Counts.h"
#include "runtime/base/error.h"
#include "runtime/bodies/layers.h"
#include "runtime/bodies/tensors.h"
#include "runtime/checkpoints/safetensors.h"
#include "runtime/launch/store.h"
#include "runtime/launch/world.h"
#include "runtime/model/layer_kinds.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

using rondo::countOf;
using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// Names.
//===----------------------------------------------------------------------===//

namespace {

/// Name schemes of files for the model's tensors.
enum class Naming { Own, Transformers, TransformersBase };
constexpr Naming namings[] = {Naming::Own, Naming::Transformers,
                              Naming::TransformersBase};

constexpr std::string_view headWeight = "lm_head.weight";

/// A tensor that a file may have and the model does not.
struct LeftTensor {
  /// Prefix and suffix of its name.
  std::string_view begin, end;
  const char *reason;
};

/// All that is left in the file. `lm_head.weight` of a model with tied weights
/// must equal them; everything else is not read.
constexpr LeftTensor leftTensors[] = {
    {"", ".attn.bias", "causal masks"},
    {"", ".attn.masked_bias", "causal masks"},
    {"", ".rotary_emb.inv_freq", "frequencies of rotary positions"},
    {"optimizer.m.", "", "moments of the optimizer"},
    {"optimizer.v.", "", "moments of the optimizer"},
    {"optimizer.d.", "", "changes of weights"},
    {headWeight, headWeight, "a second copy of the embedding's weight"},
};

/// Names of the model's tensors in a file.
class Names {
public:
  explicit Names(const State &state);

  /// The names of owned tensors, in the state's order.
  std::vector<const Tensor *> owned() const;
  std::string of(const Tensor &tensor, Naming naming) const;
  /// The same, but the head's name for a tied embedding that has only this one
  /// in the files: of two names of a tensor, safetensors' save_model() keeps
  /// the first in alphabetical order.
  std::string in(const WeightFiles &files, const Tensor &tensor,
                 Naming naming) const;
  bool hasTiedHead() const { return isTied; }
  /// The embedding of tokens, or a copy of it.
  static bool isTokenWeight(const Tensor &tensor);

private:
  int32_t layerOf(const Tensor &tensor) const {
    const ReplicaBinding &replica = state.replicas()[tensor.replica];
    return replica.desc->firstLayer + tensor.layerInStage;
  }

  const State &state;
  /// Indexed by layer: the number of the block, from 0.
  std::vector<int32_t> blockOf;
  bool isTied = false;
};

} // namespace

static bool beginsWith(std::string_view text, std::string_view begin) {
  return text.substr(0, begin.size()) == begin;
}

static bool fits(const LeftTensor &left, std::string_view name) {
  return beginsWith(name, left.begin) && name.size() >= left.end.size() &&
         name.substr(name.size() - left.end.size()) == left.end;
}

Names::Names(const State &state) : state(state) {
  const Executable &exe = state.executable();
  int32_t blocks = 0;
  for (int32_t l = 0; l < exe.numLayers; ++l) {
    const LayerKind kind = exe.layers[l].kind;
    blockOf.push_back(blocks);
    blocks += kind == LayerKind::GptBlock || kind == LayerKind::LlamaBlock;
    isTied |= exe.layers[l].tied;
  }
}

std::vector<const Tensor *> Names::owned() const {
  std::vector<const Tensor *> tensors;
  for (const Tensor &tensor : state.tensors())
    if (tensor.sharedWith.empty() && tensor.replica == tensor.owner)
      tensors.push_back(&tensor);
  return tensors;
}

std::string Names::of(const Tensor &tensor, Naming naming) const {
  const int32_t number = layerOf(tensor);
  const LayerDesc &layer = state.executable().layers[number];
  const bool isGpt = layer.kind == LayerKind::GptEmbedding ||
                     layer.kind == LayerKind::GptBlock ||
                     layer.kind == LayerKind::GptHead;
  // A copy is in the file under the name of the original.
  std::string name =
      tensor.sharedWith.empty() ? tensor.name : tensor.sharedWith;
  if (naming == Naming::Own || (!isGpt && !isLlama(layer)) ||
      name == headWeight)
    return name;
  const std::string prefix = isGpt ? "transformer." : "model.";
  if (layer.kind == LayerKind::GptBlock || layer.kind == LayerKind::LlamaBlock)
    name = (isGpt ? "h." : "layers.") + std::to_string(blockOf[number]) + "." +
           tensor.layout.suffix;
  else if (beginsWith(name, prefix))
    name.erase(0, prefix.size());
  return naming == Naming::Transformers ? prefix + name : name;
}

bool Names::isTokenWeight(const Tensor &tensor) {
  const std::string &name =
      tensor.sharedWith.empty() ? tensor.name : tensor.sharedWith;
  return name == tokenWeightName(true) || name == tokenWeightName(false);
}

std::string Names::in(const WeightFiles &files, const Tensor &tensor,
                      Naming naming) const {
  const std::string name = of(tensor, naming), head(headWeight);
  const bool isUnderHead = isTied && isTokenWeight(tensor) &&
                           !files.fileOf().count(name) &&
                           files.fileOf().count(head);
  return isUnderHead ? head : name;
}

/// The naming under which a file has most of the model's tensors.
static Naming findNaming(const Names &names, const WeightFiles &files) {
  Naming best = Naming::Own;
  int64_t most = -1;
  for (Naming naming : namings) {
    int64_t found = 0;
    for (const Tensor *tensor : names.owned())
      found += files.fileOf().count(names.of(*tensor, naming)) > 0;
    if (found > most) {
      most = found;
      best = naming;
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Checks.
//===----------------------------------------------------------------------===//

/// GPT-2's positions, of which a model with shorter sequences has the first.
static bool hasPositions(const Tensor &tensor) {
  return tensor.name == "wpe.weight";
}

/// `'wte.weight', F32 [256, 16]` and where the model's name differs, that too.
static std::string describeOwn(const Tensor &tensor, const std::string &name) {
  return (tensor.name == name ? "" : "'" + tensor.name + "', ") +
         describeShape(shapeOf(tensor.layout));
}

/// `path` is what the user named.
[[noreturn]] static void failMissing(const std::string &path,
                                     const Tensor &tensor,
                                     const std::string &name, bool isTied,
                                     const WeightFiles &files) {
  const std::string head(headWeight);
  const bool isToken = Names::isTokenWeight(tensor);
  if (isTied && isToken)
    throw Error("weights '" + path + "': there is neither a tensor '" + name +
                "' nor '" + head + "', one of which the model needs: " +
                describeOwn(tensor, name));
  const bool hasOther = isToken && files.fileOf().count(head);
  throw Error("weights '" + path + "': there is no tensor '" + name +
              "', which the model needs: " + describeOwn(tensor, name) +
              (name == head || hasOther
                   ? "; if the head has the embedding's weight, compile "
                     "the model with tied = true"
                   : ""));
}

static void checkTensor(const std::string &path, const Tensor &tensor,
                        const std::string &name, bool isTied,
                        WeightFiles &files, std::vector<std::string> &lines) {
  if (!files.fileOf().count(name))
    failMissing(path, tensor, name, isTied, files);
  const SafetensorsEntry &entry = files.entry(name);
  auto fail = [&](const std::string &what) {
    throw Error("weights '" + files.fileOf().at(name) + "': tensor '" + name +
                "' is " + entry.dtype + " " + describeShape(entry.shape) +
                what);
  };
  float nothing = 0;
  if (!convertToFloats(entry.dtype, &nothing, 0, &nothing))
    fail("; Rondo reads F32, F16 and BF16");
  const std::vector<int64_t> shape = shapeOf(tensor.layout);
  if (entry.shape == shape)
    return;
  if (hasPositions(tensor) && entry.shape.size() == 2 &&
      entry.shape[1] == shape[1] && entry.shape[0] > shape[0]) {
    lines.push_back("weights: the first " + std::to_string(shape[0]) + " of " +
                    std::to_string(entry.shape[0]) +
                    " positions, as many as the model's sequence has");
    return;
  }
  fail(", the model needs " + describeOwn(tensor, name));
}

static void checkSurplus(const std::set<std::string> &taken, bool isTied,
                         WeightFiles &files, std::vector<std::string> &lines) {
  std::map<std::string, int64_t> left;
  std::string first;
  int64_t surplus = 0;
  for (const auto &[name, path] : files.fileOf()) {
    if (taken.count(name))
      continue;
    auto known = std::find_if(std::begin(leftTensors), std::end(leftTensors),
                              [&, &name = name](const LeftTensor &tensor) {
                                return fits(tensor, name) &&
                                       (name != headWeight || isTied);
                              });
    if (known != std::end(leftTensors)) {
      ++left[known->reason];
      continue;
    }
    if (surplus++ == 0)
      first = name;
  }
  if (surplus > 0) {
    const SafetensorsEntry &entry = files.entry(first);
    throw Error("weights '" + files.fileOf().at(first) +
                "': it has the tensor '" + first + "', " + entry.dtype + " " +
                describeShape(entry.shape) + ", which the model does not have" +
                (surplus > 1
                     ? ", and " + countOf(surplus - 1, "more such tensor")
                     : ""));
  }
  for (const auto &[reason, count] : left)
    lines.push_back("weights: left out " + countOf(count, "tensor") + ": " +
                    reason);
}

namespace {
constexpr int64_t numbersAtOnce = int64_t(1) << 20;
} // namespace

/// A checkpoint with a head of its own is not one of a model with tied weights.
static void checkTiedHead(const Tensor &token, const std::string &tokenName,
                          WeightFiles &files, DiskPhase &phase) {
  const std::string head(headWeight);
  if (tokenName == head || !files.fileOf().count(head))
    return;
  const SafetensorsEntry &first = files.entry(tokenName),
                         &second = files.entry(head);
  bool isSame = first.shape == second.shape;
  std::vector<float> left(numbersAtOnce), right(numbersAtOnce);
  for (int64_t i = 0; isSame && i < token.layout.count; i += numbersAtOnce) {
    const int64_t count = std::min(numbersAtOnce, token.layout.count - i);
    files.read(tokenName, i, count, left.data());
    files.read(head, i, count, right.data());
    isSame = std::equal(left.begin(), left.begin() + count, right.begin());
    phase.progress();
  }
  if (!isSame)
    throw Error("weights '" + files.fileOf().at(head) + "': tensor '" + head +
                "', " + second.dtype + " " + describeShape(second.shape) +
                ", differs from '" + tokenName +
                "', but the model's head is tied to it; compile the model with "
                "tied = false");
}

/// Whether the files are those of the model.
static std::vector<std::string> check(const std::string &path,
                                      const Names &names, Naming naming,
                                      WeightFiles &files, DiskPhase &phase) {
  std::vector<std::string> lines = {""};
  std::set<std::string> taken, dtypes;
  for (const Tensor *tensor : names.owned()) {
    const std::string name = names.in(files, *tensor, naming);
    checkTensor(path, *tensor, name, names.hasTiedHead(), files, lines);
    phase.progress();
    taken.insert(name);
    dtypes.insert(files.entry(name).dtype);
  }
  if (names.hasTiedHead())
    for (const Tensor *tensor : names.owned())
      if (Names::isTokenWeight(*tensor))
        checkTiedHead(*tensor, names.in(files, *tensor, naming), files, phase);
  checkSurplus(taken, names.hasTiedHead(), files, lines);
  std::string types;
  for (const std::string &dtype : dtypes)
    types += (types.empty() ? "" : ", ") + dtype;
  lines.front() = "weights: " + std::to_string(taken.size()) + " tensors (" +
                  types + ") from '" + path + "'";
  return lines;
}

//===----------------------------------------------------------------------===//
// Reading.
//===----------------------------------------------------------------------===//

std::vector<std::string>
rondo::runtime::readInitialWeights(const std::string &path, State &state) {
  const World &world = state.world();
  const Names names(state);
  DiskPhase phase(world, "reads initial weights");
  std::vector<std::string> lines;
  std::unique_ptr<WeightFiles> files;
  Naming naming = Naming::Own;
  auto open = [&] {
    files = std::make_unique<WeightFiles>(path);
    phase.progress();
    naming = findNaming(names, *files);
  };
  if (world.isFirst()) {
    open();
    lines = check(path, names, naming, *files, phase);
  }
  // Process 0 alone reports what is wrong with the files.
  if (!world.isAlone())
    world.store->exchange("initial weights", "",
                          Store::Patience::WhileReported);
  if (!world.isFirst())
    open();
  std::vector<float> values;
  for (const Tensor &tensor : state.tensors()) {
    if (!state.holds(tensor.replica) || tensor.count == 0)
      continue;
    const std::string name = names.in(*files, tensor, naming);
    // Another machine may have other files at that path.
    if (!world.isFirst())
      checkTensor(path, tensor, name, names.hasTiedHead(), *files, lines);
    for (int64_t i = 0; i < tensor.count; i += numbersAtOnce) {
      const int64_t count = std::min(numbersAtOnce, tensor.count - i);
      values.resize(count);
      files->read(name, tensor.first + i, count, values.data());
      state.write(tensor.replica, tensor.weights + i, values.data(), 4 * count);
      phase.progress();
    }
  }
  state.weightsWritten();
  if (!world.isAlone())
    world.store->exchange("initial weights are read", "",
                          Store::Patience::WhileReported);
  return lines;
}
