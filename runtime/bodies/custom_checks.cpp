//===- custom_checks.cpp - Checks of custom layers' bodies ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/custom.h"

#include "kinds/Counts.h"
#include "runtime/bodies/described.h"
#include "runtime/bodies/layers.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace rondo::runtime {

static void checkFunctions(const LayerDesc &layer, const rondo_body &body) {
  if (!body.sizes)
    failOf(layer, nameOfBody(layer) + " has no `sizes` function");
  if (!body.tensors)
    failOf(layer, nameOfBody(layer) + " has no `tensors` function");
  const bool isCpu = layer.target == Target::Cpu;
  const rondo_functions &tasks = isCpu ? body.cpu : body.cuda;
  if (!tasks.forward || !tasks.input_grad || !tasks.weight_grad)
    failOf(layer, nameOfBody(layer) + " does not run on " +
                      (isCpu ? "the CPU" : "CUDA") +
                      ": it has no F, I or W function for this target");
}

static void checkInputs(const LayerDesc &layer, const rondo_body &body) {
  if (body.min_inputs > body.max_inputs)
    failOf(layer, nameOfBody(layer) + " declares min_inputs = " +
                      std::to_string(body.min_inputs) +
                      " above max_inputs = " + std::to_string(body.max_inputs));
  if (layer.numInputs >= body.min_inputs && layer.numInputs <= body.max_inputs)
    return;
  std::string takes = std::to_string(body.min_inputs);
  if (body.max_inputs != body.min_inputs)
    takes += " to " + std::to_string(body.max_inputs);
  failOf(layer, "it has " + rondo::countOf(layer.numInputs, "input") +
                    ", but " + nameOfBody(layer) + " takes " + takes);
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
      failOf(layer, "tensors '" + std::string(last->name) + "' and '" +
                        tensor.name + "' of " + who + " overlap");
    skipTo(tensor.offset);
    end = tensor.offset + countOf(tensor);
    last = &tensor;
  }
  skipTo(elements);
  if (uncovered > 0)
    failOf(layer, "no tensor of " + who + " covers " +
                      std::to_string(uncovered) + " of the " +
                      std::to_string(elements) + " weights, from element " +
                      std::to_string(first) +
                      " on: nothing would initialise, train or save them");
}

static void checkNames(const LayerDesc &layer,
                       const std::vector<rondo_tensor> &tensors) {
  std::set<std::string> names;
  for (const rondo_tensor &tensor : tensors)
    if (!names.insert(tensor.name).second)
      failOf(layer, nameOfBody(layer) + " has two tensors named '" +
                        tensor.name + "'; a checkpoint finds tensors by name");
}

/// The number of tensors is the stated one, or at most the usual one.
static void checkCount(const LayerDesc &layer) {
  const std::string who = nameOfBody(layer);
  const int32_t count = countTensors(layer), stated = layer.custom.numTensors;
  if (count < 0)
    failOf(layer, "`tensors` of " + who + " returns " + std::to_string(count) +
                      ", not a number of tensors");
  if (stated > 0 ? count == stated : count <= maxUnstatedTensors)
    return;
  failOf(
      layer,
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
    failOf(layer, which + " has a shape that is not 1 to " +
                      std::to_string(maxTensorDims) + " sizes of at least 1");
  if (tensor.offset < 0 || tensor.offset % 16 != 0)
    failOf(layer, which + " begins at element " +
                      std::to_string(tensor.offset) +
                      ", which is not a multiple of 16");
  const int64_t elements = layer.weightBytes / 4;
  // Division avoids an overflow of the product.
  int64_t room = elements;
  for (int32_t d = 0; d < tensor.num_dims; ++d)
    room /= tensor.shape[d];
  if (room < 1 || tensor.offset > elements - countOf(tensor))
    failOf(layer, which + " at element " + std::to_string(tensor.offset) +
                      " ends past the " + std::to_string(elements) +
                      " of the weights");
  const int64_t trained = elements - layer.custom.frozenBytes / 4;
  if (tensor.frozen ? tensor.offset < trained
                    : tensor.offset + countOf(tensor) > trained)
    failOf(layer,
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
    failOf(layer, what + ", which " + nameOfBody(layer) + " does not have");
  if (found->num_dims != 2 || found->shape[0] != layer.vocab ||
      found->shape[1] != layer.hidden || found->frozen || !found->decay)
    failOf(layer, what + ", but that of " + nameOfBody(layer) +
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
      failOf(layer, who + " has a tensor without a name");
    const std::string which =
        "tensor '" + std::string(tensor.name) + "' of " + who;
    if (tensor.frozen < 0 || tensor.frozen > RONDO_RUNNING)
      failOf(layer, which + " has frozen = " + std::to_string(tensor.frozen) +
                        ", which is not 0, RONDO_FROZEN or RONDO_RUNNING");
    if (tensor.init < RONDO_INIT_ZEROS || tensor.init > RONDO_INIT_FILE)
      failOf(layer, which + " has init " + std::to_string(tensor.init) +
                        ", which is not one of RONDO_INIT_...");
    checkShape(layer, tensor, which);
    if (tensor.frozen == RONDO_RUNNING && layer.target != Target::Cpu)
      failOf(layer, which +
                        " is running, and F replaces tensors on a CPU only: "
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
  failOf(layer, what);
}

void checkCustomLayer(const LayerDesc &layer) {
  const rondo_body &body = *layer.custom.body;
  checkVersion(layer, body);
  checkFunctions(layer, body);
  checkInputs(layer, body);
  if (const std::string wrong = wrongSizes(layer); !wrong.empty())
    failOf(layer, "the program was compiled for " + wrong +
                      ": write that into the model and compile it again");
  checkTensors(layer);
}

} // namespace rondo::runtime
