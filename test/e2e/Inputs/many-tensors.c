// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* `many` has as many tensors of 4 x 3 x 2 numbers as its parameter says, of
 * which the last is frozen: y = (t0 + t1 + ...) * scale. `target` has a loss of
 * the squared distances of its input from 3. */

#include <rondo_body.h>
#include <stddef.h>

enum { numbers = 24, place = 32, max_tensors = 40 };

static const char *const names[max_tensors] = {
    "t0",  "t1",  "t2",  "t3",  "t4",  "t5",  "t6",  "t7",  "t8",  "t9",
    "t10", "t11", "t12", "t13", "t14", "t15", "t16", "t17", "t18", "t19",
    "t20", "t21", "t22", "t23", "t24", "t25", "t26", "t27", "t28", "t29",
    "t30", "t31", "t32", "t33", "t34", "t35", "t36", "t37", "t38", "t39"};

static const char *many_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  if (layer->num_parameters != 1 || layer->parameters[0] < 2 ||
      layer->parameters[0] > max_tensors)
    return "parameters = [TENSORS] must be 2 to 40";
  sizes->weight_bytes = 4 * place * layer->parameters[0];
  sizes->frozen_weight_bytes = 4 * place;
  sizes->saved_for_weight_grad_bytes = sizes->output_bytes = 4 * numbers;
  return NULL;
}

static int32_t many_tensors(const rondo_layer *layer, rondo_tensor *tensors,
                            int32_t capacity) {
  const int32_t count = (int32_t)layer->parameters[0];
  for (int32_t t = 0; t < count && t < capacity; ++t) {
    const rondo_tensor tensor = {names[t],          3, {4, 3, 2}, place * t,
                                 RONDO_INIT_NORMAL, 1, 0};
    tensors[t] = tensor;
    if (t == 0)
      tensors[t].init = RONDO_INIT_FILE;
    if (t == count - 1) {
      tensors[t].name = "scale";
      tensors[t].frozen = 1;
    }
  }
  return count;
}

static const char *many(const rondo_layer *layer, const rondo_task *task) {
  const float *weights = task->weights;
  const int64_t last = layer->parameters[0] - 1;
  float *output = task->output;
  for (int i = 0; i < numbers; ++i) {
    float sum = 0;
    for (int64_t t = 0; t < last; ++t)
      sum += weights[place * t + i];
    output[i] = sum * weights[place * last + i];
  }
  return NULL;
}

static const char *many_input_grad(const rondo_layer *layer,
                                   const rondo_task *task) {
  const float *weights = task->weights, *output_grad = task->output_grad;
  const int64_t last = layer->parameters[0] - 1;
  float *saved = task->saved_for_weight_grad;
  for (int i = 0; i < numbers; ++i)
    saved[i] = output_grad[i] * weights[place * last + i];
  return NULL;
}

static const char *many_weight_grad(const rondo_layer *layer,
                                    const rondo_task *task) {
  const float *saved = task->saved_for_weight_grad;
  float *gradients = task->gradients;
  for (int64_t t = 0; t < layer->parameters[0] - 1; ++t)
    for (int i = 0; i < numbers; ++i)
      gradients[place * t + i] += saved[i];
  return NULL;
}

RONDO_BODY(many) = {
    .version = RONDO_BODY_VERSION,
    .sizes = many_sizes,
    .tensors = many_tensors,
    .cpu = {many, many_input_grad, many_weight_grad},
};

static const char *target_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  (void)layer;
  sizes->saved_for_input_grad_bytes = 4 * numbers;
  return NULL;
}

static int32_t no_tensors(const rondo_layer *layer, rondo_tensor *tensors,
                          int32_t capacity) {
  (void)layer, (void)tensors, (void)capacity;
  return 0;
}

static const char *target(const rondo_layer *layer, const rondo_task *task) {
  const float *input = task->inputs[0];
  float *saved = task->saved_for_input_grad, loss = 0;
  (void)layer;
  for (int i = 0; i < numbers; ++i) {
    const float distance = input[i] - 3;
    loss += distance * distance / 2;
    saved[i] = (float)task->loss_scale * distance;
  }
  *task->loss = loss;
  return NULL;
}

static const char *target_input_grad(const rondo_layer *layer,
                                     const rondo_task *task) {
  const float *saved = task->saved_for_input_grad;
  float *input_grad = task->input_grads[0];
  (void)layer;
  for (int i = 0; i < numbers; ++i)
    input_grad[i] = saved[i];
  return NULL;
}

static const char *nothing(const rondo_layer *layer, const rondo_task *task) {
  (void)layer, (void)task;
  return NULL;
}

RONDO_BODY(target) = {
    .version = RONDO_BODY_VERSION,
    .min_inputs = 1,
    .max_inputs = 1,
    .sizes = target_sizes,
    .tensors = no_tensors,
    .cpu = {target, target_input_grad, nothing},
};
