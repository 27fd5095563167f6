// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* join: a weighted sum of its inputs, which have one size. It has no weights. */

#include <rondo_body.h>

#include <stddef.h>

static int64_t count_of(const rondo_layer *layer) {
  return layer->tokens * layer->hidden;
}

static float factor_of(int32_t input) { return 1.0f / (float)(input + 1); }

static const char *sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->output_bytes = 4 * count_of(layer);
  return NULL;
}

static int32_t tensors(const rondo_layer *layer, rondo_tensor *tensors,
                       int32_t capacity) {
  (void)layer, (void)tensors, (void)capacity;
  return 0;
}

static const char *forward(const rondo_layer *layer, const rondo_task *task) {
  float *output = task->output;
  for (int64_t i = 0, count = count_of(layer); i < count; ++i) {
    output[i] = 0;
    for (int32_t k = 0; k < layer->num_inputs; ++k)
      output[i] += factor_of(k) * ((const float *)task->inputs[k])[i];
  }
  return NULL;
}

static const char *input_grad(const rondo_layer *layer,
                              const rondo_task *task) {
  const float *output_grad = task->output_grad;
  for (int64_t i = 0, count = count_of(layer); i < count; ++i)
    for (int32_t k = 0; k < layer->num_inputs; ++k)
      ((float *)task->input_grads[k])[i] = factor_of(k) * output_grad[i];
  return NULL;
}

static const char *weight_grad(const rondo_layer *layer,
                               const rondo_task *task) {
  (void)layer, (void)task;
  return NULL;
}

RONDO_BODY(join) = {.version = RONDO_BODY_VERSION,
                    .min_inputs = 1,
                    .max_inputs = 8,
                    .sizes = sizes,
                    .tensors = tensors,
                    .cpu = {.forward = forward,
                            .input_grad = input_grad,
                            .weight_grad = weight_grad},
                    .takes_documents = 1};
