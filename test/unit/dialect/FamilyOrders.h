//===- FamilyOrders.h - Orders of published families, for tests -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Direct restatements of published orders, independent of the product's
// families; includes some that the product does not have.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_DIALECT_FAMILYORDERS_H
#define RONDO_TEST_UNIT_DIALECT_FAMILYORDERS_H

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace test {

struct Task {
  char letter;
  int64_t chunk, microbatch;
};
using Order = std::vector<Task>;

/// Fs first, then alternating backward and F, in groups of k.
inline Order kfkb(int64_t k, int64_t p, int64_t r, int64_t m) {
  Order order;
  int64_t f = 0, b = 0;
  int64_t warmUp = std::min(m, (p - r) * k);
  for (; f < warmUp; ++f)
    order.push_back({'F', 0, f});
  while (b < m) {
    for (int64_t i = 0; i < k && b < m; ++i)
      order.push_back({'B', 0, b++});
    for (int64_t i = 0; i < k && f < m; ++i)
      order.push_back({'F', 0, f++});
  }
  return order;
}

inline Order gpipe(int64_t p, int64_t r, int64_t m) { return kfkb(m, p, r, m); }
inline Order oneFOneB(int64_t p, int64_t r, int64_t m) {
  return kfkb(1, p, r, m);
}
inline Order kfkb2(int64_t p, int64_t r, int64_t m) { return kfkb(2, p, r, m); }
inline Order kfkb3(int64_t p, int64_t r, int64_t m) { return kfkb(3, p, r, m); }
inline Order kfkb7(int64_t p, int64_t r, int64_t m) { return kfkb(7, p, r, m); }
inline Order kfkb16(int64_t p, int64_t r, int64_t m) {
  return kfkb(16, p, r, m);
}

inline Order zbH1(int64_t p, int64_t r, int64_t m) {
  Order order;
  int64_t f = 0, w = 0;
  for (; f < std::min(p - r, m); ++f)
    order.push_back({'F', 0, f});
  for (int64_t i = 0; i < m; ++i) {
    order.push_back({'I', 0, i});
    if (i >= r)
      order.push_back({'W', 0, w++});
    if (f < m)
      order.push_back({'F', 0, f++});
  }
  for (; w < m; ++w)
    order.push_back({'W', 0, w});
  return order;
}

/// Interleaved 1F1B with v chunks.
inline Order interleaved(int64_t v, int64_t p, int64_t r, int64_t m) {
  int64_t n = m / std::max<int64_t>(1, m / p);
  int64_t warmUp = std::min((v - 1) * n + 2 * (p - 1 - r), m * v);
  std::vector<int64_t> forwards(v), backwards(v);
  Order order;
  int64_t f = 0, b = 0;
  auto forward = [&] {
    int64_t chunk = f++ / n % v;
    order.push_back({'F', chunk, forwards[chunk]++});
  };
  auto backward = [&] {
    int64_t chunk = v - 1 - b++ / n % v;
    order.push_back({'B', chunk, backwards[chunk]++});
  };
  while (f < warmUp)
    forward();
  while (f < m * v) {
    forward();
    backward();
  }
  while (b < m * v)
    backward();
  return order;
}
inline Order interleaved2(int64_t p, int64_t r, int64_t m) {
  return interleaved(2, p, r, m);
}
inline Order interleaved4(int64_t p, int64_t r, int64_t m) {
  return interleaved(4, p, r, m);
}

/// Chunks one after another; backward with descending micro-batches.
inline Order loopedBfs(int64_t, int64_t, int64_t m) {
  Order order;
  for (int64_t chunk : {0, 1})
    for (int64_t i = 0; i < m; ++i)
      order.push_back({'F', chunk, i});
  for (int64_t chunk : {1, 0})
    for (int64_t i = m - 1; i >= 0; --i)
      order.push_back({'B', chunk, i});
  return order;
}

/// Takes the next micro-batch of each kind and chunk.
struct Counter {
  Order order;
  int64_t next[128][2] = {};
  void add(char letter, int64_t chunk) {
    order.push_back({letter, chunk, next[static_cast<int>(letter)][chunk]++});
  }
  int64_t count(char letter, int64_t chunk) const {
    return next[static_cast<int>(letter)][chunk];
  }
};

inline Order zbv(int64_t p, int64_t r, int64_t m) {
  int64_t all = std::max(m, 2 * p - 1);
  Counter c;
  for (int64_t i = 0; i < 2 * (p - r) - 1; ++i)
    c.add('F', 0);
  for (int64_t i = 0; i < r; ++i) {
    c.add('F', 1);
    c.add('F', 0);
  }
  for (int64_t i = 0; i < p - r; ++i) {
    c.add('F', 1);
    c.add('I', 1);
    c.add('W', 1);
  }
  while (c.count('F', 1) < c.count('F', 0) || c.count('F', 0) < all) {
    if (c.count('F', 0) < all)
      c.add('F', 0);
    c.add('I', 0);
    c.add('W', 0);
    c.add('F', 1);
    c.add('I', 1);
    c.add('W', 1);
  }
  for (int64_t i = 0; i < r; ++i) {
    c.add('I', 0);
    c.add('I', 1);
  }
  for (int64_t i = 0; i < p - r; ++i) {
    c.add('I', 0);
    c.add('W', 0);
  }
  while (c.count('W', 1) < all)
    c.add('W', 1);
  while (c.count('W', 0) < all)
    c.add('W', 0);
  Order order;
  for (const Task &task : c.order)
    if (task.microbatch < m)
      order.push_back(task);
  return order;
}

/// Ws of fused and split backwards are taken in the order of their Is.
inline Order dualPipeV(int64_t p, int64_t r, int64_t m) {
  Counter c;
  std::deque<Task> pending;
  auto split = [&](int64_t chunk) {
    c.add('I', chunk);
    pending.push_back({'W', chunk, c.order.back().microbatch});
  };
  auto fused = [&](int64_t chunk) {
    c.order.push_back({'B', chunk, c.next['I'][chunk]++});
  };
  auto weight = [&] {
    if (pending.empty())
      return;
    c.order.push_back(pending.front());
    pending.pop_front();
  };
  for (int64_t i = 0; i < (p - r - 1) * 2; ++i)
    c.add('F', 0);
  for (int64_t i = 0; i < r + 1; ++i) {
    c.add('F', 0);
    c.add('F', 1);
  }
  for (int64_t i = 0; i < p - r - 1; ++i) {
    split(1);
    weight();
    c.add('F', 1);
  }
  for (int64_t i = 0; i < m - 2 * p + r + 1; ++i) {
    c.add('F', 0);
    fused(1);
    c.add('F', 1);
    fused(0);
  }
  for (int64_t i = 0; i < p - r - 1; ++i) {
    fused(1);
    c.add('F', 1);
    fused(0);
  }
  for (int64_t i = 0; i < r + 1; ++i) {
    bool isSplit = i >= (r + 1) / 2;
    bool isFirstFused = isSplit && i == (r + 1) / 2 && r % 2 == 0;
    isSplit && !isFirstFused ? split(1) : fused(1);
    isSplit ? split(0) : fused(0);
  }
  for (int64_t i = 0; i < p - r - 1; ++i) {
    weight();
    split(0);
  }
  while (!pending.empty())
    weight();
  return c.order;
}

struct OrderRule {
  const char *name;
  Order (*write)(int64_t ranks, int64_t rank, int64_t microbatches);
  bool (*applies)(int64_t ranks, int64_t microbatches);
};

inline std::vector<OrderRule> orderRules() {
  auto always = [](int64_t, int64_t) { return true; };
  auto whole = [](int64_t p, int64_t m) { return m % p == 0; };
  auto twice = [](int64_t p, int64_t m) { return m >= 2 * p; };
  return {{"gpipe", gpipe, always},
          {"one_f_one_b", oneFOneB, always},
          {"kfkb_2", kfkb2, always},
          {"kfkb_3", kfkb3, always},
          {"kfkb_7", kfkb7, always},
          {"kfkb_16", kfkb16, always},
          {"zb_h1", zbH1, always},
          {"interleaved_2", interleaved2, whole},
          {"interleaved_4", interleaved4, whole},
          {"looped_bfs", loopedBfs, always},
          {"zbv", zbv, always},
          {"dualpipe_v", dualPipeV, twice}};
}

} // namespace test

#endif // RONDO_TEST_UNIT_DIALECT_FAMILYORDERS_H
