// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* A body with named parts of what F saves: y = x + (x * up)^2 * down.
 *
 *   x      W alone reads it
 *   slope  the derivative of the square, which I alone reads
 *   mid.u  x * up, which I replaces by its gradient for W
 *   square what the square gives, which W alone reads */

#include <rondo_body.h>
#include <stddef.h>

/* In elements. */
typedef struct places {
  int64_t rows, hidden, width, down, weights;
} places;

static int64_t padded(int64_t count) { return (count + 15) / 16 * 16; }

static places places_of(const rondo_layer *layer) {
  places p = {0};
  p.rows = layer->tokens;
  p.hidden = layer->hidden;
  p.width = layer->parameters[0];
  p.down = padded(p.hidden * p.width);
  p.weights = 2 * p.down;
  return p;
}

enum { X, SLOPE, U, SQUARE };

static const char *sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  places p = places_of(layer);
  const rondo_saved saved[] = {
      {"x", 4 * p.rows * p.hidden, RONDO_READ_BY_WEIGHT_GRAD},
      {"slope", 4 * p.rows * p.width, RONDO_READ_BY_INPUT_GRAD},
      {"mid.u", 4 * p.rows * p.width, RONDO_READ_BY_BOTH},
      {"square", 4 * p.rows * p.width, RONDO_READ_BY_WEIGHT_GRAD}};
  sizes->weight_bytes = 4 * p.weights;
  sizes->num_saved = 4;
  for (int32_t k = 0; k < 4; ++k)
    sizes->saved[k] = saved[k];
  sizes->kept_for_weight_grad_bytes = 4 * p.rows * p.hidden;
  sizes->output_bytes = 4 * p.rows * p.hidden;
  return NULL;
}

static int32_t tensors(const rondo_layer *layer, rondo_tensor *tensors,
                       int32_t capacity) {
  places p = places_of(layer);
  const rondo_tensor all[] = {
      {"up", 2, {p.hidden, p.width}, 0, RONDO_INIT_NORMAL, 1, 0},
      {"down", 2, {p.width, p.hidden}, p.down, RONDO_INIT_NORMAL, 1, 0}};
  for (int32_t t = 0; t < 2 && t < capacity; ++t)
    tensors[t] = all[t];
  return 2;
}

static const char *forward(const rondo_layer *layer, const rondo_task *task) {
  places p = places_of(layer);
  const float *weights = task->weights, *input = task->inputs[0];
  float *output = task->output;
  float *saved_x = task->saved[X], *slope = task->saved[SLOPE],
        *u = task->saved[U], *square = task->saved[SQUARE];
  if (task->saved_for_input_grad || task->saved_for_weight_grad)
    return "the buffers of other bodies are not null";
  for (int64_t r = 0; r < p.rows; ++r) {
    const float *x = input + r * p.hidden;
    float *y = output + r * p.hidden;
    for (int64_t h = 0; h < p.hidden; ++h)
      saved_x[r * p.hidden + h] = y[h] = x[h];
    for (int64_t w = 0; w < p.width; ++w) {
      float sum = 0;
      for (int64_t h = 0; h < p.hidden; ++h)
        sum += x[h] * weights[h * p.width + w];
      u[r * p.width + w] = sum;
      slope[r * p.width + w] = 2 * sum;
      square[r * p.width + w] = sum * sum;
      for (int64_t h = 0; h < p.hidden; ++h)
        y[h] += sum * sum * weights[p.down + w * p.hidden + h];
    }
  }
  return NULL;
}

static const char *input_grad(const rondo_layer *layer,
                              const rondo_task *task) {
  places p = places_of(layer);
  const float *weights = task->weights, *output_grad = task->output_grad;
  const float *slope = task->saved[SLOPE];
  float *kept = task->kept_for_weight_grad, *input_grad = task->input_grads[0];
  float *u = task->saved[U];
  for (int64_t r = 0; r < p.rows; ++r) {
    const float *y_grad = output_grad + r * p.hidden;
    for (int64_t h = 0; h < p.hidden; ++h)
      kept[r * p.hidden + h] = input_grad[r * p.hidden + h] = y_grad[h];
    for (int64_t w = 0; w < p.width; ++w) {
      float sum = 0;
      for (int64_t h = 0; h < p.hidden; ++h)
        sum += y_grad[h] * weights[p.down + w * p.hidden + h];
      /* The same as u times 2, which F has in `slope` for I. */
      const float grad = sum * slope[r * p.width + w];
      if (2 * u[r * p.width + w] != slope[r * p.width + w])
        return "mid.u and slope are of two micro-batches";
      u[r * p.width + w] = grad;
      for (int64_t h = 0; h < p.hidden; ++h)
        input_grad[r * p.hidden + h] += grad * weights[h * p.width + w];
    }
  }
  return NULL;
}

static const char *weight_grad(const rondo_layer *layer,
                               const rondo_task *task) {
  places p = places_of(layer);
  const float *x = task->saved[X], *u_grad = task->saved[U],
              *square = task->saved[SQUARE],
              *y_grad = task->kept_for_weight_grad;
  float *gradients = task->gradients;
  if (task->saved[SLOPE])
    return "slope ends with I, but W has its place";
  for (int64_t r = 0; r < p.rows; ++r)
    for (int64_t h = 0; h < p.hidden; ++h)
      for (int64_t w = 0; w < p.width; ++w) {
        gradients[h * p.width + w] +=
            x[r * p.hidden + h] * u_grad[r * p.width + w];
        gradients[p.down + w * p.hidden + h] +=
            square[r * p.width + w] * y_grad[r * p.hidden + h];
      }
  return NULL;
}

RONDO_BODY(parts) = {
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
