// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* A layer whose loss is the mean label of a micro-batch. */

#include <rondo_body.h>
#include <stddef.h>

static const char *sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  (void)layer, (void)sizes;
  return NULL;
}

static int32_t tensors(const rondo_layer *layer, rondo_tensor *tensors,
                       int32_t capacity) {
  (void)layer, (void)tensors, (void)capacity;
  return 0;
}

static const char *forward(const rondo_layer *layer, const rondo_task *task) {
  const int32_t *labels = task->streams[0];
  float sum = 0;
  for (int64_t b = 0; b < layer->batch; ++b)
    sum += (float)labels[b];
  *task->loss = sum / (float)layer->batch;
  return 0;
}

static const char *nothing(const rondo_layer *layer, const rondo_task *task) {
  (void)layer, (void)task;
  return 0;
}

RONDO_BODY(mean_label) = {
    .version = RONDO_BODY_VERSION,
    .sizes = sizes,
    .tensors = tensors,
    .cpu = {forward, nothing, nothing},
};
