// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Bodies whose edges carry masks, which have no gradient:
 *
 *   numbers  makes [values | mask]; there is no gradient of the mask
 *   mask     makes a mask alone, without a gradient
 *   apply    multiplies the values of its first input by weights, its mask and
 *            the masks of all other inputs; with parameters = [COUNT, 1] it
 *            hands the mask on */

#include <rondo_body.h>

#include <stddef.h>

static int64_t count_of(const rondo_layer *layer) {
  return layer->parameters[0];
}
static int hands_on(const rondo_layer *layer) {
  return layer->num_parameters == 2 && layer->parameters[1] == 1;
}
static float mask_of(const rondo_task *task, int64_t i) {
  return (task->microbatch + i) % 5 == 0 ? 0 : 1 + 0.25f * (float)(i % 3);
}

static int32_t weights(const rondo_layer *layer, rondo_tensor *tensors,
                       int32_t capacity) {
  if (capacity > 0) {
    rondo_tensor weight = {"weight", 1, {0, 1}, 0, RONDO_INIT_ONES, 0, 0};
    weight.shape[0] = count_of(layer);
    tensors[0] = weight;
  }
  return 1;
}
static int32_t no_weights(const rondo_layer *layer, rondo_tensor *tensors,
                          int32_t capacity) {
  (void)layer;
  (void)tensors;
  (void)capacity;
  return 0;
}

/* W of all: what is saved times what is kept, or the latter alone. */
static const char *add_kept(const rondo_layer *layer, const rondo_task *task) {
  const float *saved = task->saved_for_weight_grad,
              *kept = task->kept_for_weight_grad;
  float *gradients = task->gradients;
  for (int64_t i = 0; i < count_of(layer); ++i)
    gradients[i] += kept[i] * (saved ? saved[i] : 1);
  return NULL;
}

static const char *numbers_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->weight_bytes = 4 * count_of(layer);
  sizes->kept_for_weight_grad_bytes = 4 * count_of(layer);
  sizes->output_bytes = 8 * count_of(layer);
  sizes->output_without_grad_bytes = 4 * count_of(layer);
  return NULL;
}

static const char *numbers_forward(const rondo_layer *layer,
                                   const rondo_task *task) {
  const float *weights = task->weights;
  float *output = task->output;
  for (int64_t i = 0; i < count_of(layer); ++i) {
    output[i] =
        weights[i] + 0.01f * (float)((7 * task->microbatch + 3 * i) % 11);
    output[count_of(layer) + i] = mask_of(task, i);
  }
  return NULL;
}

static const char *numbers_input_grad(const rondo_layer *layer,
                                      const rondo_task *task) {
  const float *grads = task->output_grad;
  float *kept = task->kept_for_weight_grad;
  for (int64_t i = 0; i < count_of(layer); ++i)
    kept[i] = grads[i];
  return NULL;
}

static const char *mask_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->output_bytes = 4 * count_of(layer);
  sizes->output_without_grad_bytes = sizes->output_bytes;
  return NULL;
}

static const char *mask_forward(const rondo_layer *layer,
                                const rondo_task *task) {
  float *output = task->output;
  for (int64_t i = 0; i < count_of(layer); ++i)
    output[i] = mask_of(task, i + 2);
  return NULL;
}

static const char *nothing(const rondo_layer *layer, const rondo_task *task) {
  (void)layer;
  return task->output_grad ? "it gets a gradient" : NULL;
}

static const char *apply_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  const int64_t bytes = 4 * count_of(layer);
  if (layer->input_bytes[0] != 2 * bytes || layer->input_grad_bytes[0] != bytes)
    return "its first input is not values with a gradient, and a mask";
  for (int32_t k = 1; k < layer->num_inputs; ++k)
    if (layer->input_bytes[k] != bytes || layer->input_grad_bytes[k] != 0)
      return "its other inputs are not masks";
  sizes->weight_bytes = bytes;
  sizes->saved_for_input_grad_bytes = bytes;
  sizes->saved_for_weight_grad_bytes = bytes;
  sizes->kept_for_weight_grad_bytes = bytes;
  sizes->output_bytes = hands_on(layer) ? 2 * bytes : bytes;
  sizes->output_without_grad_bytes = hands_on(layer) ? bytes : 0;
  return NULL;
}

static const char *apply_forward(const rondo_layer *layer,
                                 const rondo_task *task) {
  const int64_t count = count_of(layer);
  const float *values = task->inputs[0], *weights = task->weights;
  float *masks = task->saved_for_input_grad, *output = task->output,
        *saved = task->saved_for_weight_grad;
  for (int64_t i = 0; i < count; ++i) {
    masks[i] = values[count + i];
    for (int32_t k = 1; k < layer->num_inputs; ++k)
      masks[i] *= ((const float *)task->inputs[k])[i];
    saved[i] = values[i] * masks[i];
    output[i] = saved[i] * weights[i];
    if (hands_on(layer))
      output[count + i] = values[count + i];
  }
  return NULL;
}

static const char *apply_input_grad(const rondo_layer *layer,
                                    const rondo_task *task) {
  const float *grads = task->output_grad, *weights = task->weights,
              *masks = task->saved_for_input_grad;
  float *kept = task->kept_for_weight_grad, *input_grads = task->input_grads[0];
  for (int64_t i = 0; i < count_of(layer); ++i) {
    kept[i] = grads[i];
    input_grads[i] = grads[i] * weights[i] * masks[i];
  }
  return NULL;
}

RONDO_BODY(numbers) = {.version = RONDO_BODY_VERSION,
                       .sizes = numbers_sizes,
                       .tensors = weights,
                       .cpu = {.forward = numbers_forward,
                               .input_grad = numbers_input_grad,
                               .weight_grad = add_kept}};
RONDO_BODY(mask) = {.version = RONDO_BODY_VERSION,
                    .sizes = mask_sizes,
                    .tensors = no_weights,
                    .cpu = {.forward = mask_forward,
                            .input_grad = nothing,
                            .weight_grad = nothing}};
RONDO_BODY(apply) = {.version = RONDO_BODY_VERSION,
                     .min_inputs = 1,
                     .max_inputs = 8,
                     .sizes = apply_sizes,
                     .tensors = weights,
                     .cpu = {.forward = apply_forward,
                             .input_grad = apply_input_grad,
                             .weight_grad = add_kept}};
