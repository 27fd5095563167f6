// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library as rondo.torch writes it, for the CPU and for emulated GPUs:
// y = (x w) * factor, with a factor that depends on the random key. Graphs are
// written here as PyTorch's ahead-of-time compiler writes them.

#include "runtime/torch/target.h"

#ifdef RONDO_TEST_CUDA
#include "test/cuda_emulation/emulation.h"
#endif

using namespace rondo::torch;

extern "C" {
int32_t aoti_torch_empty_strided(int64_t, const int64_t *, const int64_t *,
                                 int32_t, int32_t, int32_t, Tensor **);
int32_t aoti_torch_delete_tensor_object(Tensor *);
int32_t aoti_torch__reinterpret_tensor(Tensor *, int64_t, const int64_t *,
                                       const int64_t *, int64_t, Tensor **);
#ifdef RONDO_TEST_CUDA
#define RONDO_FUNCTION(name) aoti_torch_cuda_##name
#else
#define RONDO_FUNCTION(name) aoti_torch_cpu_##name
#endif
int32_t RONDO_FUNCTION(mm_out)(Tensor *, Tensor *, Tensor *);
int32_t RONDO_FUNCTION(addmm_out)(Tensor *, Tensor *, Tensor *, Tensor *,
                                  double, double);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleUnload(void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, unsigned, void *, void **, void **);
}

namespace {

constexpr int64_t tokens = 32, hidden = 32, count = tokens * hidden;
constexpr int64_t bytes = 4 * count;
constexpr int32_t fp32 = 6, int64 = 4;
#ifdef RONDO_TEST_CUDA
constexpr int32_t deviceType = 1;
constexpr int64_t scratch = productScratchBytes(tokens, hidden);
#else
constexpr int32_t deviceType = 0;
#endif

void scale(const float *from, const uint64_t *key, float *to) {
  const float factor = 1 + static_cast<float>(*key % 8) / 16;
  for (int64_t i = 0; i < count; ++i)
    to[i] = from[i] * factor;
}

#ifdef RONDO_TEST_CUDA

// The kernel of all graphs.
const char image[] = "cubin";
const bool isKnown =
    (emulation::setDriverKernel(
         image, "scale",
         [](void **parameters) {
           auto at = [&](int p) {
             return *static_cast<void **>(parameters[p]);
           };
           return [from = static_cast<const float *>(at(0)),
                   key = static_cast<const uint64_t *>(at(1)),
                   to = static_cast<float *>(at(2))] { scale(from, key, to); };
         }),
     true);

struct Model {
  int32_t device;
  void *module = nullptr, *kernel = nullptr;
};

int32_t scaleOn(Model *model, void *stream, Tensor *from, Tensor *key,
                Tensor *to) {
  if (!model->kernel &&
      (cuModuleLoadData(&model->module, image) ||
       cuModuleGetFunction(&model->kernel, model->module, "scale")))
    return 1;
  void *addresses[] = {from->data(), key->data(), to->data()};
  void *parameters[] = {&addresses[0], &addresses[1], &addresses[2]};
  return cuLaunchKernel(model->kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters,
                        nullptr);
}

#else

struct Model {
  int32_t device = 0;
};

int32_t scaleOn(Model *, void *, Tensor *from, Tensor *key, Tensor *to) {
  scale(from->floats(), reinterpret_cast<const uint64_t *>(key->data()),
        to->floats());
  return 0;
}

#endif

//===----------------------------------------------------------------------===//
// The graphs.
//===----------------------------------------------------------------------===//

Tensor *empty(const Model &model) {
  const int64_t sizes[] = {tokens, hidden}, strides[] = {hidden, 1};
  Tensor *result = nullptr;
  aoti_torch_empty_strided(2, sizes, strides, fp32, deviceType, model.device,
                           &result);
  return result;
}

Tensor *transposed(Tensor *tensor) {
  const int64_t sizes[] = {hidden, tokens}, strides[] = {1, hidden};
  Tensor *result = nullptr;
  aoti_torch__reinterpret_tensor(tensor, 2, sizes, strides, 0, &result);
  return result;
}

/// Deletes tensors at the end of a scope.
struct Owned {
  std::vector<Tensor *> tensors;
  ~Owned() {
    for (Tensor *tensor : tensors)
      aoti_torch_delete_tensor_object(tensor);
  }
};

/// x, w and the key to y.
int32_t runF(Model *model, Tensor **in, Tensor **out, void *stream) {
  Owned owned{{in[0], in[1], in[2]}};
  Tensor *product = empty(*model);
  if (!product)
    return 1;
  owned.tensors.push_back(product);
  return RONDO_FUNCTION(mm_out)(product, in[0], in[1]) ||
                 !(out[0] = empty(*model))
             ? 1
             : scaleOn(model, stream, product, in[2], out[0]);
}

/// dy, w and the key to dx and dy * factor.
int32_t runI(Model *model, Tensor **in, Tensor **out, void *stream) {
  Owned owned{{in[0], in[1], in[2], transposed(in[1])}};
  if (!(out[1] = empty(*model)) ||
      scaleOn(model, stream, in[0], in[2], out[1]) || !(out[0] = empty(*model)))
    return 1;
  return RONDO_FUNCTION(mm_out)(out[0], out[1], owned.tensors[3]);
}

/// The gradient, x and dy * factor to the gradient.
int32_t runW(Model *model, Tensor **in, Tensor **out, void *) {
  Owned owned{{in[0], in[1], in[2], transposed(in[1])}};
  if (!(out[0] = empty(*model)))
    return 1;
  return RONDO_FUNCTION(addmm_out)(out[0], in[0], owned.tensors[3], in[2], 1,
                                   1);
}

//===----------------------------------------------------------------------===//
// The tables.
//===----------------------------------------------------------------------===//

constexpr Value matrix(Space space) {
  return {{space, 0, 0}, fp32, 2, {tokens, hidden}, {hidden, 1}};
}
const Value key{{Space::RandomKey, 0, 0}, int64, 1, {1}, {1}};
const Value inputsF[] = {matrix(Space::Inputs), matrix(Space::Weights), key};
const Value inputsI[] = {matrix(Space::OutputGrad), matrix(Space::Weights),
                         key};
const Value inputsW[] = {matrix(Space::Gradients),
                         matrix(Space::SavedForWeightGrad),
                         matrix(Space::KeptForWeightGrad)};
const Value outputsF[] = {matrix(Space::Output)};
const Value outputsI[] = {matrix(Space::InputGrads),
                          matrix(Space::KeptForWeightGrad)};
const Value outputsW[] = {matrix(Space::Gradients)};
const Copy copies[] = {
    {{Space::SavedForWeightGrad, 0, 0}, {Space::Inputs, 0, 0}, bytes, false}};

#ifdef RONDO_TEST_CUDA
const Planned plannedF[] = {{{Space::Workspace, 0, 0}, bytes},
                            {{Space::Workspace, 0, bytes}, scratch},
                            {{Space::Output, 0, 0}, bytes}};
const Planned plannedI[] = {{{Space::KeptForWeightGrad, 0, 0}, bytes},
                            {{Space::InputGrads, 0, 0}, bytes},
                            {{Space::Workspace, 0, 0}, scratch}};
const Planned plannedW[] = {{{Space::Gradients, 0, 0}, bytes},
                            {{Space::Workspace, 0, 0}, scratch}};

int32_t create(void **container, size_t, const char *device, const char *) {
  *container = new Model{std::stoi(device + 5)};
  return 0;
}
template <int32_t (*graph)(Model *, Tensor **, Tensor **, void *)>
int32_t run(void *container, Tensor **in, size_t, Tensor **out, size_t,
            void *stream, void *) {
  return graph(static_cast<Model *>(container), in, out, stream);
}
int32_t removeModel(void *container) {
  auto *model = static_cast<Model *>(container);
  if (model->module)
    cuModuleUnload(model->module);
  delete model;
  return 0;
}
int32_t lastError(const char **what) {
  *what = "a function failed";
  return 0;
}
const DeviceGraph graphF{"mix_F", create, run<runF>, removeModel, lastError},
    graphI{"mix_I", create, run<runI>, removeModel, lastError},
    graphW{"mix_W", create, run<runW>, removeModel, lastError};
#define RONDO_GRAPHS(name) nullptr
#define RONDO_DEVICE_GRAPH(name) , &name, 0
#define RONDO_RUN runTaskOnDevice
#else
const Planned plannedF[] = {{{Space::Workspace, 0, 0}, bytes},
                            {{Space::Output, 0, 0}, bytes}};
const Planned plannedI[] = {{{Space::KeptForWeightGrad, 0, 0}, bytes},
                            {{Space::InputGrads, 0, 0}, bytes}};
const Planned plannedW[] = {{{Space::Gradients, 0, 0}, bytes}};

int32_t create(void **model, const void *, size_t) {
  *model = new Model;
  return 0;
}
template <int32_t (*graph)(Model *, Tensor **, Tensor **, void *)>
int32_t run(void *model, Tensor **in, Tensor **out) {
  return graph(static_cast<Model *>(model), in, out, nullptr);
}
Graph graphF{"mix_F", create, run<runF>}, graphI{"mix_I", create, run<runI>},
    graphW{"mix_W", create, run<runW>};
#define RONDO_GRAPHS(name) &name
#define RONDO_DEVICE_GRAPH(name)
#define RONDO_RUN runTask
#endif

template <typename Array> constexpr int32_t sizeOf(const Array &array) {
  return int32_t(sizeof(array) / sizeof(array[0]));
}
const Task taskF{RONDO_GRAPHS(graphF),
                 inputsF,
                 3,
                 outputsF,
                 1,
                 plannedF,
                 sizeOf(plannedF),
                 copies,
                 1,
                 nullptr RONDO_DEVICE_GRAPH(graphF)};
const Task taskI{RONDO_GRAPHS(graphI),
                 inputsI,
                 3,
                 outputsI,
                 2,
                 plannedI,
                 sizeOf(plannedI),
                 nullptr,
                 0,
                 nullptr RONDO_DEVICE_GRAPH(graphI)};
const Task taskW{RONDO_GRAPHS(graphW),
                 inputsW,
                 3,
                 outputsW,
                 1,
                 plannedW,
                 sizeOf(plannedW),
                 nullptr,
                 0,
                 nullptr RONDO_DEVICE_GRAPH(graphW)};

template <const Task &task>
const char *runTaskOf(const rondo_layer *layer, const rondo_task *buffers) {
  return RONDO_RUN(task, *layer, *buffers);
}

const char *sizes(const rondo_layer *, rondo_sizes *sizes) {
  sizes->weight_bytes = bytes;
  sizes->saved_for_weight_grad_bytes = bytes;
  sizes->kept_for_weight_grad_bytes = bytes;
  sizes->output_bytes = bytes;
  // For a product on a GPU, and for F's own tensor.
  sizes->workspace_bytes = bytes + 65728;
  return nullptr;
}

int32_t tensors(const rondo_layer *, rondo_tensor *tensors, int32_t capacity) {
  if (capacity > 0)
    tensors[0] = {"w", 2, {hidden, hidden}, 0, RONDO_INIT_NORMAL, 1, 0};
  return 1;
}

#ifdef RONDO_TEST_CUDA
const Task *const tasks[] = {&taskF, &taskI, &taskW};
const DeviceBody body{tasks, 3, RONDO_DTYPE_FP32, RONDO_TEST_CUDA, false};

const char *prepare(const rondo_layer *layer, const rondo_task *buffers) {
  return prepareOnDevice(body, *layer, *buffers);
}
const char *load(const rondo_layer *layer, int32_t rank, int32_t device,
                 void **state) {
  return loadOnDevice(body, *layer, rank, device, state);
}
void unload(const rondo_layer *, void *state) { unloadFromDevice(state); }
#endif

} // namespace

#ifdef RONDO_TEST_CUDA
static_assert(scratch == 65728, "what `sizes` states");
RONDO_BODY(mix) = {
    RONDO_BODY_VERSION,
    1,
    1,
    sizes,
    tensors,
    {},
    {runTaskOf<taskF>, runTaskOf<taskI>, runTaskOf<taskW>, nullptr, prepare},
    load,
    unload,
    0};
#else
RONDO_BODY(mix) = {
    RONDO_BODY_VERSION,
    1,
    1,
    sizes,
    tensors,
    {runTaskOf<taskF>, runTaskOf<taskI>, runTaskOf<taskW>, nullptr, nullptr},
    {},
    nullptr,
    nullptr,
    0};
#endif
