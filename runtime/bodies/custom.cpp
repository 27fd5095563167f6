//===- custom.cpp - Bodies of custom layers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/custom.h"

#include "kinds/Counts.h"
#include "runtime/base/error.h"
#include "runtime/bodies/layers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace rondo::runtime {

static_assert(RONDO_TARGET_CUDA == int(Target::Cuda) &&
                  RONDO_DTYPE_BF16 == int(DType::Bf16) &&
                  RONDO_STREAM_UINT8 == int(StreamType::Uint8) &&
                  RONDO_MAX_DIMS == maxTensorDims &&
                  RONDO_INIT_FILE == int(TensorInit::File),
              "bodies from outside see the same numbers");

namespace {

/// The layer as its body sees it.
struct Described {
  explicit Described(const LayerDesc &layer);
  Described(const Described &) = delete;
  Described &operator=(const Described &) = delete;

  rondo_layer layer{};

private:
  int64_t inputGrads[maxLayerInputs];
  rondo_stream streams[maxLayerStreams];
};

} // namespace

Described::Described(const LayerDesc &desc) {
  for (int32_t k = 0; k < desc.numInputs; ++k)
    inputGrads[k] = inputGradBytes(desc, k);
  layer.name = desc.name;
  layer.target = static_cast<int32_t>(desc.target);
  layer.dtype = static_cast<int32_t>(desc.dtype);
  layer.num_parameters = desc.custom.numParameters;
  layer.parameters = desc.custom.parameters;
  layer.num_inputs = desc.numInputs;
  layer.input_bytes = desc.inputBytes;
  layer.input_grad_bytes = inputGrads;
  layer.output_bytes = desc.outputBytes;
  layer.batch = desc.batch;
  layer.sequence = desc.sequence;
  layer.vocab = desc.vocab;
  layer.hidden = desc.hidden;
  layer.first_sample = desc.custom.firstSample;
  layer.tokens = numTokens(desc);
  layer.num_streams = desc.custom.numStreams;
  layer.streams = streams;
  for (int32_t s = 0; s < layer.num_streams; ++s) {
    const StreamDesc &stream = desc.custom.streams[s];
    streams[s] = {stream.name,    static_cast<int32_t>(stream.type),
                  stream.numDims, stream.sizes,
                  stream.below,   stream.hasIgnored,
                  stream.ignored};
  }
}

[[noreturn]] static void fail(const LayerDesc &layer, const std::string &what) {
  throw Error("layer '" + std::string(layer.name) + "': " + what);
}

static std::string nameOfBody(const LayerDesc &layer) {
  return "body '" + std::string(layer.custom.name) + "'";
}

rondo_function customFunction(const LayerDesc &layer, CustomTask task) {
  const rondo_body &body = *layer.custom.body;
  return (layer.target == Target::Cpu ? body.cpu : body.cuda).*task;
}

static const char *nameOf(CustomTask task) {
  return task == &rondo_functions::forward       ? "F"
         : task == &rondo_functions::input_grad  ? "I"
         : task == &rondo_functions::weight_grad ? "W"
         : task == &rondo_functions::backward    ? "B"
                                                 : "`prepare`";
}

void runCustom(const LayerDesc &layer, const LayerArgs &args, CustomTask task,
               void *stream) {
  const Described described(layer);
  rondo_task buffers{};
  buffers.weights = buffers.weights_in_dtype = args.weights;
  // The copy follows the fp32 weights, or lies elsewhere.
  if (layer.dtype != DType::Fp32)
    buffers.weights_in_dtype = args.weightsInDtype
                                   ? args.weightsInDtype
                                   : static_cast<const char *>(args.weights) +
                                         alignedBytes(layer.weightBytes);
  buffers.gradients = args.gradients;
  buffers.saved_for_input_grad = args.savedForInputGrad;
  buffers.saved_for_weight_grad = args.savedForWeightGrad;
  buffers.kept_for_weight_grad = args.keptForWeightGrad;
  buffers.inputs = args.inputs;
  buffers.input_grads = args.inputGrads;
  buffers.output = args.output;
  buffers.output_grad = args.outputGrad;
  buffers.workspace = args.workspace;
  buffers.data = args.data;
  buffers.loss = static_cast<float *>(args.loss);
  buffers.loss_scale = args.lossScale;
  buffers.microbatch = args.microbatch;
  buffers.stream = stream;
  std::array<const void *, maxLayerStreams> staged{};
  for (int32_t k = 0; args.data && k < layer.custom.numStreams; ++k)
    staged[k] =
        reinterpret_cast<const char *>(args.data) + streamOffset(layer, k);
  buffers.streams = staged.data();
  buffers.state = args.state;
  buffers.seed = args.seed;
  buffers.iteration = args.iteration;
  buffers.iteration_on_device = args.iterationOnDevice;
  buffers.running_weights = args.runningWeights;
  buffers.document_starts = args.documentStarts;
  buffers.num_documents = args.numDocuments;
  const char *what = customFunction(layer, task)(&described.layer, &buffers);
  if (what)
    fail(layer, std::string(nameOf(task)) + " of micro-batch " +
                    std::to_string(args.microbatch) + ": " + what);
}

template <CustomTask task>
static void runOnCpu(const LayerDesc *layer, const LayerArgs *args) {
  runCustom(*layer, *args, task, nullptr);
}

LayerBody tasksOf(const LayerDesc &layer, const LayerBody &all) {
  LayerBody tasks = all;
  if (layer.kind == LayerKind::Custom &&
      !customFunction(layer, &rondo_functions::backward))
    tasks.backward = nullptr;
  return tasks;
}

LoadedBody::LoadedBody(const LayerDesc &layer, int32_t rank, int32_t device)
    : layer(layer) {
  const rondo_body &body = *layer.custom.body;
  if (!body.load)
    return;
  const Described described(layer);
  if (const char *what = body.load(&described.layer, rank, device, &state))
    fail(layer, "`load` of " + nameOfBody(layer) + " on rank " +
                    std::to_string(rank) + ": " + what);
}

LoadedBody::~LoadedBody() {
  const Described described(layer);
  if (layer.custom.body->unload)
    layer.custom.body->unload(&described.layer, state);
}

/// The number of tensors that the body says it has; may be any number.
static int32_t countTensors(const LayerDesc &layer) {
  const Described described(layer);
  return layer.custom.body->tensors(&described.layer, nullptr, 0);
}

/// What the layer may have at most.
static int32_t maxTensors(const LayerDesc &layer) {
  return layer.custom.numTensors > 0 ? layer.custom.numTensors
                                     : maxUnstatedTensors;
}

/// The body's own descriptions; one more than allowed if there are too many.
static std::vector<rondo_tensor> describeTensors(const LayerDesc &layer) {
  const Described described(layer);
  const rondo_body &body = *layer.custom.body;
  std::vector<rondo_tensor> tensors(
      std::clamp<int32_t>(countTensors(layer), 0, maxTensors(layer) + 1));
  body.tensors(&described.layer, tensors.data(),
               static_cast<int32_t>(tensors.size()));
  return tensors;
}

static int64_t countOf(const rondo_tensor &tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.num_dims; ++d)
    count *= tensor.shape[d];
  return count;
}

/// Whether it is the weight that the first and the last layer of a tied model
/// share.
static bool isTied(const LayerDesc &layer, const char *name) {
  return layer.tied && layer.custom.data != LayerData::None &&
         std::strcmp(name, tokenWeightName(false)) == 0;
}

static int32_t tensors(const LayerDesc *layer, LayerTensor *out,
                       int32_t capacity) {
  const std::vector<rondo_tensor> own = describeTensors(*layer);
  const int32_t count = static_cast<int32_t>(own.size());
  for (int32_t t = 0; t < std::min(count, capacity); ++t) {
    const rondo_tensor &tensor = own[t];
    const bool tied = isTied(*layer, tensor.name);
    const bool isCopy = tied && layer->custom.data == LayerData::Targets;
    LayerTensor described = {tied ? nullptr : layer->name,
                             tensor.name,
                             tensor.num_dims,
                             {},
                             tensor.offset,
                             countOf(tensor),
                             tensor.decay != 0,
                             static_cast<TensorInit>(tensor.init),
                             isCopy ? tokenWeightName(false) : nullptr,
                             tensor.frozen != 0,
                             tensor.frozen == RONDO_RUNNING};
    std::copy_n(tensor.shape, tensor.num_dims, described.shape);
    out[t] = described;
  }
  return count;
}

LayerBody customBody() {
  return {runOnCpu<&rondo_functions::forward>,
          runOnCpu<&rondo_functions::input_grad>,
          runOnCpu<&rondo_functions::weight_grad>, tensors,
          runOnCpu<&rondo_functions::backward>};
}

//===----------------------------------------------------------------------===//
// Checks.
//===----------------------------------------------------------------------===//

static void checkFunctions(const LayerDesc &layer, const rondo_body &body) {
  if (!body.sizes)
    fail(layer, nameOfBody(layer) + " has no `sizes` function");
  if (!body.tensors)
    fail(layer, nameOfBody(layer) + " has no `tensors` function");
  const bool isCpu = layer.target == Target::Cpu;
  const rondo_functions &tasks = isCpu ? body.cpu : body.cuda;
  if (!tasks.forward || !tasks.input_grad || !tasks.weight_grad)
    fail(layer, nameOfBody(layer) + " does not run on " +
                    (isCpu ? "the CPU" : "CUDA") +
                    ": it has no F, I or W function for this target");
}

static void checkInputs(const LayerDesc &layer, const rondo_body &body) {
  if (body.min_inputs > body.max_inputs)
    fail(layer, nameOfBody(layer) + " declares min_inputs = " +
                    std::to_string(body.min_inputs) +
                    " above max_inputs = " + std::to_string(body.max_inputs));
  if (layer.numInputs >= body.min_inputs && layer.numInputs <= body.max_inputs)
    return;
  std::string takes = std::to_string(body.min_inputs);
  if (body.max_inputs != body.min_inputs)
    takes += " to " + std::to_string(body.max_inputs);
  fail(layer, "it has " + rondo::countOf(layer.numInputs, "input") + ", but " +
                  nameOfBody(layer) + " takes " + takes);
}

std::string wrongSizes(const LayerDesc &layer) {
  const rondo_body &body = *layer.custom.body;
  const Described described(layer);
  rondo_sizes sizes{};
  if (const char *what = body.sizes(&described.layer, &sizes))
    fail(layer, what);
  struct Size {
    const char *name;
    int64_t stated, needed;
  };
  const Size all[] = {
      {"weight_bytes", layer.weightBytes, sizes.weight_bytes},
      {"saved_for_input_grad_bytes", layer.inputGradFreesBytes,
       sizes.saved_for_input_grad_bytes},
      {"saved_for_weight_grad_bytes",
       layer.activationBytes - layer.inputGradFreesBytes,
       sizes.saved_for_weight_grad_bytes},
      {"kept_for_weight_grad_bytes", layer.inputGradKeepsBytes,
       sizes.kept_for_weight_grad_bytes},
      // Nothing reads the last layer's output.
      {"output_bytes", layer.outputBytes,
       layer.outputBytes == 0 ? 0 : sizes.output_bytes},
      {"output_without_grad_bytes", layer.custom.outputWithoutGradBytes,
       layer.outputBytes == 0 ? 0 : sizes.output_without_grad_bytes},
      {"workspace_bytes", layer.custom.workspaceBytes, sizes.workspace_bytes},
      {"frozen_weight_bytes", layer.custom.frozenBytes,
       sizes.frozen_weight_bytes},
      {"backward_workspace_bytes", layer.custom.backwardWorkspaceBytes,
       sizes.backward_workspace_bytes},
  };
  std::string stated, needed;
  for (const Size &size : all) {
    if (size.needed < 0)
      fail(layer, "`sizes` of " + nameOfBody(layer) + " returns " + size.name +
                      " = " + std::to_string(size.needed) +
                      "; a size is at least 0");
    if (size.stated == size.needed)
      continue;
    const std::string comma = stated.empty() ? "" : ", ";
    stated += comma + size.name + " = " + std::to_string(size.stated);
    needed += comma + size.name + " = " + std::to_string(size.needed);
  }
  const std::string samples =
      layer.custom.numSizes == 0
          ? ""
          : " for " + rondo::countOf(layer.batch, "sample");
  return stated.empty() ? ""
                        : stated + samples + ", but " + nameOfBody(layer) +
                              " needs " + needed + samples;
}

/// `tensors` lie within the weights, in the order of their offsets.
static void checkCover(const LayerDesc &layer,
                       const std::vector<rondo_tensor> &tensors) {
  const std::string who = nameOfBody(layer);
  const int64_t elements = layer.weightBytes / 4;
  int64_t end = 0, uncovered = 0, first = 0;
  auto skipTo = [&](int64_t place) {
    // The next tensor begins at a multiple of 16; what lies before is padding.
    end = std::min((end + 15) / 16 * 16, place);
    if (place > end && uncovered == 0)
      first = end;
    uncovered += place - end;
  };
  const rondo_tensor *last = nullptr;
  for (const rondo_tensor &tensor : tensors) {
    if (tensor.offset < end)
      fail(layer, "tensors '" + std::string(last->name) + "' and '" +
                      tensor.name + "' of " + who + " overlap");
    skipTo(tensor.offset);
    end = tensor.offset + countOf(tensor);
    last = &tensor;
  }
  skipTo(elements);
  if (uncovered > 0)
    fail(layer, "no tensor of " + who + " covers " + std::to_string(uncovered) +
                    " of the " + std::to_string(elements) +
                    " weights, from element " + std::to_string(first) +
                    " on: nothing would initialise, train or save them");
}

static void checkNames(const LayerDesc &layer,
                       const std::vector<rondo_tensor> &tensors) {
  std::set<std::string> names;
  for (const rondo_tensor &tensor : tensors)
    if (!names.insert(tensor.name).second)
      fail(layer, nameOfBody(layer) + " has two tensors named '" + tensor.name +
                      "'; a checkpoint finds tensors by name");
}

/// The number of tensors is the stated one, or at most the usual one.
static void checkCount(const LayerDesc &layer) {
  const std::string who = nameOfBody(layer);
  const int32_t count = countTensors(layer), stated = layer.custom.numTensors;
  if (count < 0)
    fail(layer, "`tensors` of " + who + " returns " + std::to_string(count) +
                    ", not a number of tensors");
  if (stated > 0 ? count == stated : count <= maxUnstatedTensors)
    return;
  fail(layer,
       (stated > 0
            ? "the program was compiled for tensors = " + std::to_string(stated)
            : "the model states no number of tensors, so that there may "
              "be " +
                  std::to_string(maxUnstatedTensors)) +
           ", but " + who + " has " + std::to_string(count) +
           ": write tensors = " + std::to_string(count) +
           " into the model and compile it again");
}

static void checkShape(const LayerDesc &layer, const rondo_tensor &tensor,
                       const std::string &which) {
  const bool isKnown = tensor.num_dims >= 1 && tensor.num_dims <= maxTensorDims;
  if (!isKnown || std::any_of(tensor.shape, tensor.shape + tensor.num_dims,
                              [](int64_t size) { return size < 1; }))
    fail(layer, which + " has a shape that is not 1 to " +
                    std::to_string(maxTensorDims) + " sizes of at least 1");
  if (tensor.offset < 0 || tensor.offset % 16 != 0)
    fail(layer, which + " begins at element " + std::to_string(tensor.offset) +
                    ", which is not a multiple of 16");
  const int64_t elements = layer.weightBytes / 4;
  // Division avoids an overflow of the product.
  int64_t room = elements;
  for (int32_t d = 0; d < tensor.num_dims; ++d)
    room /= tensor.shape[d];
  if (room < 1 || tensor.offset > elements - countOf(tensor))
    fail(layer, which + " at element " + std::to_string(tensor.offset) +
                    " ends past the " + std::to_string(elements) +
                    " of the weights");
  const int64_t trained = elements - layer.custom.frozenBytes / 4;
  if (tensor.frozen ? tensor.offset < trained
                    : tensor.offset + countOf(tensor) > trained)
    fail(layer,
         which + " at element " + std::to_string(tensor.offset) +
             (tensor.frozen ? " is frozen, but the frozen part of the "
                              "weights begins at element "
                            : " is trained, but lies in the frozen part "
                              "of the weights, which begins at element ") +
             std::to_string(trained));
}

/// The first and the last layer of a tied model have the same tensor.
static void checkTied(const LayerDesc &layer,
                      const std::vector<rondo_tensor> &tensors) {
  if (!layer.tied || layer.custom.data == LayerData::None)
    return;
  const std::string shared =
      "the tensor '" + std::string(tokenWeightName(false)) + "'";
  const std::string what = "its model has tied = true, so that the first and "
                           "the last layer share " +
                           shared;
  auto found = std::find_if(
      tensors.begin(), tensors.end(),
      [&](const rondo_tensor &tensor) { return isTied(layer, tensor.name); });
  if (found == tensors.end())
    fail(layer, what + ", which " + nameOfBody(layer) + " does not have");
  if (found->num_dims != 2 || found->shape[0] != layer.vocab ||
      found->shape[1] != layer.hidden || found->frozen || !found->decay)
    fail(layer, what + ", but that of " + nameOfBody(layer) +
                    " is not a trained matrix of vocab = " +
                    std::to_string(layer.vocab) + " rows and hidden = " +
                    std::to_string(layer.hidden) + " columns with decay");
}

static void checkTensors(const LayerDesc &layer) {
  const std::string who = nameOfBody(layer);
  checkCount(layer);
  std::vector<rondo_tensor> tensors = describeTensors(layer);
  for (const rondo_tensor &tensor : tensors) {
    if (!tensor.name || !*tensor.name)
      fail(layer, who + " has a tensor without a name");
    const std::string which =
        "tensor '" + std::string(tensor.name) + "' of " + who;
    if (tensor.frozen < 0 || tensor.frozen > RONDO_RUNNING)
      fail(layer, which + " has frozen = " + std::to_string(tensor.frozen) +
                      ", which is not 0, RONDO_FROZEN or RONDO_RUNNING");
    if (tensor.init < RONDO_INIT_ZEROS || tensor.init > RONDO_INIT_FILE)
      fail(layer, which + " has init " + std::to_string(tensor.init) +
                      ", which is not one of RONDO_INIT_...");
    checkShape(layer, tensor, which);
    if (tensor.frozen == RONDO_RUNNING && layer.target != Target::Cpu)
      fail(layer, which + " is running, and F replaces tensors on a CPU only: "
                          "compile the program for target cpu");
  }
  checkNames(layer, tensors);
  checkTied(layer, tensors);
  std::sort(tensors.begin(), tensors.end(),
            [](const rondo_tensor &a, const rondo_tensor &b) {
              return a.offset < b.offset;
            });
  checkCover(layer, tensors);
}

/// A body of an earlier version needs changes; of a later one, the header
/// alone is missing.
static void checkVersion(const LayerDesc &layer, const rondo_body &body) {
  if (body.version == RONDO_BODY_VERSION)
    return;
  std::string what = nameOfBody(layer) + " is of version " +
                     std::to_string(body.version) +
                     " of rondo_body.h, this program needs " +
                     std::to_string(RONDO_BODY_VERSION) +
                     ": compile it again with the header of this installation";
  if (body.version == 1)
    what += "; what changed: tasks return `const char *`, null if they succeed";
  fail(layer, what);
}

void checkCustomLayer(const LayerDesc &layer) {
  const rondo_body &body = *layer.custom.body;
  checkVersion(layer, body);
  checkFunctions(layer, body);
  checkInputs(layer, body);
  if (const std::string wrong = wrongSizes(layer); !wrong.empty())
    fail(layer, "the program was compiled for " + wrong +
                    ": write that into the model and compile it again");
  checkTensors(layer);
}

} // namespace rondo::runtime
