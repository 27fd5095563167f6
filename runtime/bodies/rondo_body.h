// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/*===- rondo_body.h - The computation of a custom layer, in C --------------===*
 *
 * A body computes the tasks of a layer that a model declares as
 * custom<body = "NAME", ...>. It is an object defined by RONDO_BODY(NAME), in C
 * or C++, and linked by `rondo compile --library FILE`.
 *
 * Tasks allocate nothing, and keep nothing between calls but what load() has
 * made. They run in the calling thread on a CPU; on CUDA they only enqueue work
 * on the task's stream. Several ranks may run tasks of one body at the same
 * time. The same task on the same content must give the same bits; otherwise
 * --verify fails.
 *
 *===-----------------------------------------------------------------------===*/

#ifndef RONDO_BODY_H
#define RONDO_BODY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. At start a program checks that its bodies have
 * the same. */
#define RONDO_BODY_VERSION 2

enum { RONDO_TARGET_CPU = 0, RONDO_TARGET_CUDA = 1 };

/* The type of activations and saved buffers: fp32 on a CPU. Weights, gradients
 * and moments that the optimizer works on are fp32 everywhere. */
enum { RONDO_DTYPE_FP32 = 0, RONDO_DTYPE_BF16 = 1 };

/* The type of a stream's numbers. */
enum { RONDO_STREAM_FP32 = 0, RONDO_STREAM_INT32 = 1, RONDO_STREAM_UINT8 = 2 };

/* A part of each sample that a layer reads from the data: data<...> in its
 * `streams`. */
typedef struct rondo_stream {
  const char *name;
  /* RONDO_STREAM_... */
  int32_t type;
  /* Sizes of one sample's part; none: it is one number. */
  int32_t num_dims;
  const int64_t *shape;
  /* Numbers that are not fp32 are from 0 to below - 1, or `ignored` if
   * has_ignored is not 0; with below = 0 any of the type. */
  int64_t below;
  int32_t has_ignored;
  int64_t ignored;
} rondo_stream;

/* A layer as its model declares it. */
typedef struct rondo_layer {
  /* Unique in the model; lives as long as the program. */
  const char *name;
  int32_t target;
  int32_t dtype;
  /* parameters = [...]. */
  int32_t num_parameters;
  const int64_t *parameters;
  /* Bytes of each input, as stated by the layer that makes it, in the order of
   * the edges; layers that are not custom round up to a multiple of 64. 0
   * inputs: the layer is the model's first. */
  int32_t num_inputs;
  const int64_t *input_bytes;
  /* Bytes of the gradient of each, which is that of the input's first bytes:
   * less than input_bytes if the layer that makes it states
   * output_without_grad_bytes. 0: the edge has no gradient. */
  const int64_t *input_grad_bytes;
  /* 0: the layer is the model's last. */
  int64_t output_bytes;
  /* Samples of a micro-batch, or those that this replica has of it; 0 if the
   * model does not state them. A layer that states its sizes for several
   * numbers of samples is described once for each that the program uses. */
  int64_t batch;
  /* Sizes of the model's gpt<...> or llama<...>, 0 if it has none: data are
   * [batch][sequence] numbers in [0, vocab), or [tokens] of them. */
  int64_t sequence;
  int64_t vocab;
  int64_t hidden;
  /* streams = [...], in their order. */
  int32_t num_streams;
  const rondo_stream *streams;
  /* The first of the batch in the micro-batch; not 0 only for replicas that
   * divide its samples. */
  int64_t first_sample;
  /* Tokens of the micro-batch: batch * sequence. In a row of documents, which
   * differs by micro-batch, the true number; batch is 1 then, and no document
   * is longer than `sequence`. 0 if the model has no gpt<...> or llama<...>. */
  int64_t tokens;
} rondo_layer;

/* The tasks that read a part of what F saves. It is kept until the last of them
 * ends. */
enum {
  RONDO_READ_BY_BOTH = 0,
  RONDO_READ_BY_INPUT_GRAD = 1,
  /* I neither reads nor writes it. */
  RONDO_READ_BY_WEIGHT_GRAD = 2
};

/* A layer has no more named parts of what F saves. */
#define RONDO_MAX_SAVED 32

/* A named part of what F saves: part<...> in the layer's `saved`. A plan may
 * let each of them leave for the host. */
typedef struct rondo_saved {
  /* Lives as long as the program. */
  const char *name;
  int64_t bytes;
  /* RONDO_READ_BY_... */
  int32_t read_by;
} rondo_saved;

/* Bytes of a layer's buffers; its declaration must state the same. Weights are
 * the same for any number of samples; the others are for layer->batch of them.
 * If the body takes documents, the others are in proportion to
 * layer->tokens. */
typedef struct rondo_sizes {
  /* fp32, without copies in other types. */
  int64_t weight_bytes;
  int64_t saved_for_input_grad_bytes;
  int64_t saved_for_weight_grad_bytes;
  int64_t kept_for_weight_grad_bytes;
  int64_t output_bytes;
  /* Of F, I and W, the most that one needs; and of B. */
  int64_t workspace_bytes;
  int64_t backward_workspace_bytes;
  /* The last bytes of the output that have no gradient, such as a mask:
   * output_grad is shorter by them. */
  int64_t output_without_grad_bytes;
  /* Bytes at the end of the weights that are not trained; the rest is a
   * multiple of 64. Gradients and moments are as large as the rest. */
  int64_t frozen_weight_bytes;
  /* Named parts of what F saves, in the order of rondo_task::saved. With them
   * saved_for_input_grad_bytes and saved_for_weight_grad_bytes stay 0. */
  int32_t num_saved;
  rondo_saved saved[RONDO_MAX_SAVED];
} rondo_sizes;

/* How a tensor's initial values are drawn; they depend only on the seed and the
 * tensor's global name. */
enum {
  RONDO_INIT_ZEROS = 0,
  RONDO_INIT_ONES = 1,
  /* Normal with standard deviation 0.02. */
  RONDO_INIT_NORMAL = 2,
  /* The same times 1 / sqrt(2 * blocks of the model), for layers that add to a
   * residual stream. */
  RONDO_INIT_RESIDUAL_NORMAL = 3,
  /* Training begins only with a file that has the tensor: --init or --resume.
   * --verify, --profile and --check-bodies draw it as RONDO_INIT_NORMAL. */
  RONDO_INIT_FILE = 4
};

/* Why a tensor is not trained. */
enum {
  /* It keeps its values. */
  RONDO_FROZEN = 1,
  /* F replaces its values, such as those of a running mean, once for each
   * micro-batch of the training, in their order. Nothing else that a task gives
   * may depend on them. Only on a CPU, in stages of one rank, and if iterations
   * do not overlap. */
  RONDO_RUNNING = 2
};

/* A tensor has no more dimensions. */
#define RONDO_MAX_DIMS 8

/* A part of the weights. Its global name is LAYER.NAME, unique in the model. No
 * other layer can have the same tensor, but for `wte.weight` of a gpt<...> with
 * tied = true: the first and the last layer each have a copy of it, a matrix
 * [vocab][hidden] with decay, whose gradients are added before each step. Its
 * global name is `wte.weight`. */
typedef struct rondo_tensor {
  /* Lives as long as the program. */
  const char *name;
  /* 1 to RONDO_MAX_DIMS, and as many sizes; later ones are not read. */
  int32_t num_dims;
  int64_t shape[RONDO_MAX_DIMS];
  /* The first element, in fp32 elements from the start of the weights: a
   * multiple of 16. Tensors do not overlap, and leave out no weights but
   * padding up to the next multiple of 16. */
  int64_t offset;
  int32_t init;
  /* Not 0: the optimizer decays it. Usually only matrices decay. */
  int32_t decay;
  /* RONDO_FROZEN or RONDO_RUNNING: it is not trained, and lies in the frozen
   * part of the weights, which has no other tensors. W does not add to its
   * gradient: there is none. */
  int32_t frozen;
} rondo_tensor;

/* The buffers of one task. All start at a multiple of 64 bytes, none overlap,
 * and they keep their content
 *
 *   weights                always; F alone writes to them, to running_weights
 *   gradients              until the optimizer step; W adds to them, nothing
 *                          else may
 *   saved_for_input_grad   from the start of F to the end of I
 *   saved_for_weight_grad  from the start of F to the end of W; I may replace
 *                          parts of it by what W needs
 *   saved                  each part from the start of F to the end of its last
 *                          reader; I may replace parts that both read by what W
 *                          needs
 *   kept_for_weight_grad   from the start of I to the end of W; in B, a part of
 *                          the workspace
 *   inputs, data, streams,
 *   output                 during F, which writes all of output
 *   output_grad            during I
 *   input_grads            during I, which writes all of each
 *   workspace              during one task
 *
 * A buffer of 0 bytes, and one that the task does not use, may be null. */
typedef struct rondo_task {
  /* fp32. */
  const void *weights;
  /* The same numbers in the layer's dtype; `weights` if that is fp32. */
  const void *weights_in_dtype;
  void *gradients;
  void *saved_for_input_grad;
  void *saved_for_weight_grad;
  void *kept_for_weight_grad;
  /* num_inputs of each. */
  const void *const *inputs;
  void *const *input_grads;
  void *output;
  const void *output_grad;
  void *workspace;
  /* [batch][sequence], as requested by data = tokens or data = targets. */
  const int32_t *data;
  /* With loss = true, F writes the micro-batch's mean loss here, one fp32.
   * Otherwise null. */
  float *loss;
  /* Gradients are those of the mean loss times this. A layer that writes the
   * loss multiplies by it; for others output_grad includes it. */
  double loss_scale;
  /* Index in the iteration. */
  int64_t microbatch;
  /* On CUDA a cudaStream_t, otherwise null. */
  void *stream;
  /* num_streams of them, each [batch] and then the stream's shape. */
  const void *const *streams;
  /* What load() has made for the layer on this rank; null without load(). */
  void *state;
  /* --seed. The same in all processes, and after a resumed checkpoint. */
  uint64_t seed;
  /* Of the training, from 0, the same in F, I, W and the F that R runs again;
   * -1 in an evaluation. On CUDA kernels read *iteration_on_device instead,
   * since the iteration that a task was enqueued in may be repeated. That is
   * null on a CPU. */
  int64_t iteration;
  const int64_t *iteration_on_device;
  /* The weights, in which F replaces the RONDO_RUNNING tensors; null in all
   * other tasks, in an evaluation and in the F that R runs again: F leaves
   * them. */
  void *running_weights;
  /* Of a row of documents, in every task: document k has the tokens from
   * document_starts[k] to document_starts[k + 1]; there are num_documents + 1
   * starts. Null: each sample is one document. */
  const int32_t *document_starts;
  int32_t num_documents;
  /* The parts that rondo_sizes::saved lists, in the same order; those that the
   * task does not read may be null. With named parts, saved_for_input_grad and
   * saved_for_weight_grad are null. */
  void *const *saved;
} rondo_task;

/* Returns null; or what went wrong, in words that follow "layer 'x': F of
 * micro-batch 3: " and end the run. They stay valid until the thread's next
 * call of the body. */
typedef const char *(*rondo_function)(const rondo_layer *layer,
                                      const rondo_task *task);

/* The tasks of a body on one target: F, I and W. Null: it does not run there.
 * On CUDA an iteration may be recorded as a graph and repeated without the
 * calls: what a task enqueues may depend only on the layer. */
typedef struct rondo_functions {
  rondo_function forward;
  rondo_function input_grad;
  rondo_function weight_grad;
  /* B, for schedules that run I and W of a micro-batch together: writes
   * input_grads and adds to gradients, with the bits of I and then W. Null: it
   * is I and then W. */
  rondo_function backward;
  /* On CUDA, if not null: called once for each layer of a rank before any task,
   * with all buffers, which are zeros, to do what may not happen while a graph
   * is recorded, such as loading a kernel. It may run tasks, and waits for
   * nothing. */
  rondo_function prepare;
} rondo_functions;

typedef struct rondo_body {
  /* RONDO_BODY_VERSION. */
  int32_t version;
  /* The number of inputs that a layer with this body may have. */
  int32_t min_inputs;
  int32_t max_inputs;
  /* Fills `sizes`, initially all 0, and returns null; or returns what is wrong
   * with the layer's declaration, in words that follow "layer 'x': ". */
  const char *(*sizes)(const rondo_layer *layer, rondo_sizes *sizes);
  /* Describes the first `capacity` tensors, initially all 0, and returns the
   * number of all: at most 16, or as many as the layer states with tensors = N.
   * `tensors` may be null if capacity is 0. */
  int32_t (*tensors)(const rondo_layer *layer, rondo_tensor *tensors,
                     int32_t capacity);
  rondo_functions cpu;
  rondo_functions cuda;
  /* Null, or makes what tasks of a layer on one rank need in addition to their
   * buffers, such as constants and handles: *state, initially null. Called once
   * for each layer of each rank, before any task, and for each size of its
   * micro-batches. `device` is the number of the GPU, 0 on a CPU; another may
   * be current, so a body for CUDA selects it first, also in unload(). Returns
   * null, or what went wrong, as a task does. */
  const char *(*load)(const rondo_layer *layer, int32_t rank, int32_t device,
                      void **state);
  /* Null, or called after the last task for what load() has made. */
  void (*unload)(const rondo_layer *layer, void *state);
  /* Not 0: the tasks take rows of documents of any layer->tokens, on a CPU, for
   * layers with documents = true. What they compute for a document depends on
   * no other. */
  int32_t takes_documents;
} rondo_body;

#ifdef __cplusplus
} /* extern "C" */
#define RONDO_EXTERN extern "C"
#else
#define RONDO_EXTERN extern
#endif

/* Defines the body NAME: RONDO_BODY(scale) = {RONDO_BODY_VERSION, ...}; */
#define RONDO_BODY(NAME)                                                       \
  RONDO_EXTERN const rondo_body rondo_body_##NAME;                             \
  const rondo_body rondo_body_##NAME

#endif /* RONDO_BODY_H */
