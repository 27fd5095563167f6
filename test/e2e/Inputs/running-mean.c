// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* `scale` gives each value of a micro-batch times a trained number, and keeps a
 * running mean of the values. `square` has a loss of the squared distances of
 * its input from 1. */

#include <rondo_body.h>
#include <stddef.h>

enum { samples = 8, mean = 16 };

static const char *scale_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  (void)layer;
  sizes->weight_bytes = 128;
  sizes->frozen_weight_bytes = 64;
  sizes->saved_for_weight_grad_bytes = sizes->kept_for_weight_grad_bytes =
      sizes->output_bytes = 4 * samples;
  return NULL;
}

static int32_t scale_tensors(const rondo_layer *layer, rondo_tensor *tensors,
                             int32_t capacity) {
  const rondo_tensor all[] = {
      {"factor", 1, {1}, 0, RONDO_INIT_ONES, 0, 0},
      {"mean", 1, {1}, mean, RONDO_INIT_ZEROS, 0, RONDO_RUNNING}};
  (void)layer;
  for (int32_t t = 0; t < 2 && t < capacity; ++t)
    tensors[t] = all[t];
  return 2;
}

static const char *scale(const rondo_layer *layer, const rondo_task *task) {
  const float *weights = task->weights, *values = task->streams[0];
  float *output = task->output, *saved = task->saved_for_weight_grad, sum = 0;
  (void)layer;
  for (int b = 0; b < samples; ++b) {
    output[b] = values[b] * weights[0];
    saved[b] = values[b];
    sum += values[b];
  }
  if (task->running_weights) {
    float *running = task->running_weights;
    running[mean] += (sum / samples - weights[mean]) / 4;
  }
  return NULL;
}

static const char *scale_input_grad(const rondo_layer *layer,
                                    const rondo_task *task) {
  const float *output_grad = task->output_grad;
  float *kept = task->kept_for_weight_grad;
  (void)layer;
  for (int b = 0; b < samples; ++b)
    kept[b] = output_grad[b];
  return task->running_weights ? "I may replace weights" : NULL;
}

static const char *scale_weight_grad(const rondo_layer *layer,
                                     const rondo_task *task) {
  const float *kept = task->kept_for_weight_grad,
              *saved = task->saved_for_weight_grad;
  float *gradients = task->gradients;
  (void)layer;
  for (int b = 0; b < samples; ++b)
    gradients[0] += kept[b] * saved[b];
  return task->running_weights ? "W may replace weights" : NULL;
}

RONDO_BODY(scale) = {
    .version = RONDO_BODY_VERSION,
    .sizes = scale_sizes,
    .tensors = scale_tensors,
    .cpu = {scale, scale_input_grad, scale_weight_grad},
};

static const char *square_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  (void)layer;
  sizes->saved_for_input_grad_bytes = 4 * samples;
  return NULL;
}

static int32_t no_tensors(const rondo_layer *layer, rondo_tensor *tensors,
                          int32_t capacity) {
  (void)layer, (void)tensors, (void)capacity;
  return 0;
}

static const char *square(const rondo_layer *layer, const rondo_task *task) {
  const float *input = task->inputs[0];
  float *saved = task->saved_for_input_grad, loss = 0;
  (void)layer;
  for (int b = 0; b < samples; ++b) {
    const float distance = input[b] - 1;
    loss += distance * distance / (2 * samples);
    saved[b] = (float)task->loss_scale * distance / samples;
  }
  *task->loss = loss;
  return NULL;
}

static const char *square_input_grad(const rondo_layer *layer,
                                     const rondo_task *task) {
  const float *saved = task->saved_for_input_grad;
  float *input_grad = task->input_grads[0];
  (void)layer;
  for (int b = 0; b < samples; ++b)
    input_grad[b] = saved[b];
  return NULL;
}

static const char *nothing(const rondo_layer *layer, const rondo_task *task) {
  (void)layer, (void)task;
  return NULL;
}

RONDO_BODY(square) = {
    .version = RONDO_BODY_VERSION,
    .min_inputs = 1,
    .max_inputs = 1,
    .sizes = square_sizes,
    .tensors = no_tensors,
    .cpu = {square, square_input_grad, nothing},
};
