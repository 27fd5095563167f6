//===- gradient_check.cpp - Checks a body against its contract ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/gradient_check.h"

#include "runtime/base/random.h"
#include "runtime/bodies/custom.h"
#include "runtime/bodies/stream_values.h"
#include "runtime/bodies/tensors.h"
#include "runtime/model/documents.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

using namespace rondo::runtime;

namespace {

constexpr double lossScale = 0.25;
/// Step length along a direction whose elements are up to 1.
constexpr double step = 1.0 / 4096;
constexpr int directions = 9;
/// Relative error that fp32 and the curvature of F may cause.
constexpr double tolerance = 0.02;

/// In [-1, 1).
double uniform(uint64_t stream, uint64_t index) {
  return static_cast<double>(mix(stream, index) >> 11) * 0x1p-52 - 1;
}

/// A task's memory, followed by a guard of at least its own size, so that a
/// body that mistakes a size by a factor of two writes nowhere else.
class Buffer {
public:
  explicit Buffer(int64_t bytes)
      : count(bytes / 4), guards(std::max<int64_t>(count, 1 << 16)),
        values(count + guards + bufferAlignment / 4) {
    const auto place = reinterpret_cast<uintptr_t>(values.data());
    begin = values.data() + (bufferAlignment - place % bufferAlignment) / 4;
    std::fill(begin + count, begin + count + guards, guard);
    poison();
  }
  Buffer(const Buffer &) = delete;

  float *get() { return count ? begin : nullptr; }
  int64_t size() const { return count; }
  void fill(float value) { std::fill(begin, begin + count, value); }
  void poison() { fill(std::numeric_limits<float>::quiet_NaN()); }
  void copyFrom(const std::vector<float> &other) {
    std::copy(other.begin(), other.end(), begin);
  }
  std::vector<float> copy() const { return {begin, begin + count}; }
  /// The first element past the end that has been written; -1: none.
  int64_t writtenPastEnd() const {
    const float *end = begin + count + guards;
    const float *found = std::find_if<const float *>(
        begin + count, end, [](float value) { return value != guard; });
    return found == end ? -1 : found - begin;
  }

private:
  static constexpr float guard = 1234567;
  int64_t count, guards;
  std::vector<float> values;
  float *begin;
};

/// The results of running all three tasks.
struct Gradients {
  std::vector<float> weights;
  std::vector<std::vector<float>> inputs;
};

class Probe {
public:
  Probe(const LayerDesc &layer, const LayerBody &body, uint64_t seed,
        void *state);

  GradientCheck run();

private:
  double forward();
  Gradients runAll(float initial);
  /// F, and B in place of I and W.
  Gradients runBackward();
  /// Arguments of I and of B.
  LayerArgs inputGradArgs();
  std::vector<std::vector<float>> inputGradValues() const;
  void checkGuards(const char *task);
  /// The addresses of a custom layer's parts; null for those that are gone.
  void *const *partsFor(bool isWeightGrad);
  void fail(const std::string &what) {
    if (result.fault.empty())
      result.fault = what;
  }
  LayerArgs args();
  void drawStreams();
  void checkRuns();
  void checkBackward(const Gradients &split);
  /// Compares a gradient with finite differences of F along directions in
  /// `values`, of which `count` numbers change. Returns the relative error.
  double compare(std::vector<float> &values, int64_t begin, int64_t count,
                 const std::vector<float> &gradient);
  void checkShare(double share, const std::string &what);

  const LayerDesc &layer;
  const LayerBody &body;
  const uint64_t seed;
  void *const state;
  const LayerSizes sizes;
  std::vector<float> weightValues, outputGradValues;
  std::vector<std::vector<float>> inputValues;
  std::vector<int32_t> data;
  /// Starts of the documents of a row.
  std::vector<int32_t> starts;
  Buffer weights, gradients, forI, forW, kept, output, outputGrad, workspace,
      backwardWorkspace;
  std::vector<std::unique_ptr<Buffer>> inputs, inputGrads, parts;
  std::vector<void *> addresses;
  float loss = 0;
  /// The rounding error of fp32 in what forward() last returned.
  double rounding = 0;
  GradientCheck result;
};

} // namespace

/// The number of elements without padding, which is up to 15 elements at the
/// end that nothing has written.
static int64_t numWritten(const float *values, int64_t count) {
  int64_t written = count;
  while (written > 0 && count - written < 15 && std::isnan(values[written - 1]))
    --written;
  return written;
}

static bool areFinite(const float *values, int64_t count) {
  return std::all_of(values, values + count,
                     [](float value) { return std::isfinite(value); });
}

/// The tensors that have gradients.
static std::vector<LayerTensor> trainedTensors(const LayerDesc &layer) {
  std::vector<LayerTensor> tensors = layerTensors(layer);
  tensors.erase(
      std::remove_if(tensors.begin(), tensors.end(),
                     [](const LayerTensor &tensor) { return tensor.isFrozen; }),
      tensors.end());
  return tensors;
}

/// Whether nothing has been written since poison().
static bool isPoisoned(const Buffer &buffer) {
  const std::vector<float> values = buffer.copy();
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isnan(value); });
}

static std::vector<float> randomValues(uint64_t stream, int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(uniform(stream, i));
  return values;
}

/// Bytes of each input of a layer.
static std::vector<int64_t> inputBytes(const LayerDesc &layer) {
  if (layer.numInputs == 0 && layerSizes(layer).input > 0)
    return {layerSizes(layer).input};
  return {layer.inputBytes, layer.inputBytes + layer.numInputs};
}

Probe::Probe(const LayerDesc &layer, const LayerBody &body, uint64_t seed,
             void *state)
    : layer(layer), body(body), seed(seed), state(state),
      sizes(layerSizes(layer)), weights(sizes.weights),
      gradients(sizes.gradients), forI(sizes.savedForInputGrad),
      forW(sizes.savedForWeightGrad), kept(sizes.keptForWeightGrad),
      output(sizes.output), outputGrad(outputGradBytes(layer)),
      workspace(layer.kind == LayerKind::Custom
                    ? alignedBytes(layer.custom.workspaceBytes)
                    : sizes.workspace),
      backwardWorkspace(alignedBytes(layer.custom.backwardWorkspaceBytes)) {
  for (int32_t k = 0; k < layer.custom.numParts; ++k)
    parts.push_back(
        std::make_unique<Buffer>(alignedBytes(layer.custom.parts[k].bytes)));
  // Initial values, moved away from special ones such as 0 and 1.
  weightValues.resize(weights.size());
  for (const LayerTensor &tensor : layerTensors(layer)) {
    initialiseTensor(tensor, seed, 1, weightValues.data());
    for (int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i)
      weightValues[i] += static_cast<float>(0.1 * uniform(seed + 1, i));
  }
  outputGradValues = randomValues(seed + 2, outputGrad.size());
  const std::vector<int64_t> allInputs = inputBytes(layer);
  for (size_t k = 0; k < allInputs.size(); ++k) {
    const int64_t bytes = allInputs[k];
    inputs.push_back(std::make_unique<Buffer>(alignedBytes(bytes)));
    inputGrads.push_back(std::make_unique<Buffer>(
        alignedBytes(bytes - layer.custom.inputWithoutGradBytes[k])));
    inputValues.push_back(
        randomValues(seed + 3 + inputs.size(), inputs.back()->size()));
    // Masks and indices: any numbers but 0 may be out of their range.
    const int64_t withGrad = bytes - layer.custom.inputWithoutGradBytes[k];
    std::fill(inputValues.back().begin() + withGrad / 4,
              inputValues.back().end(), 0.0f);
  }
  if (dataOf(layer) != LayerData::None)
    for (int64_t t = 0; t < numTokens(layer); ++t)
      data.push_back(static_cast<int32_t>(mix(seed, t) % layer.vocab));
  if (layer.rowTokens)
    starts = {0, 1, layer.rowTokens};
  drawStreams();
}

void Probe::drawStreams() {
  const int32_t count = layer.custom.numStreams;
  if (count == 0)
    return;
  data.resize(sizes.data / sizeof(int32_t));
  for (int32_t s = 0; s < count; ++s) {
    const StreamDesc &stream = layer.custom.streams[s];
    char *values =
        reinterpret_cast<char *>(data.data()) + streamOffset(layer, s);
    for (int64_t b = 0; b < layer.batch; ++b)
      drawRow(stream, mix(seed, b), values + b * rowBytes(stream));
  }
}

LayerArgs Probe::args() {
  LayerArgs args{};
  args.weights = weights.get();
  args.savedForInputGrad = forI.get();
  args.savedForWeightGrad = forW.get();
  args.keptForWeightGrad = kept.get();
  args.savedParts = partsFor(/*isWeightGrad=*/false);
  args.state = state;
  args.seed = seed;
  args.workspace = workspace.get();
  args.lossScale = lossScale;
  if (!starts.empty()) {
    args.documentStarts = starts.data();
    args.numDocuments = static_cast<int32_t>(starts.size()) - 1;
  }
  workspace.poison();
  return args;
}

void *const *Probe::partsFor(bool isWeightGrad) {
  addresses.clear();
  for (size_t k = 0; k < parts.size(); ++k) {
    const bool isGone =
        isWeightGrad && layer.custom.parts[k].readBy == ReadBy::InputGrad;
    addresses.push_back(isGone ? nullptr : parts[k]->get());
  }
  return addresses.data();
}

void Probe::checkGuards(const char *task) {
  auto check = [&](const Buffer &buffer, const std::string &name) {
    if (const int64_t place = buffer.writtenPastEnd(); place >= 0)
      fail(std::string(task) + " writes past the end of " + name + ", " +
           std::to_string(buffer.size()) + " numbers: first at element " +
           std::to_string(place));
  };
  check(weights, "the weights");
  check(gradients, "the gradients");
  check(forI, "what is saved for I");
  check(forW, "what is saved for W");
  check(kept, "what is kept for W");
  check(output, "the output");
  check(workspace, "the workspace");
  check(backwardWorkspace, "the workspace of B");
  for (const auto &grad : inputGrads)
    check(*grad, "an input's gradient");
  for (size_t k = 0; k < parts.size(); ++k)
    check(*parts[k],
          "the saved part '" + std::string(layer.custom.parts[k].name) + "'");
}

/// Returns the function whose gradients are checked.
double Probe::forward() {
  weights.copyFrom(weightValues);
  for (size_t k = 0; k < inputs.size(); ++k)
    inputs[k]->copyFrom(inputValues[k]);
  forI.poison();
  forW.poison();
  kept.poison();
  for (const auto &part : parts)
    part->poison();
  output.poison();
  LayerArgs args = this->args();
  for (size_t k = 0; k < inputs.size(); ++k)
    args.inputs[k] = inputs[k]->get();
  args.output = output.get();
  // A copy for this task only.
  std::vector<int32_t> staged = data;
  args.data = staged.empty() ? nullptr : staged.data();
  args.loss = hasLoss(layer) ? &loss : nullptr;
  body.forward(&layer, &args);
  checkGuards("F");
  // In a program it holds something else until I begins.
  if (!isPoisoned(kept))
    fail("F writes to what is kept for W, which begins with I");
  kept.poison();
  double sum = hasLoss(layer) ? lossScale * static_cast<double>(loss) : 0;
  const int64_t written = numWritten(output.get(), output.size());
  if (!areFinite(output.get(), written))
    fail("F does not write all of its output, or writes numbers that are not "
         "finite");
  double squares = sum * sum;
  // Nothing depends on what has no gradient.
  for (int64_t i = 0; i < std::min(written, outputGrad.size()); ++i) {
    const double part = static_cast<double>(output.get()[i]) *
                        static_cast<double>(outputGradValues[i]);
    sum += part;
    squares += part * part;
  }
  rounding = 2e-7 * std::sqrt(squares);
  return sum;
}

LayerArgs Probe::inputGradArgs() {
  for (auto &input : inputs)
    input->poison();
  output.poison();
  outputGrad.copyFrom(outputGradValues);
  LayerArgs forInput = args();
  forInput.outputGrad = outputGrad.get();
  for (size_t k = 0; k < inputs.size(); ++k) {
    inputGrads[k]->poison();
    forInput.inputGrads[k] = inputGrads[k]->get();
  }
  return forInput;
}

std::vector<std::vector<float>> Probe::inputGradValues() const {
  std::vector<std::vector<float>> values;
  for (const auto &grad : inputGrads) {
    values.push_back(grad->copy());
    values.back().resize(numWritten(grad->get(), grad->size()));
  }
  return values;
}

Gradients Probe::runAll(float initial) {
  forward();
  LayerArgs forInput = inputGradArgs();
  // While I runs, what W alone reads may be elsewhere.
  std::vector<std::vector<float>> away(parts.size());
  for (size_t k = 0; k < parts.size(); ++k)
    if (layer.custom.parts[k].readBy == ReadBy::WeightGrad) {
      away[k] = parts[k]->copy();
      parts[k]->poison();
    }
  body.inputGrad(&layer, &forInput);
  checkGuards("I");
  for (size_t k = 0; k < parts.size(); ++k) {
    if (layer.custom.parts[k].readBy == ReadBy::InputGrad)
      parts[k]->poison();
    if (layer.custom.parts[k].readBy != ReadBy::WeightGrad)
      continue;
    if (!isPoisoned(*parts[k]))
      fail("I writes to the saved part '" +
           std::string(layer.custom.parts[k].name) +
           "', which W alone reads (read_by)");
    parts[k]->copyFrom(away[k]);
  }
  Gradients all;
  all.inputs = inputGradValues();
  outputGrad.poison();
  forI.poison();
  for (auto &grad : inputGrads)
    grad->poison();
  gradients.fill(initial);
  LayerArgs forWeights = args();
  forWeights.savedForInputGrad = nullptr;
  forWeights.savedParts = partsFor(/*isWeightGrad=*/true);
  forWeights.gradients = gradients.get();
  body.weightGrad(&layer, &forWeights);
  checkGuards("W");
  all.weights = gradients.copy();
  return all;
}

Gradients Probe::runBackward() {
  forward();
  LayerArgs both = inputGradArgs();
  gradients.fill(0);
  both.gradients = gradients.get();
  backwardWorkspace.poison();
  both.workspace = backwardWorkspace.get();
  body.backward(&layer, &both);
  checkGuards("B");
  return {gradients.copy(), inputGradValues()};
}

static bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.empty() || std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

/// Checks that need no finite differences.
void Probe::checkRuns() {
  const Gradients first = runAll(0), again = runAll(0), added = runAll(1);
  if (!areFinite(first.weights.data(), first.weights.size()))
    return fail(
        "W gives a gradient that is not finite: W or I reads a buffer that no "
        "longer holds its content");
  for (const std::vector<float> &grad : first.inputs)
    if (!areFinite(grad.data(), grad.size()))
      return fail("I does not write all of an input's gradient, or reads a "
                  "buffer that no longer holds its content");
  bool isSame = sameBits(first.weights, again.weights);
  for (size_t k = 0; k < inputs.size(); ++k)
    isSame &= sameBits(first.inputs[k], again.inputs[k]);
  if (!isSame)
    return fail("two runs on the same content give different bits");
  for (const LayerTensor &tensor : trainedTensors(layer))
    for (int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i)
      if (std::abs(added.weights[i] - 1 - first.weights[i]) >
          1e-5f * (1 + std::abs(first.weights[i])))
        return fail("W does not add to the gradient of '" + tensorName(tensor) +
                    "': 1 becomes " + std::to_string(added.weights[i]) +
                    " where 0 becomes " + std::to_string(first.weights[i]));
}

void Probe::checkBackward(const Gradients &split) {
  const Gradients fused = runBackward();
  for (size_t k = 0; k < inputs.size(); ++k)
    if (!sameBits(split.inputs[k], fused.inputs[k]))
      fail("B gives other bits than I for the gradient of input " +
           std::to_string(k));
  for (const LayerTensor &tensor : trainedTensors(layer))
    if (std::memcmp(split.weights.data() + tensor.offset,
                    fused.weights.data() + tensor.offset, 4 * tensor.count))
      fail("B gives other bits than I and then W for the gradient of '" +
           tensorName(tensor) + "'");
}

double Probe::compare(std::vector<float> &values, int64_t begin, int64_t count,
                      const std::vector<float> &gradient) {
  const std::vector<float> before = values;
  const double here = forward();
  const double noise = rounding / step;
  std::vector<double> wrong;
  double squares = 0;
  for (int d = 0; d < directions; ++d) {
    const uint64_t stream = mix(seed, 100 + d);
    double slope = 0;
    for (int64_t i = begin; i < begin + count; ++i)
      slope += static_cast<double>(gradient[i]) * uniform(stream, i);
    // A kink of F, as in a ReLU, spoils only the difference on its side.
    double best = std::numeric_limits<double>::infinity(), found = slope;
    for (double sign : {-1.0, 1.0}) {
      for (int64_t i = begin; i < begin + count; ++i)
        values[i] =
            before[i] + static_cast<float>(sign * step * uniform(stream, i));
      const double difference = sign * (forward() - here) / step;
      if (!(std::abs(difference - slope) >= best)) {
        best = std::abs(difference - slope);
        found = difference;
      }
    }
    wrong.push_back(std::max(0.0, best - noise));
    squares += (slope * slope + found * found) / 2;
  }
  values = before;
  // The median: some directions meet kinks on both sides.
  std::nth_element(wrong.begin(), wrong.begin() + directions / 2, wrong.end());
  return wrong[directions / 2] /
         std::max(std::sqrt(squares / directions), 1e-30);
}

void Probe::checkShare(double share, const std::string &what) {
  // Written so that NaN fails too.
  if (share <= tolerance)
    return;
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.1f", 100 * share);
  fail("the gradient of " + what + " differs from finite differences of F by " +
       percent + " % of it");
}

GradientCheck Probe::run() {
  checkRuns();
  const Gradients all = runAll(0);
  if (body.backward)
    checkBackward(all);
  for (const LayerTensor &tensor : trainedTensors(layer)) {
    ++result.tensors;
    checkShare(compare(weightValues, tensor.offset, tensor.count, all.weights),
               "tensor '" + tensorName(tensor) + "', which W gives,");
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    ++result.inputs;
    checkShare(compare(inputValues[k], 0, all.inputs[k].size(), all.inputs[k]),
               "input " + std::to_string(k) + ", which I gives,");
  }
  return result;
}

GradientCheck rondo::runtime::checkGradients(const LayerDesc &layer,
                                             const LayerBody &body,
                                             uint64_t seed, void *state) {
  // Nothing is copied to the host here.
  LayerDesc alone = layer;
  alone.offloads = 0;
  GradientCheck check = Probe(alone, body, seed, state).run();
  if (!check.fault.empty() || !layer.custom.takesDocuments)
    return check;
  checkTakesDocuments(alone);
  // The shortest document and the longest.
  const LayerDesc row = rowOfDocuments(alone, layer.sequence + 1);
  GradientCheck ofRow = Probe(row, body, seed, state).run();
  if (!ofRow.fault.empty())
    ofRow.fault = "in a row of 2 documents: " + ofRow.fault;
  return ofRow;
}
