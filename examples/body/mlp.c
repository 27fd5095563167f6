// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* A body for custom layers: y = x + relu(x * up + bias) * down.
 *
 * x and y have a row of `hidden` numbers per token; the layer's only parameter
 * is the width of the middle. */

#include <rondo_body.h>
#include <stddef.h>

/* In elements; each offset is a multiple of 16. */
typedef struct places {
  int64_t rows, hidden, width;
  /* In the weights. */
  int64_t up, bias, down, weights;
  /* In the buffer that is saved for W, which F writes. */
  int64_t x, middle, saved;
  /* In the one that is kept for W, which I writes. */
  int64_t y_grad, middle_grad, kept;
} places;

static int64_t place(int64_t *end, int64_t count) {
  int64_t begin = *end;
  *end += (count + 15) / 16 * 16;
  return begin;
}

static places places_of(const rondo_layer *layer) {
  places p = {0};
  p.rows = layer->tokens;
  p.hidden = layer->hidden;
  p.width = layer->parameters[0];
  p.up = place(&p.weights, p.hidden * p.width);
  p.bias = place(&p.weights, p.width);
  p.down = place(&p.weights, p.width * p.hidden);
  p.x = place(&p.saved, p.rows * p.hidden);
  p.middle = place(&p.saved, p.rows * p.width);
  p.y_grad = place(&p.kept, p.rows * p.hidden);
  p.middle_grad = place(&p.kept, p.rows * p.width);
  return p;
}

static const char *sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  if (layer->num_parameters != 1 || layer->parameters[0] < 1)
    return "parameters = [WIDTH] is missing";
  places p = places_of(layer);
  sizes->weight_bytes = 4 * p.weights;
  sizes->saved_for_weight_grad_bytes = 4 * p.saved;
  sizes->kept_for_weight_grad_bytes = 4 * p.kept;
  sizes->output_bytes = 4 * p.rows * p.hidden;
  return NULL;
}

static int32_t tensors(const rondo_layer *layer, rondo_tensor *tensors,
                       int32_t capacity) {
  places p = places_of(layer);
  const rondo_tensor all[] = {
      {"up", 2, {p.hidden, p.width}, p.up, RONDO_INIT_NORMAL, 1, 0},
      {"bias", 1, {p.width, 1}, p.bias, RONDO_INIT_ZEROS, 0, 0},
      {"down",
       2,
       {p.width, p.hidden},
       p.down,
       RONDO_INIT_RESIDUAL_NORMAL,
       1,
       0}};
  for (int32_t t = 0; t < 3 && t < capacity; ++t)
    tensors[t] = all[t];
  return 3;
}

static const char *forward(const rondo_layer *layer, const rondo_task *task) {
  places p = places_of(layer);
  const float *weights = task->weights, *input = task->inputs[0];
  float *saved = task->saved_for_weight_grad, *output = task->output;
  for (int64_t r = 0; r < p.rows; ++r) {
    const float *x = input + r * p.hidden;
    float *y = output + r * p.hidden;
    float *middle = saved + p.middle + r * p.width;
    for (int64_t w = 0; w < p.width; ++w)
      middle[w] = weights[p.bias + w];
    for (int64_t h = 0; h < p.hidden; ++h) {
      saved[p.x + r * p.hidden + h] = y[h] = x[h];
      for (int64_t w = 0; w < p.width; ++w)
        middle[w] += x[h] * weights[p.up + h * p.width + w];
    }
    for (int64_t w = 0; w < p.width; ++w) {
      middle[w] = middle[w] > 0 ? middle[w] : 0;
      for (int64_t h = 0; h < p.hidden; ++h)
        y[h] += middle[w] * weights[p.down + w * p.hidden + h];
    }
  }
  return NULL;
}

static const char *input_grad(const rondo_layer *layer,
                              const rondo_task *task) {
  places p = places_of(layer);
  const float *weights = task->weights, *output_grad = task->output_grad;
  const float *saved = task->saved_for_weight_grad;
  float *kept = task->kept_for_weight_grad, *input_grad = task->input_grads[0];
  for (int64_t r = 0; r < p.rows; ++r) {
    const float *y_grad = output_grad + r * p.hidden;
    const float *middle = saved + p.middle + r * p.width;
    float *middle_grad = kept + p.middle_grad + r * p.width;
    for (int64_t w = 0; w < p.width; ++w) {
      float sum = 0;
      for (int64_t h = 0; h < p.hidden; ++h)
        sum += y_grad[h] * weights[p.down + w * p.hidden + h];
      middle_grad[w] = middle[w] > 0 ? sum : 0;
    }
    for (int64_t h = 0; h < p.hidden; ++h) {
      float sum = kept[p.y_grad + r * p.hidden + h] = y_grad[h];
      for (int64_t w = 0; w < p.width; ++w)
        sum += middle_grad[w] * weights[p.up + h * p.width + w];
      input_grad[r * p.hidden + h] = sum;
    }
  }
  return NULL;
}

static const char *weight_grad(const rondo_layer *layer,
                               const rondo_task *task) {
  places p = places_of(layer);
  const float *saved = task->saved_for_weight_grad,
              *kept = task->kept_for_weight_grad;
  float *gradients = task->gradients;
  for (int64_t r = 0; r < p.rows; ++r) {
    const float *x = saved + p.x + r * p.hidden;
    const float *middle = saved + p.middle + r * p.width;
    const float *y_grad = kept + p.y_grad + r * p.hidden;
    const float *middle_grad = kept + p.middle_grad + r * p.width;
    for (int64_t w = 0; w < p.width; ++w)
      gradients[p.bias + w] += middle_grad[w];
    for (int64_t h = 0; h < p.hidden; ++h)
      for (int64_t w = 0; w < p.width; ++w)
        gradients[p.up + h * p.width + w] += x[h] * middle_grad[w];
    for (int64_t w = 0; w < p.width; ++w)
      for (int64_t h = 0; h < p.hidden; ++h)
        gradients[p.down + w * p.hidden + h] += middle[w] * y_grad[h];
  }
  return NULL;
}

RONDO_BODY(mlp) = {
    .version = RONDO_BODY_VERSION,
    .min_inputs = 1,
    .max_inputs = 1,
    .sizes = sizes,
    .tensors = tensors,
    .cpu = {.forward = forward,
            .input_grad = input_grad,
            .weight_grad = weight_grad},
    .takes_documents = 1,
};
