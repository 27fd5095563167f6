//===- kernels.cpp - Time of each kernel and product of a GPT -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   gpt-kernels [--layers N] [--hidden N] [--heads N] [--sequence N]
//               [--batch N] [--vocab N] [--repeats N]
//
// Times of the work of one micro-batch and one optimizer step, in bf16, one
// operation at a time. A floor is the larger of two times: the bytes that must
// be read and written at the rate of a large copy, and the operations at the
// rate of a large product, both measured first. Before each repeat a buffer
// larger than the caches is written, so that operands come from memory; in an
// iteration some are still in a cache. The last column is the time in an
// iteration of one micro-batch.
//
//===----------------------------------------------------------------------===//

#include "kernel_table.h"

#include "runtime/bodies/cuda/attention.h"
#include "runtime/bodies/cuda/kernels.h"
#include "runtime/optimizer/cuda.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

namespace {

struct Options {
  int64_t layers = 12, hidden = 768, heads = 12, sequence = 1024, batch = 8,
          vocab = 50257, repeats = 20;
};

/// The tensors of one micro-batch, and rows of the table for its tasks.
struct Model {
  Model(const Options &o, Clock &clock, Table &table)
      : o(o), clock(clock), table(table), rows(o.batch * o.sequence),
        hidden(o.hidden), ffn(4 * o.hidden), padded((o.vocab + 7) / 8 * 8),
        stride((o.vocab + 63) / 64 * 64),
        shape(static_cast<int>(o.batch), static_cast<int>(o.sequence),
              static_cast<int>(o.heads), static_cast<int>(o.hidden / o.heads)),
        workspace(workspaceIn(allocate<char>(gemmRegionBytes(workspaceBytes)),
                              workspaceBytes)),
        linear{clock.stream, workspace, rows} {}

  /// A product of the block: x [rows, in] to y [rows, out].
  void forward(const char *name, int64_t in, int64_t out, const Bf16 *residual,
               int64_t count = -1) {
    table.row(name, 2.0 * (rows * (in + (residual ? 2 : 1) * out) + in * out),
              2.0 * rows * in * out, count < 0 ? o.layers : count,
              [&] { linear.forward(in, out, x, weights, bias, residual, y); });
  }
  void inputGrad(const char *name, int64_t in, int64_t out,
                 int64_t count = -1) {
    table.row(name, 2.0 * (rows * (in + out) + in * out), 2.0 * rows * in * out,
              count < 0 ? o.layers : count,
              [&] { linear.inputGrad(in, out, x, weights, y); });
  }
  void weightGrad(const char *name, int64_t in, int64_t out) {
    table.row(name, 2.0 * rows * (in + out) + 8.0 * in * out,
              2.0 * rows * in * out, o.layers,
              [&] { linear.weightGrad(in, out, x, y, grads); });
  }
  /// The product with GELU, or its gradient, or false; the latter `atOnce` rows
  /// at a time, each over rows of the input before it.
  bool gelu(Epilogue epilogue, int64_t atOnce) {
    bool isDone = true;
    for (int64_t first = 0; isDone && first < rows; first += atOnce)
      isDone = geluRows(epilogue, first, std::min(atOnce, rows - first));
    return isDone;
  }
  bool geluRows(Epilogue epilogue, int64_t first, int64_t count) {
    Product product{};
    product.rows = count;
    product.columns = ffn;
    product.inner = hidden;
    product.type = product.resultType = DType::Bf16;
    product.a = {x + first * hidden, hidden};
    const bool isForward = epilogue == Epilogue::BiasGelu;
    product.b = {weights, isForward ? ffn : hidden, !isForward};
    product.d = y + first * ffn;
    product.stride = ffn;
    product.epilogue = epilogue;
    product.bias = isForward ? bias : nullptr;
    product.aux = wide + first * ffn;
    return clock.gemms.tryGelu(clock.stream, product, workspace);
  }

  /// With own kernels and with cuDNN, whose rows count if it is installed.
  void attentionForwards(double bytes, double flops) {
    const Stream &own = clock.stream;
    auto run = [&](const Stream &stream) {
      attentionForward<Bf16>(stream, shape, wide, y, logSumExp);
    };
    table.row("attention forward, own", bytes, flops, cudnn ? 0 : o.layers,
              [&] { run(own); });
    if (cudnn)
      table.row("attention forward, cuDNN", bytes, flops, o.layers,
                [&] { run(withCudnn()); });
    table.row(
        "attention forward, documents", bytes, flops / documentsEach, 0,
        [&] { attentionForward<Bf16>(own, inDocuments, wide, y, logSumExp); });
  }
  void attentionInputGrads(double bytes, double flops) {
    const Stream &own = clock.stream;
    auto run = [&](const Stream &stream) {
      attentionInputGrad<Bf16>(stream, shape, wide, x, residual, logSumExp, y,
                               scale);
    };
    table.row("attention I, own", bytes, flops, cudnn ? 0 : o.layers,
              [&] { run(own); });
    if (cudnn)
      table.row("attention I, cuDNN", bytes, flops, o.layers,
                [&] { run(withCudnn()); });
    table.row("attention I, documents", bytes, flops / documentsEach, 0, [&] {
      attentionInputGrad<Bf16>(own, inDocuments, wide, x, residual, logSumExp,
                               y, scale);
    });
  }
  Stream withCudnn() const {
    Stream stream = clock.stream;
    stream.attention = cudnn.get();
    return stream;
  }

  void block() {
    const Stream &stream = clock.stream;
    const double row = 2.0 * rows * hidden, wideRow = 2.0 * rows * ffn;
    table.row("norm forward", 3 * row, 0, 2 * o.layers, [&] {
      normForward(stream, rows, hidden, x, gain, gain, normal, scale, y);
    });
    forward("qkv", hidden, 3 * hidden, nullptr);
    const double square = double(o.batch) * o.sequence * o.sequence * hidden;
    attentionForwards(4 * row, 2 * square);
    forward("proj, residual", hidden, hidden, normal);
    const int64_t part = geluGradRows(rows, hidden, ffn);
    const bool fuses =
        gelu(Epilogue::BiasGelu, rows) && gelu(Epilogue::GeluGrad, part);
    if (fuses)
      table.row("fc with gelu", row + 2 * wideRow + 2.0 * hidden * ffn,
                2.0 * rows * hidden * ffn, o.layers,
                [&] { gelu(Epilogue::BiasGelu, rows); });
    forward("fc", hidden, ffn, nullptr, fuses ? 0 : o.layers);
    table.row("gelu", 2 * wideRow, 0, fuses ? 0 : o.layers,
              [&] { geluForward(stream, rows * ffn, wide, y); });
    forward("fcProj, residual", ffn, hidden, normal);

    auto geluGrad = [&](const char *name, int64_t atOnce, int64_t count) {
      table.row(name, row + 2 * wideRow + 2.0 * hidden * ffn,
                2.0 * rows * hidden * ffn, count,
                [&] { gelu(Epilogue::GeluGrad, atOnce); });
    };
    if (fuses) {
      geluGrad("fcProj I with gelu", part, o.layers);
      // Cost of the parts.
      geluGrad("fcProj I with gelu, whole", rows, 0);
    }
    inputGrad("fcProj I", ffn, hidden, fuses ? 0 : o.layers);
    table.row("gelu I", 3 * wideRow, 0, fuses ? 0 : o.layers,
              [&] { geluInputGrad(stream, rows * ffn, wide, y); });
    inputGrad("fc I", hidden, ffn);
    table.row("norm I, keeping", 7 * row, 0, o.layers, [&] {
      normInputGradKeeping<Bf16>(stream, rows, hidden, x, normal, scale, gain,
                                 gain, residual, kept, y, nullptr, partials);
    });
    inputGrad("proj I", hidden, hidden);
    attentionInputGrads(8 * row, 5 * square);
    inputGrad("qkv I", hidden, 3 * hidden);
    table.row("norm I", 5 * row, 0, o.layers, [&] {
      normInputGrad<Bf16>(stream, rows, hidden, x, normal, scale, gain, gain,
                          residual, y, nullptr, partials);
    });
    const int64_t normChunk = normChunks(rows);
    table.row("sums of norms' vectors", 4.0 * 6 * hidden * (normChunk + 1), 0,
              o.layers, [&] {
                setPartials(stream, {{normChunk, 4 * hidden, partials, sums},
                                     {normChunk, 2 * hidden, scale,
                                      sums + 4 * hidden}});
              });

    weightGrad("fcProj W", ffn, hidden);
    weightGrad("fc W", hidden, ffn);
    weightGrad("proj W", hidden, hidden);
    weightGrad("qkv W", hidden, 3 * hidden);
    const int64_t chunks = columnSumChunks(rows);
    float *qkvPartials = partials + chunks * ffn;
    table.row("column sums", wideRow + 3 * row, 0, o.layers, [&] {
      columnSums<Bf16>(stream, rows,
                       {{ffn, ffn, wide, partials},
                        {3 * hidden, 3 * hidden, x, qkvPartials}});
    });
    table.row("sums of vectors",
              4.0 * (chunks * (ffn + 3 * hidden) + 2 * (ffn + 9 * hidden)), 0,
              o.layers, [&] {
                addPartials(stream, {{chunks, ffn, partials, sums},
                                     {chunks, 3 * hidden, qkvPartials, grads},
                                     {1, hidden, gain, grads + 3 * hidden},
                                     {1, hidden, gain, grads + 4 * hidden},
                                     {1, hidden, gain, grads + 5 * hidden},
                                     {1, hidden, gain, grads + 6 * hidden},
                                     {1, hidden, gain, grads + 7 * hidden},
                                     {1, hidden, gain, grads + 8 * hidden}});
              });
  }

  void ends() {
    const Stream &stream = clock.stream;
    const double row = 2.0 * rows * hidden, table16 = 2.0 * padded * hidden,
                 wordRow = 2.0 * rows * padded,
                 flops = 2.0 * rows * hidden * padded;
    table.row("embedding forward", 2 * row, 0, 1, [&] {
      embeddingForward<Bf16>(stream, shape.documents, hidden, words, table1,
                             table1, savedWords, y);
    });
    Product product{};
    product.rows = rows;
    product.columns = padded;
    product.inner = hidden;
    product.type = product.resultType = DType::Bf16;
    product.a = {x, hidden};
    product.b = {table1, hidden, true};
    product.d = logits;
    product.stride = stride;
    table.row("logits", row + table16 + wordRow, flops, 1,
              [&] { clock.gemms.multiply(stream, product, workspace); });
    const Logits<Bf16> all{rows, o.vocab, stride, logits};
    table.row("cross-entropy", 2 * wordRow, 0, 1, [&] {
      crossEntropy(stream, all, words, 1e-4f, losses, nullptr, nullptr);
    });
    // Cross-entropy has left gradients there, almost all of them 0.
    RONDO_CUDA(cudaMemcpyAsync(logits, gradients, rows * stride * sizeof(Bf16),
                               cudaMemcpyDeviceToDevice, stream.handle));
    product.columns = hidden;
    product.inner = padded;
    product.a = {logits, stride};
    product.b = {table1, hidden};
    product.d = y;
    product.stride = hidden;
    table.row("head I", row + table16 + wordRow, flops, 1,
              [&] { clock.gemms.multiply(stream, product, workspace); });
    product.rows = padded;
    product.columns = hidden;
    product.inner = rows;
    product.a = {logits, stride, true};
    product.b = {x, hidden};
    product.resultType = DType::Fp32;
    product.c = product.d = tableGrad;
    table.row("head W", row + 4 * table16 + wordRow, flops, 1,
              [&] { clock.gemms.multiply(stream, product, workspace); });
    table.row("embedding W", row + 8.0 * hidden * std::min(rows, o.vocab), 0, 1,
              [&] {
                embeddingWeightGrad<Bf16>(stream, shape.documents, o.sequence,
                                          hidden, words, x, tableGrad, grads);
              });
  }

  /// Once in an iteration; here for matrices as large as all blocks.
  void step() {
    const Stream &stream = clock.stream;
    const int64_t count = 12 * hidden * hidden * o.layers;
    float *w = randoms<float>(count, 1e-2f), *g = randoms<float>(count, 1e-3f),
          *m = randoms<float>(count, 1e-3f), *v = allocate<float>(count);
    RONDO_CUDA(cudaMemset(v, 0, count * sizeof(float)));
    Bf16 *copy = allocate<Bf16>(count);
    auto *header = allocate<ControlHeader>(1);
    ControlHeader values{};
    values.isFinite = 1;
    values.step.step = 1;
    RONDO_CUDA(
        cudaMemcpy(header, &values, sizeof(values), cudaMemcpyHostToDevice));
    double *sum = allocate<double>(1);
    char *scratch = allocate<char>(sumSquaresScratchBytes);
    table.row("sums of squares, blocks", 4.0 * count, 0, 1,
              [&] { sumSquares(stream, {{g, count, sum}}, scratch); });
    table.row("AdamW, blocks", 30.0 * count, 0, 1, [&] {
      adamw(stream, AdamWConfig(), header, {{w, g, m, v, copy, count, true}});
    });
  }

  void allocateWords() {
    std::vector<int32_t> host(rows);
    uint64_t state = 7;
    for (int32_t &word : host) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      word = static_cast<int32_t>((state >> 33) % o.vocab);
    }
    RONDO_CUDA(cudaMemcpy(words, host.data(), rows * sizeof(int32_t),
                          cudaMemcpyHostToDevice));
  }
  void placeDocuments() {
    std::vector<int32_t> starts;
    for (int64_t d = 0; d <= documentsEach * o.batch; ++d)
      starts.push_back(
          static_cast<int32_t>(d * rows / (documentsEach * o.batch)));
    auto *onDevice = allocate<int32_t>(static_cast<int64_t>(starts.size()));
    RONDO_CUDA(cudaMemcpy(onDevice, starts.data(),
                          starts.size() * sizeof(int32_t),
                          cudaMemcpyHostToDevice));
    inDocuments.documents = Documents(1, static_cast<int>(rows));
    inDocuments.documents.starts = onDevice;
    inDocuments.documents.count = static_cast<int>(starts.size()) - 1;
  }

  static constexpr int64_t workspaceBytes = int64_t(32) << 20;
  Options o;
  Clock &clock;
  Table &table;
  /// `padded` words are multiplied, rows of logits are `stride` apart.
  int64_t rows, hidden, ffn, padded, stride;
  AttentionShape shape;
  /// The tokens of all samples as one row, whose documents divide each sample:
  /// a part of the pairs.
  static constexpr int64_t documentsEach = 8;
  AttentionShape inDocuments = shape;
  GemmWorkspace workspace;
  Linear<Bf16> linear;
  std::string whyNoCudnn;
  std::unique_ptr<CudnnAttention> cudnn = CudnnAttention::load(whyNoCudnn);
  Bf16 *x = randoms<Bf16>(rows * ffn, 1), *y = allocate<Bf16>(rows * ffn),
       *wide = randoms<Bf16>(rows * ffn, 1),
       *normal = randoms<Bf16>(rows * hidden, 1),
       *residual = randoms<Bf16>(rows * hidden, 1),
       *kept = allocate<Bf16>(rows * hidden),
       *weights = randoms<Bf16>(4 * hidden * hidden, 2e-2f),
       *bias = randoms<Bf16>(ffn, 1),
       *table1 = randoms<Bf16>(padded * hidden, 2e-2f),
       *logits = allocate<Bf16>(rows * stride),
       *gradients = randoms<Bf16>(rows * stride, 1e-3f);
  float *gain = randoms<float>(hidden, 1),
        *scale = randoms<float>(rows * ffn, 1),
        *logSumExp = allocate<float>(rows * o.heads),
        *sums = allocate<float>(4 * ffn + 6 * hidden),
        *partials = allocate<float>(
            std::max(normChunks(rows) * 4 * hidden,
                     columnSumChunks(rows) * (ffn + 3 * hidden))),
        *grads =
            allocate<float>(std::max(4 * hidden * hidden, o.sequence *hidden)),
        *tableGrad = allocate<float>(padded * hidden),
        *losses = allocate<float>(rows);
  int32_t *words = allocate<int32_t>(rows),
          *savedWords = allocate<int32_t>(rows);
};

bool parse(int argc, char **argv, Options &o) {
  struct {
    const char *name;
    int64_t *value;
  } const flags[] = {{"--layers", &o.layers},  {"--hidden", &o.hidden},
                     {"--heads", &o.heads},    {"--sequence", &o.sequence},
                     {"--batch", &o.batch},    {"--vocab", &o.vocab},
                     {"--repeats", &o.repeats}};
  for (int i = 1; i < argc; i += 2) {
    const auto *flag = std::find_if(
        std::begin(flags), std::end(flags), [&](const auto &known) {
          return std::strcmp(known.name, argv[i]) == 0;
        });
    const int64_t value = i + 1 < argc ? std::atoll(argv[i + 1]) : 0;
    if (flag == std::end(flags) || value < 1) {
      std::fprintf(stderr,
                   "gpt-kernels: %s: flags are --layers, --hidden, "
                   "--heads, --sequence, --batch, --vocab and "
                   "--repeats, each with a positive number\n",
                   argv[i]);
      return false;
    }
    *flag->value = value;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options))
    return 2;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("gpt-kernels: no device\n");
    return 77;
  }
  try {
    Clock clock(options.repeats);
    Table table(clock);
    Model model(options, clock, table);
    if (!model.whyNoCudnn.empty())
      std::printf("without cuDNN: %s\n", model.whyNoCudnn.c_str());
    model.allocateWords();
    model.placeDocuments();
    model.block();
    model.ends();
    model.step();
    table.total();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "gpt-kernels: %s\n", error.what());
    return 1;
  }
  return 0;
}
