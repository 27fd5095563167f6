// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* `embed` gives the row of each token, and `unembed` the loss of the softmax of
 * its inputs times all rows. Both have the matrix of rows, wte.weight; embed
 * also adds a trained row to all. */

#include <math.h>
#include <rondo_body.h>
#include <stddef.h>

enum { most = 64 };

static int64_t tokens_of(const rondo_layer *layer) {
  return layer->batch * layer->sequence;
}
static int64_t matrix_of(const rondo_layer *layer) {
  return (layer->vocab * layer->hidden + 15) / 16 * 16;
}

static const char *check(const rondo_layer *layer) {
  return layer->vocab > most ? "it takes up to 64 tokens" : NULL;
}

static const char *embed_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->weight_bytes = 4 * (matrix_of(layer) + layer->hidden);
  sizes->saved_for_weight_grad_bytes = 4 * tokens_of(layer);
  sizes->kept_for_weight_grad_bytes = sizes->output_bytes =
      4 * tokens_of(layer) * layer->hidden;
  return check(layer);
}

static int32_t embed_tensors(const rondo_layer *layer, rondo_tensor *tensors,
                             int32_t capacity) {
  const rondo_tensor all[] = {
      {"wte.weight",
       2,
       {layer->vocab, layer->hidden},
       0,
       RONDO_INIT_NORMAL,
       1,
       0},
      {"shift", 1, {layer->hidden}, matrix_of(layer), RONDO_INIT_ONES, 0, 0}};
  for (int32_t t = 0; t < 2 && t < capacity; ++t)
    tensors[t] = all[t];
  return 2;
}

static const char *embed(const rondo_layer *layer, const rondo_task *task) {
  const float *rows = task->weights, *shift = rows + matrix_of(layer);
  float *output = task->output;
  int32_t *saved = task->saved_for_weight_grad;
  for (int64_t t = 0; t < tokens_of(layer); ++t) {
    saved[t] = task->data[t];
    for (int64_t h = 0; h < layer->hidden; ++h)
      output[t * layer->hidden + h] =
          rows[task->data[t] * layer->hidden + h] + shift[h];
  }
  return NULL;
}

static const char *embed_input_grad(const rondo_layer *layer,
                                    const rondo_task *task) {
  const float *output_grad = task->output_grad;
  float *kept = task->kept_for_weight_grad;
  for (int64_t i = 0; i < tokens_of(layer) * layer->hidden; ++i)
    kept[i] = output_grad[i];
  return NULL;
}

static const char *embed_weight_grad(const rondo_layer *layer,
                                     const rondo_task *task) {
  const float *kept = task->kept_for_weight_grad;
  const int32_t *saved = task->saved_for_weight_grad;
  float *rows = task->gradients, *shift = rows + matrix_of(layer);
  for (int64_t t = 0; t < tokens_of(layer); ++t)
    for (int64_t h = 0; h < layer->hidden; ++h) {
      rows[saved[t] * layer->hidden + h] += kept[t * layer->hidden + h];
      shift[h] += kept[t * layer->hidden + h];
    }
  return NULL;
}

RONDO_BODY(embed) = {
    .version = RONDO_BODY_VERSION,
    .sizes = embed_sizes,
    .tensors = embed_tensors,
    .cpu = {embed, embed_input_grad, embed_weight_grad},
};

static const char *unembed_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  sizes->weight_bytes = 4 * layer->vocab * layer->hidden;
  sizes->saved_for_weight_grad_bytes =
      4 * tokens_of(layer) * (layer->hidden + layer->vocab);
  return check(layer);
}

static int32_t unembed_tensors(const rondo_layer *layer, rondo_tensor *tensors,
                               int32_t capacity) {
  return embed_tensors(layer, tensors, capacity < 1 ? capacity : 1) - 1;
}

/* Saves the input, and behind it the gradients of the logits. */
static const char *unembed(const rondo_layer *layer, const rondo_task *task) {
  const int64_t hidden = layer->hidden, count = tokens_of(layer);
  const float *rows = task->weights, *input = task->inputs[0];
  float *saved = task->saved_for_weight_grad;
  double loss = 0;
  for (int64_t i = 0; i < count * hidden; ++i)
    saved[i] = input[i];
  for (int64_t t = 0; t < count; ++t) {
    float *grads = saved + count * hidden + t * layer->vocab;
    double sum = 0;
    for (int64_t v = 0; v < layer->vocab; ++v) {
      float logit = 0;
      for (int64_t h = 0; h < hidden; ++h)
        logit += input[t * hidden + h] * rows[v * hidden + h];
      grads[v] = expf(logit);
      sum += grads[v];
    }
    loss += log(sum / grads[task->data[t]]);
    for (int64_t v = 0; v < layer->vocab; ++v)
      grads[v] = (float)((grads[v] / sum - (v == task->data[t])) *
                         task->loss_scale / (double)count);
  }
  *task->loss = (float)(loss / (double)count);
  return NULL;
}

static const char *unembed_input_grad(const rondo_layer *layer,
                                      const rondo_task *task) {
  const int64_t hidden = layer->hidden, count = tokens_of(layer);
  const float *rows = task->weights, *saved = task->saved_for_weight_grad;
  float *input_grad = task->input_grads[0];
  for (int64_t t = 0; t < count; ++t)
    for (int64_t h = 0; h < hidden; ++h) {
      float sum = 0;
      for (int64_t v = 0; v < layer->vocab; ++v)
        sum +=
            saved[count * hidden + t * layer->vocab + v] * rows[v * hidden + h];
      input_grad[t * hidden + h] = sum;
    }
  return NULL;
}

static const char *unembed_weight_grad(const rondo_layer *layer,
                                       const rondo_task *task) {
  const int64_t hidden = layer->hidden, count = tokens_of(layer);
  const float *saved = task->saved_for_weight_grad;
  float *rows = task->gradients;
  for (int64_t t = 0; t < count; ++t)
    for (int64_t v = 0; v < layer->vocab; ++v)
      for (int64_t h = 0; h < hidden; ++h)
        rows[v * hidden + h] += saved[count * hidden + t * layer->vocab + v] *
                                saved[t * hidden + h];
  return NULL;
}

RONDO_BODY(unembed) = {
    .version = RONDO_BODY_VERSION,
    .min_inputs = 1,
    .max_inputs = 1,
    .sizes = unembed_sizes,
    .tensors = unembed_tensors,
    .cpu = {unembed, unembed_input_grad, unembed_weight_grad},
};
