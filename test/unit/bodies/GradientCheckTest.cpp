// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check passes bodies that are right, and names the fault of one wrong body
// of each kind.

#include "Model.h"
#include "SimpleBody.h"

#include "runtime/bodies/custom.h"
#include "runtime/bodies/gradient_check.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace rondo::runtime {
namespace {

TEST(GradientCheck, BodiesOfAGptPass) {
  const Sizes sizes = {2, 7, 12, 3, 20, 11};
  for (LayerKind kind :
       {LayerKind::GptEmbedding, LayerKind::GptBlock, LayerKind::GptHead}) {
    const LayerDesc layer = gptLayer(kind, "layer", sizes);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const GradientCheck check = checkGradients(layer, cpuBody(kind), seed);
      EXPECT_EQ(check.fault, "") << "seed " << seed;
      EXPECT_EQ(check.tensors,
                static_cast<int32_t>(layerTensors(layer).size()));
      EXPECT_EQ(check.inputs, kind == LayerKind::GptEmbedding ? 0 : 1);
    }
  }
}

/// Faults of the body below.
enum class Fault {
  None,
  WeightGradient,
  InputGradient,
  SecondInput,
  ReadsInput,
  Overwrites,
  WritesBehind,
  WritesFarBehind,
  Differs,
  OutputInPart,
  KeepsTooEarly,
  BackwardInput,
  BackwardWeight,
  BackwardWorkspace
};
Fault fault;
constexpr int64_t count = 32;

/// From the last F.
const float *lastInput;

// output = weight * first * second; all are saved, the first input for I too.
// I keeps the output's gradient for W.
void forward(const LayerDesc *, const LayerArgs *args) {
  float *saved = floats(args->savedForWeightGrad);
  lastInput = floats(args->inputs[0]);
  for (int64_t i = 0; i < count; ++i) {
    const float a = floats(args->inputs[0])[i], b = floats(args->inputs[1])[i];
    if (fault != Fault::OutputInPart || i != 3)
      floats(args->output)[i] = floats(args->weights)[i] * a * b;
    floats(args->savedForInputGrad)[i] = a;
    saved[i] = a * b;
    saved[count + i] = b;
  }
  if (fault == Fault::KeepsTooEarly)
    floats(args->keptForWeightGrad)[5] = 1;
  if (fault == Fault::WritesBehind)
    floats(args->savedForInputGrad)[count] = 1;
  if (fault == Fault::WritesFarBehind)
    std::fill_n(floats(args->output) + count + 40, 1000, 1.0f);
}

void inputGrad(const LayerDesc *, const LayerArgs *args) {
  float *saved = floats(args->savedForWeightGrad);
  for (int64_t i = 0; i < count; ++i) {
    const float grad = floats(args->outputGrad)[i];
    const float weight = floats(args->weights)[i];
    floats(args->inputGrads[0])[i] =
        grad * weight * saved[count + i] *
        (fault == Fault::InputGradient ? 1.1f : 1.0f);
    floats(args->inputGrads[1])[i] =
        grad * weight * floats(args->savedForInputGrad)[i] *
        (fault == Fault::SecondInput && i < 8 ? 0 : 1);
    floats(args->keptForWeightGrad)[i] =
        grad * (fault == Fault::ReadsInput ? lastInput[0] : 1);
  }
}

void weightGrad(const LayerDesc *, const LayerArgs *args) {
  static float calls = 0;
  calls += 1e-3f;
  const float *saved = floats(args->savedForWeightGrad);
  for (int64_t i = 0; i < count; ++i) {
    float grad = saved[i] * floats(args->keptForWeightGrad)[i] *
                 (fault == Fault::WeightGradient ? -1.0f : 1.0f);
    if (fault == Fault::Differs)
      grad += calls;
    float &sum = floats(args->gradients)[i];
    sum = grad + (fault == Fault::Overwrites ? 0 : sum);
  }
}

void backward(const LayerDesc *layer, const LayerArgs *args) {
  inputGrad(layer, args);
  weightGrad(layer, args);
  if (fault == Fault::BackwardInput)
    floats(args->inputGrads[1])[2] += 1e-3f;
  if (fault == Fault::BackwardWeight)
    floats(args->gradients)[2] += 1e-3f;
  if (fault == Fault::BackwardWorkspace)
    floats(args->workspace)[16] = 1;
}

int32_t tensors(const LayerDesc *layer, LayerTensor *out, int32_t capacity) {
  if (capacity > 0)
    out[0] = {layer->name, "weight",         1,      {count, 1}, 0, count,
              false,       TensorInit::Ones, nullptr};
  return 1;
}

std::string faultOf(Fault with) {
  fault = with;
  // A layer of kind Synthetic, but with another body.
  LayerDesc layer{};
  layer.name = "product";
  layer.kind = LayerKind::Synthetic;
  layer.weightBytes = layer.outputBytes = 4 * count;
  layer.numInputs = 2;
  layer.inputBytes[0] = layer.inputBytes[1] = 4 * count;
  layer.inputGradFreesBytes = 4 * count;
  layer.activationBytes = 12 * count;
  layer.inputGradKeepsBytes = 4 * count;
  layer.custom.backwardWorkspaceBytes = 64;
  const LayerBody body = {forward, inputGrad, weightGrad, tensors, backward};
  const GradientCheck check = checkGradients(layer, body, 3);
  if (check.fault.empty()) {
    EXPECT_EQ(check.inputs, 2);
    EXPECT_EQ(check.tensors, 1);
  }
  return check.fault;
}

TEST(GradientCheck, Faults) {
  EXPECT_EQ(faultOf(Fault::None), "");
  EXPECT_EQ(faultOf(Fault::WeightGradient).substr(0, 95),
            "the gradient of tensor 'product.weight', which W gives, differs "
            "from finite differences of F by");
  EXPECT_EQ(faultOf(Fault::InputGradient).substr(0, 52),
            "the gradient of input 0, which I gives, differs from");
  EXPECT_EQ(faultOf(Fault::SecondInput).substr(0, 52),
            "the gradient of input 1, which I gives, differs from");
  EXPECT_EQ(faultOf(Fault::ReadsInput),
            "W gives a gradient that is not finite: W or I reads a buffer that "
            "no longer holds its content");
  EXPECT_EQ(faultOf(Fault::Overwrites).substr(0, 56),
            "W does not add to the gradient of 'product.weight': 1 be");
  EXPECT_EQ(faultOf(Fault::WritesBehind),
            "F writes past the end of what is saved for I, 32 numbers: first "
            "at element 32");
  EXPECT_EQ(faultOf(Fault::WritesFarBehind),
            "F writes past the end of the output, 32 numbers: first at element "
            "72");
  EXPECT_EQ(faultOf(Fault::Differs),
            "two runs on the same content give different bits");
  EXPECT_EQ(faultOf(Fault::OutputInPart),
            "F does not write all of its output, or writes numbers that are "
            "not finite");
  EXPECT_EQ(faultOf(Fault::KeepsTooEarly),
            "F writes to what is kept for W, which begins with I");
  EXPECT_EQ(faultOf(Fault::BackwardInput),
            "B gives other bits than I for the gradient of input 1");
  EXPECT_EQ(faultOf(Fault::BackwardWeight),
            "B gives other bits than I and then W for the gradient of "
            "'product.weight'");
  EXPECT_EQ(faultOf(Fault::BackwardWorkspace),
            "B writes past the end of the workspace of B, 16 numbers: first at "
            "element 16");
}

/// Whether the body below takes every row for one document in I.
bool mistakesDocuments;
constexpr int64_t width = simpleWidth;

/// Calls each(element, the same one of the document's first token).
template <typename Each>
void forElements(const rondo_layer *layer, const rondo_task *task,
                 const Each &each) {
  int32_t document = 0;
  for (int64_t t = 0; t < layer->tokens; ++t) {
    if (task->document_starts && t == task->document_starts[document + 1])
      ++document;
    const int64_t first =
        task->document_starts ? task->document_starts[document] : 0;
    for (int64_t j = 0; j < width; ++j)
      each(t * width + j, first * width + j);
  }
}

// output = weight * (input - input of the document's first token).
const char *differences(const rondo_layer *layer, const rondo_task *task) {
  const float *in = floats(task->inputs[0]);
  float *saved = floats(task->saved_for_weight_grad);
  forElements(layer, task, [&](int64_t i, int64_t first) {
    saved[i] = in[i] - in[first];
    floats(task->output)[i] = floats(task->weights)[i % width] * saved[i];
  });
  return nullptr;
}
const char *inputGradOfDifferences(const rondo_layer *layer,
                                   const rondo_task *task) {
  float *grad = floats(task->input_grads[0]);
  std::fill_n(grad, layer->tokens * width, 0.0f);
  forElements(layer, task, [&](int64_t i, int64_t first) {
    const float product =
        floats(task->weights)[i % width] * floats(task->output_grad)[i];
    grad[i] += product;
    grad[mistakesDocuments ? i % width : first] -= product;
    floats(task->kept_for_weight_grad)[i] = floats(task->output_grad)[i];
  });
  return nullptr;
}
const char *weightGradOfDifferences(const rondo_layer *layer,
                                    const rondo_task *task) {
  for (int64_t i = 0; i < layer->tokens * width; ++i)
    floats(task->gradients)[i % width] +=
        floats(task->saved_for_weight_grad)[i] *
        floats(task->kept_for_weight_grad)[i];
  return nullptr;
}
const char *sizesOfDifferences(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->weight_bytes = 4 * width;
  sizes->saved_for_weight_grad_bytes = sizes->kept_for_weight_grad_bytes =
      sizes->output_bytes = 4 * width * layer->tokens;
  return nullptr;
}
TEST(GradientCheck, RowsOfDocuments) {
  rondo_body body = simpleBody(sizesOfDifferences,
                               {differences, inputGradOfDifferences,
                                weightGradOfDifferences, nullptr, nullptr});
  body.takes_documents = 1;
  LayerDesc layer{};
  layer.name = "differences";
  layer.kind = LayerKind::Custom;
  layer.batch = 1;
  layer.sequence = 5;
  layer.hidden = width;
  layer.weightBytes = 4 * width;
  layer.numInputs = 1;
  layer.inputBytes[0] = layer.outputBytes = layer.activationBytes =
      layer.inputGradKeepsBytes = 4 * width * 5;
  layer.custom.name = "differences";
  layer.custom.body = &body;
  layer.custom.takesDocuments = true;
  checkCustomLayer(layer);
  const LayerBody tasks = tasksOf(layer, cpuBody(layer.kind));
  mistakesDocuments = false;
  EXPECT_EQ(checkGradients(layer, tasks, 3).fault, "");
  // Found in a row alone: a sample is one document.
  mistakesDocuments = true;
  EXPECT_EQ(checkGradients(layer, tasks, 3).fault.substr(0, 77),
            "in a row of 2 documents: the gradient of input 0, which I gives, "
            "differs from");
}

} // namespace
} // namespace rondo::runtime
