//===- TorchAttentionTest.cpp - Attention of graphs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TorchTensors.h"

#include "gtest/gtest.h"

#include <cmath>
#include <numeric>

namespace rondo::torch {

extern "C" {
int32_t aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
    Tensor *, Tensor *, Tensor *, double, int32_t, Tensor **, double *,
    Tensor **, Tensor **);
int32_t aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward(
    Tensor *, Tensor *, Tensor *, Tensor *, Tensor *, Tensor *, double, int32_t,
    Tensor **, double *, Tensor **, Tensor **, Tensor **);
}

namespace {

/// [samples, heads, tokens, width] as PyTorch's linear layers leave it: the
/// heads of a token side by side, and the tokens of a sample, or the samples of
/// a token.
struct HeadsOf {
  int64_t samples, heads, tokens, width;
  bool hasTokensFirst = false;
  int64_t count() const { return samples * heads * tokens * width; }
  Tensor tensor(std::vector<float> &memory) const {
    const int64_t row = heads * width;
    return over(memory, {samples, heads, tokens, width},
                {hasTokensFirst ? row : row * tokens, width,
                 hasTokensFirst ? row * samples : row, 1});
  }
  int64_t at(int64_t s, int64_t h, int64_t t, int64_t w) const {
    const int64_t token = hasTokensFirst ? t * samples + s : s * tokens + t;
    return (token * heads + h) * width + w;
  }
  /// The place of an element that is at `i` if the tokens of a sample lie side
  /// by side.
  int64_t placeOf(int64_t i) const {
    const int64_t token = i / (heads * width);
    return at(token / tokens, i / width % heads, token % tokens, i % width);
  }
};

struct Shapes {
  HeadsOf q, k, v;
  bool isCausal;
};

/// sum of `weights` times the output of attention, in fp64, as a loop over
/// everything.
double weighted(const Shapes &of, const std::vector<float> &q,
                const std::vector<float> &k, const std::vector<float> &v,
                const std::vector<float> &weights) {
  double total = 0;
  const int64_t group = of.q.heads / of.k.heads;
  for (int64_t s = 0; s < of.q.samples; ++s)
    for (int64_t h = 0; h < of.q.heads; ++h)
      for (int64_t i = 0; i < of.q.tokens; ++i) {
        const int64_t seen = of.isCausal ? i + 1 : of.k.tokens;
        std::vector<double> p(seen);
        for (int64_t j = 0; j < seen; ++j) {
          for (int64_t w = 0; w < of.q.width; ++w)
            p[j] +=
                double(q[of.q.at(s, h, i, w)]) * k[of.k.at(s, h / group, j, w)];
          p[j] = std::exp(p[j] / std::sqrt(double(of.q.width)));
        }
        const double sum = std::accumulate(p.begin(), p.end(), 0.0);
        for (int64_t j = 0; j < seen; ++j)
          for (int64_t w = 0; w < of.v.width; ++w)
            total += p[j] / sum * v[of.v.at(s, h / group, j, w)] *
                     weights[of.q.at(s, h, i, w)];
      }
  return total;
}

/// Both functions against the loop, and its differences.
void checkAttention(const Shapes &of) {
  std::vector<float> q = randomly(of.q.count(), 1),
                     k = randomly(of.k.count(), 2),
                     v = randomly(of.v.count(), 3),
                     weights = randomly(of.q.count(), 4);
  const Recording recording;
  Tensor tq = of.q.tensor(q), tk = of.k.tensor(k), tv = of.v.tensor(v),
         tWeights = of.q.tensor(weights);
  Tensor *out = nullptr, *sums = nullptr, *grads[3] = {};
  ASSERT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
                &tq, &tk, &tv, 0, of.isCausal, nullptr, nullptr, &out, &sums),
            0);
  EXPECT_TRUE(std::equal(tq.strides, tq.strides + 4, out->strides))
      << "an output has the layout of its queries";
  ASSERT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward(
                &tWeights, &tq, &tk, &tv, out, sums, 0, of.isCausal, nullptr,
                nullptr, &grads[0], &grads[1], &grads[2]),
            0);
  double found = 0;
  for (int64_t i = 0; i < of.q.count(); ++i)
    found += double(out->floats()[i]) * weights[i];
  EXPECT_NEAR(found, weighted(of, q, k, v, weights), 1e-4);
  std::vector<float> *values[3] = {&q, &k, &v};
  const HeadsOf *shapes[3] = {&of.q, &of.k, &of.v};
  for (int which = 0; which < 3; ++which)
    for (int64_t i = 0; i < shapes[which]->count(); i += 7) {
      // Gradients have the tokens of a sample side by side.
      float &value = (*values[which])[shapes[which]->placeOf(i)];
      const float kept = value, step = 1e-2f;
      value = kept + step;
      const double more = weighted(of, q, k, v, weights);
      value = kept - step;
      const double less = weighted(of, q, k, v, weights);
      value = kept;
      ASSERT_NEAR(grads[which]->floats()[i], (more - less) / (2 * step), 2e-3)
          << "gradient " << which << ", element " << i;
    }
  for (Tensor *tensor : {out, sums, grads[0], grads[1], grads[2]})
    deleteTensor(tensor);
}

TEST(TorchAttention, AttendsCausally) {
  // More queries than a block has.
  const HeadsOf heads{1, 2, 70, 4};
  checkAttention({heads, heads, heads, true});
}

TEST(TorchAttention, AttendsWithSharedKeys) {
  checkAttention({{2, 4, 9, 4}, {2, 2, 9, 4}, {2, 2, 9, 4}, false});
}

TEST(TorchAttention, AttendsToOtherTokens) {
  checkAttention({{1, 2, 5, 4}, {1, 2, 11, 4}, {1, 2, 11, 4}, false});
}

TEST(TorchAttention, AttendsToTokensWithSamplesSideBySide) {
  const HeadsOf heads{3, 2, 9, 4, true};
  checkAttention({heads, heads, heads, true});
}

TEST(TorchAttention, RefusesAttentionThatItDoesNotHave) {
  std::vector<float> memory(64);
  const HeadsOf heads{1, 1, 2, 4};
  Tensor q = heads.tensor(memory);
  Tensor *out = nullptr, *sums = nullptr;
  const Recording recording;
  EXPECT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
                &q, &q, &q, 0.5, 0, nullptr, nullptr, &out, &sums),
            1);
  EXPECT_EQ(lastFault(), "attention has no dropout");
}

} // namespace
} // namespace rondo::torch
