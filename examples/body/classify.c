// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Two bodies of a model that reads streams: `project` multiplies the images by
 * a matrix, `classify` compares the classes of its input with the labels. The
 * parameter of both is the width between them. */

#include <math.h>
#include <rondo_body.h>
#include <stddef.h>

static int64_t padded(int64_t count) { return (count + 15) / 16 * 16; }

/* y = x * weights + bias, for x of `size` numbers for each sample. */

static int64_t size_of(const rondo_layer *layer) {
  int64_t size = 1;
  for (int32_t d = 0; d < layer->streams[0].num_dims; ++d)
    size *= layer->streams[0].shape[d];
  return size;
}

static const char *project_sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  if (layer->num_parameters != 1)
    return "parameters = [WIDTH] is missing";
  if (layer->num_streams != 1 || layer->streams[0].type != RONDO_STREAM_FP32)
    return "it needs one stream, which is fp32";
  const int64_t width = layer->parameters[0], size = size_of(layer);
  sizes->weight_bytes = 4 * (padded(size * width) + padded(width));
  sizes->saved_for_weight_grad_bytes = 4 * layer->batch * (size + width);
  sizes->output_bytes = 4 * layer->batch * width;
  return NULL;
}

static int32_t project_tensors(const rondo_layer *layer, rondo_tensor *tensors,
                               int32_t capacity) {
  const int64_t width = layer->parameters[0], size = size_of(layer);
  const rondo_tensor all[] = {
      {"weight", 2, {size, width}, 0, RONDO_INIT_NORMAL, 1, 0},
      {"bias", 1, {width}, padded(size * width), RONDO_INIT_ZEROS, 0, 0}};
  for (int32_t t = 0; t < 2 && t < capacity; ++t)
    tensors[t] = all[t];
  return 2;
}

static const char *project(const rondo_layer *layer, const rondo_task *task) {
  const int64_t width = layer->parameters[0], size = size_of(layer);
  const float *weights = task->weights, *bias = weights + padded(size * width);
  const float *images = task->streams[0];
  float *saved = task->saved_for_weight_grad, *output = task->output;
  for (int64_t b = 0; b < layer->batch; ++b)
    for (int64_t w = 0; w < width; ++w) {
      float sum = bias[w];
      for (int64_t i = 0; i < size; ++i)
        sum += images[b * size + i] * weights[i * width + w];
      output[b * width + w] = sum;
    }
  for (int64_t i = 0; i < layer->batch * size; ++i)
    saved[i] = images[i];
  return NULL;
}

static const char *project_input_grad(const rondo_layer *layer,
                                      const rondo_task *task) {
  const int64_t width = layer->parameters[0], size = size_of(layer);
  const float *output_grad = task->output_grad;
  float *saved = task->saved_for_weight_grad;
  for (int64_t i = 0; i < layer->batch * width; ++i)
    saved[layer->batch * size + i] = output_grad[i];
  return NULL;
}

static const char *project_weight_grad(const rondo_layer *layer,
                                       const rondo_task *task) {
  const int64_t width = layer->parameters[0], size = size_of(layer);
  const float *images = task->saved_for_weight_grad,
              *grads = images + layer->batch * size;
  float *weights = task->gradients, *bias = weights + padded(size * width);
  for (int64_t b = 0; b < layer->batch; ++b)
    for (int64_t w = 0; w < width; ++w) {
      bias[w] += grads[b * width + w];
      for (int64_t i = 0; i < size; ++i)
        weights[i * width + w] += images[b * size + i] * grads[b * width + w];
    }
  return NULL;
}

RONDO_BODY(project) = {
    .version = RONDO_BODY_VERSION,
    .sizes = project_sizes,
    .tensors = project_tensors,
    .cpu = {project, project_input_grad, project_weight_grad},
};

/* The mean cross-entropy of relu(x) * weights, over the samples whose label is
 * not `ignored`. */

static const char *classify_sizes(const rondo_layer *layer,
                                  rondo_sizes *sizes) {
  if (layer->num_parameters != 1)
    return "parameters = [WIDTH] is missing";
  if (layer->num_streams != 1 || layer->streams[0].type != RONDO_STREAM_INT32 ||
      layer->streams[0].num_dims != 0 || layer->streams[0].below < 1)
    return "it needs one stream of int32 without sizes, with below = CLASSES";
  const int64_t width = layer->parameters[0], classes = layer->streams[0].below;
  sizes->weight_bytes = 4 * padded(width * classes);
  sizes->saved_for_weight_grad_bytes = 4 * layer->batch * (width + classes);
  return NULL;
}

static int32_t classify_tensors(const rondo_layer *layer, rondo_tensor *tensors,
                                int32_t capacity) {
  const rondo_tensor weight = {"weight",
                               2,
                               {layer->parameters[0], layer->streams[0].below},
                               0,
                               RONDO_INIT_NORMAL,
                               1,
                               0};
  if (capacity > 0)
    tensors[0] = weight;
  return 1;
}

/* Saves relu(x) and the gradients of the classes. */
static const char *classify(const rondo_layer *layer, const rondo_task *task) {
  const rondo_stream *stream = layer->streams;
  const int64_t width = layer->parameters[0], classes = stream->below;
  const float *input = task->inputs[0], *weights = task->weights;
  const int32_t *labels = task->streams[0];
  float *kept = task->saved_for_weight_grad,
        *grads = kept + layer->batch * width;
  int64_t counted = 0;
  for (int64_t b = 0; b < layer->batch; ++b)
    counted += !stream->has_ignored || labels[b] != stream->ignored;
  double loss = 0;
  for (int64_t b = 0; b < layer->batch; ++b) {
    float *grad = grads + b * classes, most = 0, sum = 0;
    for (int64_t w = 0; w < width; ++w)
      kept[b * width + w] = input[b * width + w] > 0 ? input[b * width + w] : 0;
    for (int64_t c = 0; c < classes; ++c) {
      grad[c] = 0;
      for (int64_t w = 0; w < width; ++w)
        grad[c] += kept[b * width + w] * weights[w * classes + c];
      most = c == 0 || grad[c] > most ? grad[c] : most;
    }
    for (int64_t c = 0; c < classes; ++c)
      sum += grad[c] = expf(grad[c] - most);
    const int is_counted = !stream->has_ignored || labels[b] != stream->ignored;
    if (is_counted)
      loss -= log(grad[labels[b]] / sum) / (double)counted;
    for (int64_t c = 0; c < classes; ++c)
      grad[c] = is_counted ? (float)(task->loss_scale / (double)counted *
                                     (grad[c] / sum - (c == labels[b])))
                           : 0;
  }
  *task->loss = (float)loss;
  return NULL;
}

static const char *classify_input_grad(const rondo_layer *layer,
                                       const rondo_task *task) {
  const int64_t width = layer->parameters[0], classes = layer->streams[0].below;
  const float *weights = task->weights, *kept = task->saved_for_weight_grad,
              *grads = kept + layer->batch * width;
  float *input_grad = task->input_grads[0];
  for (int64_t b = 0; b < layer->batch; ++b)
    for (int64_t w = 0; w < width; ++w) {
      float sum = 0;
      for (int64_t c = 0; c < classes; ++c)
        sum += grads[b * classes + c] * weights[w * classes + c];
      input_grad[b * width + w] = kept[b * width + w] > 0 ? sum : 0;
    }
  return NULL;
}

static const char *classify_weight_grad(const rondo_layer *layer,
                                        const rondo_task *task) {
  const int64_t width = layer->parameters[0], classes = layer->streams[0].below;
  const float *kept = task->saved_for_weight_grad,
              *grads = kept + layer->batch * width;
  float *gradients = task->gradients;
  for (int64_t b = 0; b < layer->batch; ++b)
    for (int64_t w = 0; w < width; ++w)
      for (int64_t c = 0; c < classes; ++c)
        gradients[w * classes + c] +=
            kept[b * width + w] * grads[b * classes + c];
  return NULL;
}

RONDO_BODY(classify) = {
    .version = RONDO_BODY_VERSION,
    .min_inputs = 1,
    .max_inputs = 1,
    .sizes = classify_sizes,
    .tensors = classify_tensors,
    .cpu = {classify, classify_input_grad, classify_weight_grad},
};
