//===- llama_block.cpp - Block of a Llama on CUDA -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   middle = input + o(attention(q(norm1(input)), k(...), v(...)))
//   output = middle + down(silu(gate(norm2(middle))) * up(norm2(middle)))
//
// Products add the residual and the biases. In backward, the norms add the
// residual's gradient.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/attention.h"
#include "runtime/bodies/cuda/kernels.h"
#include "runtime/bodies/cuda/layers.h"
#include "runtime/model/llama_sizes.h"

namespace rondo::runtime::cuda {

namespace {

// Projections have matrices [out][in], as a Llama's layers do. Some read the
// same input and write next to each other: q, k and v, or gate and up. If their
// weights and outputs are so too, which usual widths give, they are one product
// each in F, I and W.

struct Projection {
  /// Offsets in the layer's weights; a bias of -1: none.
  int64_t weight, bias;
  /// Its part of a row of outputs.
  int64_t first, out;
};

template <typename T> class Projections {
public:
  static constexpr int most = 3;

  /// From `in` inputs to rows of outputs that are `stride` elements apart.
  Projections(const Linear<T> &linear, int64_t in, int64_t stride,
              std::initializer_list<Projection> list);

  /// y = x w^T + bias + residual; the residual, which may be null, is laid out
  /// as y.
  void forward(const WeightsView<T> &weights, const T *x, const T *residual,
               T *y) const;
  /// dx = dy w.
  void inputGrad(const WeightsView<T> &weights, const T *dy, T *dx) const;
  /// dw += dy^T x. Biases are the caller's.
  void weightGrad(const T *x, const T *dy, float *gradients) const;

private:
  Product productOf(int64_t rows, int64_t columns, int64_t inner) const;
  void multiply(const Product &product) const {
    linear.stream.gemms->multiply(linear.stream, product, linear.workspace);
  }

  const Linear<T> &linear;
  int64_t in, stride;
  int count = 0;
  Projection list[most];
};

template <typename T>
Projections<T>::Projections(const Linear<T> &linear, int64_t in, int64_t stride,
                            std::initializer_list<Projection> list)
    : linear(linear), in(in), stride(stride) {
  // One that continues the one before becomes a part of it.
  for (const Projection &next : list) {
    Projection *last = count > 0 ? &this->list[count - 1] : nullptr;
    if (last && next.weight == last->weight + last->out * in &&
        next.first == last->first + last->out &&
        (next.bias < 0 ? last->bias < 0 : next.bias == last->bias + last->out))
      last->out += next.out;
    else
      this->list[count++] = next;
  }
}

template <typename T>
Product Projections<T>::productOf(int64_t rows, int64_t columns,
                                  int64_t inner) const {
  Product product{};
  product.rows = rows;
  product.columns = columns;
  product.inner = inner;
  product.type = product.resultType = dtypeOf<T>();
  return product;
}

template <typename T>
void Projections<T>::forward(const WeightsView<T> &weights, const T *x,
                             const T *residual, T *y) const {
  for (int i = 0; i < count; ++i) {
    const Projection &p = list[i];
    Product product = productOf(linear.rows, p.out, in);
    product.a = {x, in};
    product.b = {weights[p.weight], in, true};
    product.c = residual ? residual + p.first : nullptr;
    product.d = y + p.first;
    product.stride = stride;
    if (p.bias >= 0) {
      product.epilogue = Epilogue::Bias;
      product.bias = weights[p.bias];
    }
    multiply(product);
  }
}

template <typename T>
void Projections<T>::inputGrad(const WeightsView<T> &weights, const T *dy,
                               T *dx) const {
  for (int i = 0; i < count; ++i) {
    const Projection &p = list[i];
    Product product = productOf(linear.rows, in, p.out);
    product.a = {dy + p.first, stride};
    product.b = {weights[p.weight], in};
    product.c = i > 0 ? dx : nullptr;
    product.d = dx;
    product.stride = in;
    multiply(product);
  }
}

template <typename T>
void Projections<T>::weightGrad(const T *x, const T *dy,
                                float *gradients) const {
  for (int i = 0; i < count; ++i) {
    const Projection &p = list[i];
    Product product = productOf(p.out, in, linear.rows);
    product.a = {dy + p.first, stride, true};
    product.b = {x, in};
    product.resultType = DType::Fp32;
    product.c = product.d = gradients + p.weight;
    product.stride = in;
    multiply(product);
  }
}

/// The compiler refuses wider rows than 32 bits count.
AttentionShape shapeOf(const LayerDesc &layer, const LayerArgs &args) {
  const QkvColumns columns(layer);
  auto narrow = [](int64_t count) { return static_cast<int>(count); };
  return {Documents(layer, args),   layer.heads,
          narrow(headWidth(layer)), narrow(kvHeads(layer)),
          narrow(columns.keys),     narrow(columns.values),
          narrow(columns.stride)};
}

/// The regions of a block's buffers. Buffers that a task does not get are
/// unused.
template <typename T> struct Block {
  Block(const LayerDesc &layer, const LayerArgs &args)
      : layer(layer), rows(numTokens(layer)), hidden(layer.hidden),
        ffn(layer.ffn), width(headWidth(layer)), queries(attentionWidth(layer)),
        keys(kvHeads(layer) * width), columns(layer), gateColumns(layer),
        shape(shapeOf(layer, args)),
        epsilon(static_cast<float>(layer.llama.normEpsilon)), at(layer),
        i(layer), s(layer), scratch(layer), weights(args, at.all.size()),
        args(args), stream(streamOf(args)),
        linear{stream,
               workspaceIn(region<char>(args.workspace, scratch.gemm),
                           scratch.gemmBytes),
               rows},
        qkv(linear, hidden, columns.stride,
            {{at.q, bias(at.qBias), 0, queries},
             {at.k, bias(at.kBias), columns.keys, keys},
             {at.v, bias(at.vBias), columns.values, keys}}),
        o(linear, queries, hidden, {{at.o, -1, 0, hidden}}),
        gateAndUp(linear, hidden, gateColumns.stride,
                  {{at.gate, -1, 0, ffn}, {at.up, -1, gateColumns.up, ffn}}),
        down(linear, ffn, hidden, {{at.down, -1, 0, hidden}}) {}
  /// Its projections refer to its members.
  Block(const Block &) = delete;

  int64_t bias(int64_t offset) const {
    return layer.llama.qkvBias ? offset : -1;
  }
  float *grad(int64_t offset) const {
    return static_cast<float *>(args.gradients) + offset;
  }
  float *forI(int64_t offset) const {
    return region<float>(savedForInputGrad(args, offset));
  }
  T *forW(int64_t offset) const {
    return region<T>(savedForWeightGrad(args, offset));
  }
  /// Gradients of the gains of a norm; those of heads are third and fourth.
  float *gainGrads(int64_t norm) const {
    return region<float>(savedForWeightGrad(args, s.gainGrads)) + norm * hidden;
  }
  T *activations() const {
    return region<T>(args.workspace, scratch.activations);
  }
  float *partials() const {
    return region<float>(args.workspace, scratch.partials);
  }
  HeadNorms<T> headNorms() const {
    if (!layer.llama.headNorm)
      return {};
    return {weights.fp32(at.qNormGain), weights.fp32(at.kNormGain),
            region<T>(savedForInputGrad(args, i.headNormal)),
            forI(i.headScale)};
  }
  Gates<T> gates() const {
    return {rows, ffn, gateColumns.up, gateColumns.stride, forW(s.gate)};
  }

  const LayerDesc &layer;
  int64_t rows, hidden, ffn, width;
  /// Numbers of all heads of q, and of k or v.
  int64_t queries, keys;
  QkvColumns columns;
  GateColumns gateColumns;
  AttentionShape shape;
  float epsilon;
  runtime::LlamaBlockWeights at;
  LlamaBlockSavedForI i;
  LlamaBlockSavedForW s;
  LlamaBlockWorkspace scratch;
  WeightsView<T> weights;
  const LayerArgs &args;
  const Stream &stream;
  Linear<T> linear;
  Projections<T> qkv, o, gateAndUp, down;
};

template <typename T>
void forward(const LayerDesc *layer, const LayerArgs *args) {
  const Block<T> b(*layer, *args);
  const auto *input = static_cast<const T *>(args->inputs[0]);
  // Holds `middle` until the MLP is added.
  auto *output = static_cast<T *>(args->output);
  T *normed = b.activations();

  rmsForward(b.stream, b.rows, b.hidden, b.epsilon, input,
             b.weights.fp32(b.at.norm1Gain), b.forW(b.s.normal1),
             b.forI(b.i.norm1Scale), normed);
  b.qkv.forward(b.weights, normed, nullptr, b.forW(b.s.qkv));
  headsForward(b.stream, *layer, b.shape.documents, b.headNorms(),
               b.forW(b.s.qkv));
  attentionForward<T>(b.stream, b.shape, b.forW(b.s.qkv), b.forW(b.s.attention),
                      b.forI(b.i.logSumExp));
  b.o.forward(b.weights, b.forW(b.s.attention), input, output);

  rmsForward<T>(b.stream, b.rows, b.hidden, b.epsilon, output,
                b.weights.fp32(b.at.norm2Gain), b.forW(b.s.normal2),
                b.forI(b.i.norm2Scale), normed);
  b.gateAndUp.forward(b.weights, normed, nullptr, b.forW(b.s.gate));
  swigluForward(b.stream, b.gates(), b.forW(b.s.product));
  b.down.forward(b.weights, b.forW(b.s.product), output, output);
}

template <typename T>
void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  const Block<T> b(*layer, *args);
  const auto *outputGrad = static_cast<const T *>(args->outputGrad);
  T *scratch = b.activations();

  b.down.inputGrad(b.weights, outputGrad, scratch);
  swigluInputGrad(b.stream, b.gates(), scratch);
  b.gateAndUp.inputGrad(b.weights, b.forW(b.s.gate), scratch);
  rmsInputGrad<T>(b.stream, b.rows, b.hidden, scratch, b.forW(b.s.normal2),
                  b.forI(b.i.norm2Scale), b.weights.fp32(b.at.norm2Gain),
                  outputGrad, b.forW(b.s.outputGrad), b.forW(b.s.middleGrad),
                  b.gainGrads(1), b.partials());

  b.o.inputGrad(b.weights, b.forW(b.s.middleGrad), scratch);
  attentionInputGrad<T>(b.stream, b.shape, b.forW(b.s.qkv),
                        b.forW(b.s.attention), scratch, b.forI(b.i.logSumExp),
                        region<T>(args->workspace, b.scratch.queryGrad),
                        region<float>(args->workspace, b.scratch.rowDots));
  headsInputGrad(b.stream, *layer, b.shape.documents, b.headNorms(),
                 b.forW(b.s.qkv), b.gainGrads(2), b.partials());
  b.qkv.inputGrad(b.weights, b.forW(b.s.qkv), scratch);
  rmsInputGrad<T>(b.stream, b.rows, b.hidden, scratch, b.forW(b.s.normal1),
                  b.forI(b.i.norm1Scale), b.weights.fp32(b.at.norm1Gain),
                  b.forW(b.s.middleGrad), nullptr,
                  static_cast<T *>(args->inputGrads[0]), b.gainGrads(0),
                  b.partials());
}

template <typename T>
void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  const Block<T> b(*layer, *args);
  b.down.weightGrad(b.forW(b.s.product), b.forW(b.s.outputGrad), b.grad(0));
  b.gateAndUp.weightGrad(b.forW(b.s.normal2), b.forW(b.s.gate), b.grad(0));
  b.o.weightGrad(b.forW(b.s.attention), b.forW(b.s.middleGrad), b.grad(0));
  b.qkv.weightGrad(b.forW(b.s.normal1), b.forW(b.s.qkv), b.grad(0));
  if (layer->llama.qkvBias) {
    const int64_t chunks = columnSumChunks(b.rows);
    const int64_t stride = b.columns.stride;
    const T *grads = b.forW(b.s.qkv);
    float *qSums = b.partials(), *kSums = qSums + chunks * b.queries,
          *vSums = kSums + chunks * b.keys;
    columnSums<T>(b.stream, b.rows,
                  {{b.queries, stride, grads, qSums},
                   {b.keys, stride, grads + b.columns.keys, kSums},
                   {b.keys, stride, grads + b.columns.values, vSums}});
    addPartials(b.stream, {{chunks, b.queries, qSums, b.grad(b.at.qBias)},
                           {chunks, b.keys, kSums, b.grad(b.at.kBias)},
                           {chunks, b.keys, vSums, b.grad(b.at.vBias)}});
  }
  if (layer->llama.headNorm)
    addVectors(b.stream, b.width, b.gainGrads(2),
               {b.grad(b.at.qNormGain), b.grad(b.at.kNormGain)});
  addVectors(b.stream, b.hidden, b.gainGrads(0),
             {b.grad(b.at.norm1Gain), b.grad(b.at.norm2Gain)});
}

} // namespace

template <typename T> LayerBody llamaBlockBody() {
  return {forward<T>, inputGrad<T>, weightGrad<T>,
          cpuBody(LayerKind::LlamaBlock).tensors};
}
template LayerBody llamaBlockBody<float>();
template LayerBody llamaBlockBody<Bf16>();

} // namespace rondo::runtime::cuda
