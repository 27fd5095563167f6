// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* blend: a weighted sum of its inputs, each with its own factor, times
 * weights. Its sums in fp32 depend on their order. */

#include <rondo_body.h>

#include <stddef.h>

static float factor_of(int64_t input) {
  return 0.3f + 0.7f / (float)(input + 2);
}

static const char *sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  if (layer->num_parameters != 1)
    return "parameters = [COUNT] is missing";
  sizes->weight_bytes = sizes->output_bytes = 4 * layer->parameters[0];
  sizes->saved_for_weight_grad_bytes = 2 * sizes->output_bytes;
  return NULL;
}

static int32_t tensors(const rondo_layer *layer, rondo_tensor *tensors,
                       int32_t capacity) {
  if (capacity > 0) {
    rondo_tensor weight = {"weight", 1, {0, 1}, 0, RONDO_INIT_ONES, 0, 0};
    weight.shape[0] = layer->parameters[0];
    tensors[0] = weight;
  }
  return 1;
}

static const char *forward(const rondo_layer *layer, const rondo_task *task) {
  const float *weights = task->weights;
  float *sums = task->saved_for_weight_grad, *output = task->output;
  for (int64_t i = 0; i < layer->parameters[0]; ++i) {
    sums[i] = 0;
    for (int32_t k = 0; k < layer->num_inputs; ++k)
      sums[i] += factor_of(k) * ((const float *)task->inputs[k])[i];
    output[i] = weights[i] * sums[i];
  }
  return NULL;
}

static const char *input_grad(const rondo_layer *layer,
                              const rondo_task *task) {
  const int64_t count = layer->parameters[0];
  const float *weights = task->weights, *grads = task->output_grad;
  float *kept = (float *)task->saved_for_weight_grad + count;
  for (int64_t i = 0; i < count; ++i) {
    kept[i] = grads[i];
    for (int32_t k = 0; k < layer->num_inputs; ++k)
      ((float *)task->input_grads[k])[i] = grads[i] * weights[i] * factor_of(k);
  }
  return NULL;
}

static const char *weight_grad(const rondo_layer *layer,
                               const rondo_task *task) {
  const int64_t count = layer->parameters[0];
  const float *sums = task->saved_for_weight_grad, *grads = sums + count;
  float *gradients = task->gradients;
  for (int64_t i = 0; i < count; ++i)
    gradients[i] += sums[i] * grads[i];
  return NULL;
}

RONDO_BODY(blend) = {.version = RONDO_BODY_VERSION,
                     .min_inputs = 1,
                     .max_inputs = 8,
                     .sizes = sizes,
                     .tensors = tensors,
                     .cpu = {.forward = forward,
                             .input_grad = input_grad,
                             .weight_grad = weight_grad}};
