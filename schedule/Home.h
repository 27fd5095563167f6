//===- Home.h - Stages on ranks ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_HOME_H
#define RONDO_SCHEDULE_HOME_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// A stage's place on one rank. A stage has one home per replica.
struct Home {
  int32_t stage = 0;
  int32_t replica = 0;
  int32_t rank = 0;
};

/// Consecutive homes. Does not own them.
struct HomeRange {
  const Home *first, *last;

  const Home *begin() const { return first; }
  const Home *end() const { return last; }
  int32_t size() const { return static_cast<int32_t>(last - first); }
};

/// All homes of a problem, by stage and then by replica. Everything that
/// belongs to homes is indexed by their numbers in this list.
class Homes {
public:
  int32_t size() const { return static_cast<int32_t>(list.size()); }
  int32_t numStages() const {
    return static_cast<int32_t>(firstOfStage.size()) - 1;
  }
  const Home &operator[](int32_t number) const { return list[number]; }
  const Home *begin() const { return list.data(); }
  const Home *end() const { return list.data() + list.size(); }

  /// The number of a home. The replica must exist.
  int32_t numberOf(int32_t stage, int32_t replica = 0) const {
    return firstOfStage[stage] + replica;
  }
  HomeRange of(int32_t stage) const {
    return {list.data() + firstOfStage[stage],
            list.data() + firstOfStage[stage + 1]};
  }

  /// Appends a stage with one replica on each of `ranks`.
  void addStage(const std::vector<int32_t> &ranks) {
    const int32_t stage = numStages();
    for (int32_t rank : ranks)
      list.push_back({stage,
                      static_cast<int32_t>(list.size()) - firstOfStage[stage],
                      rank});
    firstOfStage.push_back(size());
  }
  void moveTo(int32_t number, int32_t rank) { list[number].rank = rank; }

private:
  std::vector<Home> list;
  /// By stage, and one more: the number of its first home.
  std::vector<int32_t> firstOfStage{0};
};

} // namespace rondo

#endif // RONDO_SCHEDULE_HOME_H
