// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* drop: y = x * weight * factor, with dropout: a factor is 0 or one of a table
 * that load() makes, by a hash of the seed, the iteration, the micro-batch and
 * the element. No mask is saved. Its second parameter asks for an error:
 * 1: in F of micro-batch 2, 2: in load(), 3: in F of an evaluation. */

#include <rondo_body.h>

#include <stddef.h>
#include <stdlib.h>

enum { table_size = 4 };

static int64_t count_of(const rondo_layer *layer) {
  return layer->parameters[0];
}
static int fails_at(const rondo_layer *layer, int64_t place) {
  return layer->num_parameters == 2 && layer->parameters[1] == place;
}

static const char *sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  if (layer->num_parameters < 1)
    return "parameters = [COUNT] is missing";
  sizes->weight_bytes = sizes->output_bytes = 4 * count_of(layer);
  sizes->saved_for_weight_grad_bytes = sizes->output_bytes;
  sizes->kept_for_weight_grad_bytes = sizes->output_bytes;
  sizes->backward_workspace_bytes = sizes->output_bytes;
  return NULL;
}

static int32_t tensors(const rondo_layer *layer, rondo_tensor *tensors,
                       int32_t capacity) {
  if (capacity > 0) {
    rondo_tensor weight = {"weight", 1, {0, 1}, 0, RONDO_INIT_ONES, 0, 0};
    weight.shape[0] = count_of(layer);
    tensors[0] = weight;
  }
  return 1;
}

static const char *load(const rondo_layer *layer, int32_t rank, int32_t device,
                        void **state) {
  (void)rank;
  (void)device;
  if (fails_at(layer, 2))
    return "it has no table";
  float *table = malloc(table_size * sizeof(float));
  if (!table)
    return "out of memory";
  for (int k = 0; k < table_size; ++k)
    table[k] = 1 + 0.5f * (float)k;
  *state = table;
  return NULL;
}

static void unload(const rondo_layer *layer, void *state) {
  (void)layer;
  free(state);
}

static float factor_of(const rondo_task *task, int64_t i) {
  uint64_t hash = task->seed + 1;
  const uint64_t parts[] = {(uint64_t)task->iteration,
                            (uint64_t)task->microbatch, (uint64_t)i};
  for (int k = 0; k < 3; ++k) {
    hash = (hash ^ parts[k]) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  const float *table = task->state;
  return hash % 8 == 0 ? 0 : table[hash / 8 % table_size];
}

static const char *forward(const rondo_layer *layer, const rondo_task *task) {
  if (fails_at(layer, 1) && task->microbatch == 2)
    return "it was asked to fail";
  if (fails_at(layer, 3) && task->iteration == -1)
    return "it was asked to fail in an evaluation";
  const float *input = task->inputs[0], *weights = task->weights;
  float *saved = task->saved_for_weight_grad, *output = task->output;
  for (int64_t i = 0; i < count_of(layer); ++i) {
    saved[i] = input[i] * factor_of(task, i);
    output[i] = saved[i] * weights[i];
  }
  return NULL;
}

static const char *input_grad(const rondo_layer *layer,
                              const rondo_task *task) {
  const float *grads = task->output_grad, *weights = task->weights;
  float *kept = task->kept_for_weight_grad, *input_grads = task->input_grads[0];
  for (int64_t i = 0; i < count_of(layer); ++i) {
    kept[i] = grads[i];
    input_grads[i] = grads[i] * weights[i] * factor_of(task, i);
  }
  return NULL;
}

static const char *weight_grad(const rondo_layer *layer,
                               const rondo_task *task) {
  const float *saved = task->saved_for_weight_grad,
              *kept = task->kept_for_weight_grad;
  float *gradients = task->gradients;
  for (int64_t i = 0; i < count_of(layer); ++i)
    gradients[i] += saved[i] * kept[i];
  return NULL;
}

static const char *backward(const rondo_layer *layer, const rondo_task *task) {
  const float *grads = task->output_grad, *weights = task->weights,
              *saved = task->saved_for_weight_grad;
  float *gradients = task->gradients, *input_grads = task->input_grads[0],
        *scaled = task->workspace;
  for (int64_t i = 0; i < count_of(layer); ++i) {
    scaled[i] = grads[i] * weights[i];
    input_grads[i] = scaled[i] * factor_of(task, i);
    gradients[i] += saved[i] * grads[i];
  }
  return NULL;
}

RONDO_BODY(drop) = {.version = RONDO_BODY_VERSION,
                    .min_inputs = 1,
                    .max_inputs = 1,
                    .sizes = sizes,
                    .tensors = tensors,
                    .cpu = {.forward = forward,
                            .input_grad = input_grad,
                            .weight_grad = weight_grad,
                            .backward = backward},
                    .load = load,
                    .unload = unload};
