// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bodies for every place in a model: the first layer with tokens and without,
// one in the middle, the last with targets and without.

#include <rondo_body.h>

#include <cmath>
#include <cstring>

namespace {

const float *floats(const void *buffer) {
  return static_cast<const float *>(buffer);
}
float *floats(void *buffer) { return static_cast<float *>(buffer); }

int64_t padded(int64_t count) { return (count + 15) / 16 * 16; }

int64_t rowsOf(const rondo_layer *layer) {
  return layer->batch * layer->sequence;
}

int32_t describe(rondo_tensor *tensors, int32_t capacity,
                 const rondo_tensor &tensor) {
  if (capacity > 0)
    tensors[0] = tensor;
  return 1;
}

// embed: a row of a table for each token.

const char *embedSizes(const rondo_layer *layer, rondo_sizes *sizes) {
  const int64_t values = rowsOf(layer) * layer->hidden;
  sizes->weight_bytes = 4 * layer->vocab * layer->hidden;
  sizes->saved_for_weight_grad_bytes =
      4 * (padded(rowsOf(layer)) + padded(values));
  sizes->output_bytes = 4 * values;
  return nullptr;
}

int32_t embedTensors(const rondo_layer *layer, rondo_tensor *tensors,
                     int32_t capacity) {
  return describe(
      tensors, capacity,
      {"table", 2, {layer->vocab, layer->hidden}, 0, RONDO_INIT_NORMAL, 0, 0});
}

const char *embedForward(const rondo_layer *layer, const rondo_task *task) {
  const int64_t hidden = layer->hidden;
  std::memcpy(task->saved_for_weight_grad, task->data, 4 * rowsOf(layer));
  for (int64_t r = 0; r < rowsOf(layer); ++r)
    std::memcpy(floats(task->output) + r * hidden,
                floats(task->weights) + task->data[r] * hidden, 4 * hidden);
  return nullptr;
}

const char *embedInputGrad(const rondo_layer *layer, const rondo_task *task) {
  std::memcpy(floats(task->saved_for_weight_grad) + padded(rowsOf(layer)),
              task->output_grad, 4 * rowsOf(layer) * layer->hidden);
  return nullptr;
}

const char *embedWeightGrad(const rondo_layer *layer, const rondo_task *task) {
  const int64_t hidden = layer->hidden;
  const auto *tokens =
      static_cast<const int32_t *>(task->saved_for_weight_grad);
  const float *grad =
      floats(task->saved_for_weight_grad) + padded(rowsOf(layer));
  for (int64_t r = 0; r < rowsOf(layer); ++r)
    for (int64_t h = 0; h < hidden; ++h)
      floats(task->gradients)[tokens[r] * hidden + h] += grad[r * hidden + h];
  return nullptr;
}

// rms_norm: gain * x / root mean square of x.

const char *normSizes(const rondo_layer *layer, rondo_sizes *sizes) {
  const int64_t values = padded(rowsOf(layer) * layer->hidden);
  sizes->weight_bytes = 4 * layer->hidden;
  sizes->saved_for_input_grad_bytes = 4 * rowsOf(layer);
  sizes->saved_for_weight_grad_bytes = 8 * values;
  sizes->output_bytes = 4 * rowsOf(layer) * layer->hidden;
  return nullptr;
}

int32_t normTensors(const rondo_layer *layer, rondo_tensor *tensors,
                    int32_t capacity) {
  return describe(tensors, capacity,
                  {"gain", 1, {layer->hidden, 1}, 0, RONDO_INIT_ONES, 0, 0});
}

const char *normForward(const rondo_layer *layer, const rondo_task *task) {
  const int64_t hidden = layer->hidden;
  for (int64_t r = 0; r < rowsOf(layer); ++r) {
    const float *x = floats(task->inputs[0]) + r * hidden;
    float *normal = floats(task->saved_for_weight_grad) + r * hidden;
    float squares = 0;
    for (int64_t h = 0; h < hidden; ++h)
      squares += x[h] * x[h];
    const float scale =
        1 / std::sqrt(squares / static_cast<float>(hidden) + 1e-5f);
    floats(task->saved_for_input_grad)[r] = scale;
    for (int64_t h = 0; h < hidden; ++h) {
      normal[h] = x[h] * scale;
      floats(task->output)[r * hidden + h] =
          normal[h] * floats(task->weights)[h];
    }
  }
  return nullptr;
}

const char *normInputGrad(const rondo_layer *layer, const rondo_task *task) {
  const int64_t hidden = layer->hidden, values = rowsOf(layer) * hidden;
  const float *gain = floats(task->weights);
  float *saved = floats(task->saved_for_weight_grad);
  std::memcpy(saved + padded(values), task->output_grad, 4 * values);
  for (int64_t r = 0; r < rowsOf(layer); ++r) {
    const float *grad = floats(task->output_grad) + r * hidden;
    const float *normal = saved + r * hidden;
    float dot = 0;
    for (int64_t h = 0; h < hidden; ++h)
      dot += grad[h] * gain[h] * normal[h];
    for (int64_t h = 0; h < hidden; ++h)
      floats(task->input_grads[0])[r * hidden + h] =
          (grad[h] * gain[h] - normal[h] * dot / static_cast<float>(hidden)) *
          floats(task->saved_for_input_grad)[r];
  }
  return nullptr;
}

const char *normWeightGrad(const rondo_layer *layer, const rondo_task *task) {
  const int64_t hidden = layer->hidden, values = rowsOf(layer) * hidden;
  const float *normal = floats(task->saved_for_weight_grad);
  const float *grad = normal + padded(values);
  for (int64_t i = 0; i < values; ++i)
    floats(task->gradients)[i % hidden] += grad[i] * normal[i];
  return nullptr;
}

// classify: logits of a matrix, and their cross-entropy.

const char *classifySizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->weight_bytes = 4 * layer->vocab * layer->hidden;
  sizes->saved_for_weight_grad_bytes =
      4 * (padded(rowsOf(layer) * layer->hidden) +
           padded(rowsOf(layer) * layer->vocab));
  return nullptr;
}

const char *classifyForward(const rondo_layer *layer, const rondo_task *task) {
  const int64_t hidden = layer->hidden, vocab = layer->vocab;
  const int64_t rows = rowsOf(layer);
  float *saved = floats(task->saved_for_weight_grad);
  std::memcpy(saved, task->inputs[0], 4 * rows * hidden);
  double loss = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const float *x = saved + r * hidden;
    float *logits = saved + padded(rows * hidden) + r * vocab;
    float most = -INFINITY, sum = 0;
    for (int64_t v = 0; v < vocab; ++v) {
      logits[v] = 0;
      for (int64_t h = 0; h < hidden; ++h)
        logits[v] += x[h] * floats(task->weights)[v * hidden + h];
      most = std::fmax(most, logits[v]);
    }
    for (int64_t v = 0; v < vocab; ++v)
      sum += std::exp(logits[v] - most);
    const int64_t target = task->data[r];
    loss += std::log(sum) + most - logits[target];
    // The logits become their gradients.
    const float share =
        static_cast<float>(task->loss_scale / static_cast<double>(rows));
    for (int64_t v = 0; v < vocab; ++v)
      logits[v] = (std::exp(logits[v] - most) / sum - (v == target)) * share;
  }
  *task->loss = static_cast<float>(loss / static_cast<double>(rows));
  return nullptr;
}

const char *classifyInputGrad(const rondo_layer *layer,
                              const rondo_task *task) {
  const int64_t hidden = layer->hidden, vocab = layer->vocab;
  const int64_t rows = rowsOf(layer);
  const float *grads =
      floats(task->saved_for_weight_grad) + padded(rows * hidden);
  float *out = floats(task->input_grads[0]);
  std::memset(out, 0, 4 * rows * hidden);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vocab; ++v)
      for (int64_t h = 0; h < hidden; ++h)
        out[r * hidden + h] +=
            grads[r * vocab + v] * floats(task->weights)[v * hidden + h];
  return nullptr;
}

const char *classifyWeightGrad(const rondo_layer *layer,
                               const rondo_task *task) {
  const int64_t hidden = layer->hidden, vocab = layer->vocab;
  const int64_t rows = rowsOf(layer);
  const float *x = floats(task->saved_for_weight_grad);
  const float *grads = x + padded(rows * hidden);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vocab; ++v)
      for (int64_t h = 0; h < hidden; ++h)
        floats(task->gradients)[v * hidden + h] +=
            grads[r * vocab + v] * x[r * hidden + h];
  return nullptr;
}

// source: weights, and something that depends on the micro-batch.

const char *sourceSizes(const rondo_layer *layer, rondo_sizes *sizes) {
  if (layer->num_parameters != 1)
    return "parameters = [COUNT] is missing";
  sizes->weight_bytes = sizes->output_bytes = 4 * layer->parameters[0];
  sizes->saved_for_weight_grad_bytes = sizes->output_bytes;
  return nullptr;
}

int32_t sourceTensors(const rondo_layer *layer, rondo_tensor *tensors,
                      int32_t capacity) {
  return describe(
      tensors, capacity,
      {"weight", 1, {layer->parameters[0], 1}, 0, RONDO_INIT_ZEROS, 0, 0});
}

const char *sourceForward(const rondo_layer *layer, const rondo_task *task) {
  for (int64_t i = 0; i < layer->parameters[0]; ++i)
    floats(task->output)[i] =
        floats(task->weights)[i] +
        0.01f * static_cast<float>((7 * task->microbatch + 3 * i) % 11);
  return nullptr;
}

const char *sourceInputGrad(const rondo_layer *layer, const rondo_task *task) {
  std::memcpy(task->saved_for_weight_grad, task->output_grad,
              4 * layer->parameters[0]);
  return nullptr;
}

const char *sourceWeightGrad(const rondo_layer *layer, const rondo_task *task) {
  for (int64_t i = 0; i < layer->parameters[0]; ++i)
    floats(task->gradients)[i] += floats(task->saved_for_weight_grad)[i];
  return nullptr;
}

// squares: how far its input is from 1. It has no weights, and uses workspace.

const char *squaresSizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->saved_for_input_grad_bytes = layer->input_bytes[0];
  sizes->workspace_bytes = layer->input_bytes[0];
  return nullptr;
}

int32_t squaresTensors(const rondo_layer *, rondo_tensor *, int32_t) {
  return 0;
}

const char *squaresForward(const rondo_layer *layer, const rondo_task *task) {
  const int64_t count = layer->input_bytes[0] / 4;
  float *difference = floats(task->saved_for_input_grad);
  float *square = floats(task->workspace);
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    difference[i] = floats(task->inputs[0])[i] - 1;
    square[i] = difference[i] * difference[i];
    sum += square[i];
  }
  *task->loss = sum / static_cast<float>(count);
  return nullptr;
}

const char *squaresInputGrad(const rondo_layer *layer, const rondo_task *task) {
  const int64_t count = layer->input_bytes[0] / 4;
  for (int64_t i = 0; i < count; ++i)
    floats(task->input_grads[0])[i] =
        static_cast<float>(2 * task->loss_scale / static_cast<double>(count)) *
        floats(task->saved_for_input_grad)[i];
  return nullptr;
}

const char *squaresWeightGrad(const rondo_layer *, const rondo_task *) {
  return nullptr;
}

} // namespace

RONDO_BODY(embed) = {
    RONDO_BODY_VERSION,
    0,
    0,
    embedSizes,
    embedTensors,
    {embedForward, embedInputGrad, embedWeightGrad, nullptr, nullptr},
    {},
    nullptr,
    nullptr,
    0};
RONDO_BODY(rms_norm) = {
    RONDO_BODY_VERSION,
    1,
    1,
    normSizes,
    normTensors,
    {normForward, normInputGrad, normWeightGrad, nullptr, nullptr},
    {},
    nullptr,
    nullptr,
    0};
RONDO_BODY(classify) = {
    RONDO_BODY_VERSION,
    1,
    1,
    classifySizes,
    embedTensors,
    {classifyForward, classifyInputGrad, classifyWeightGrad, nullptr, nullptr},
    {},
    nullptr,
    nullptr,
    0};
RONDO_BODY(source) = {
    RONDO_BODY_VERSION,
    0,
    0,
    sourceSizes,
    sourceTensors,
    {sourceForward, sourceInputGrad, sourceWeightGrad, nullptr, nullptr},
    {},
    nullptr,
    nullptr,
    0};
RONDO_BODY(squares) = {
    RONDO_BODY_VERSION,
    1,
    1,
    squaresSizes,
    squaresTensors,
    {squaresForward, squaresInputGrad, squaresWeightGrad, nullptr, nullptr},
    {},
    nullptr,
    nullptr,
    0};
