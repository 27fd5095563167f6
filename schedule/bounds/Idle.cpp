//===- Idle.cpp - How long a rank must wait at its ends -------------------===//

#include "schedule/bounds/Idle.h"

#include <algorithm>

using namespace rondo;

namespace {

/// From `time` on, more work can have run: of a letter that only gives memory
/// back, or of the one that takes it, or as much as these bytes let start.
struct Event {
  int64_t time;
  int64_t other, taking, bytes;
};

/// How long the letter that takes memory can run on so many bytes. Seen from
/// the end that is W: a unit whose W is left still has what W gives back.
class Allowance {
public:
  Allowance(const Chain &chain, int32_t rank, Side side) {
    for (int32_t s : chain.stagesOf[rank]) {
      const int64_t bytes = bytesOf(chain, s, side);
      const int64_t ns = chain.ns[side == Side::Begin ? 0 : 2][s];
      leastBytes = std::min(leastBytes, bytes);
      mostNs = std::max(mostNs, ns);
      if (bytes > 0)
        mostNsOfByte = std::max(mostNsOfByte, double(ns) / double(bytes));
    }
  }

  static int64_t bytesOf(const Chain &chain, int32_t s, Side side) {
    return side == Side::Begin
               ? chain.takes[s]
               : std::min(chain.weightGradFrees[s],
                          chain.takes[s] - chain.inputGradFrees[s]);
  }

  bool isLimited() const { return leastBytes > 0; }

  /// Rounded up. The second way is the shorter one for unlike stages.
  int64_t limit(int64_t work, int64_t bytes) const {
    if (!isLimited() || work == 0)
      return work;
    const int64_t count = bytes / leastBytes;
    if (count < (work + mostNs - 1) / mostNs)
      work = count * mostNs;
    const double most = mostNsOfByte * double(bytes) * (1 + 1e-9) + 1;
    return most < double(work) ? int64_t(most) : work;
  }

private:
  int64_t leastBytes = never, mostNs = 0;
  double mostNsOfByte = 0;
};

std::vector<Event> eventsOf(const Chain &chain, const Propagation &propagation,
                            int32_t rank, Side side) {
  std::vector<Event> events;
  for (int32_t s : chain.stagesOf[rank]) {
    const int64_t bytes = Allowance::bytesOf(chain, s, side);
    for (int letter : {0, 1, 2}) {
      const int64_t ns = chain.ns[letter][s];
      const bool takes = letter == (side == Side::Begin ? 0 : 2);
      const int64_t back = side == Side::End
                               ? (letter == 0 ? bytes : 0)
                               : (letter == 1   ? chain.inputGradFrees[s]
                                  : letter == 2 ? chain.weightGradFrees[s]
                                                : 0);
      const auto &times = side == Side::Begin ? propagation.heads(letter)
                                              : propagation.tails(letter);
      for (int32_t k = 0; k < chain.microbatches; ++k) {
        const int64_t time = times[chain.at(s, k)];
        events.push_back({time, takes ? 0 : ns, takes ? ns : 0, 0});
        if (back > 0)
          events.push_back({time + ns, 0, 0, back});
      }
    }
  }
  std::sort(events.begin(), events.end(),
            [](const Event &a, const Event &b) { return a.time < b.time; });
  return events;
}

} // namespace

std::vector<IdlePoint> rondo::idleOf(const Chain &chain,
                                     const Propagation &propagation,
                                     int32_t rank, Side side) {
  const Allowance allowance(chain, rank, side);
  int64_t bytes = std::min(chain.caps[rank], never / 2), other = 0, taking = 0;
  std::vector<IdlePoint> points = {
      {0, side == Side::Begin ? 0 : chain.endOffset[rank]}};
  const std::vector<Event> events = eventsOf(chain, propagation, rank, side);
  for (size_t i = 0; i < events.size();) {
    // What begins exactly then has not run before, nor what it would let start.
    const int64_t time = events[i].time;
    const int64_t work = other + allowance.limit(taking, bytes);
    if (time - work > points.back().idle)
      points.push_back({work, time - work});
    for (; i < events.size() && events[i].time == time; ++i) {
      other += events[i].other;
      taking += events[i].taking;
      bytes += events[i].bytes;
    }
  }
  return points;
}

int64_t rondo::idleBeside(const std::vector<IdlePoint> &points, int64_t work) {
  auto next = std::partition_point(
      points.begin() + 1, points.end(),
      [&](const IdlePoint &point) { return point.work < work; });
  return std::prev(next)->idle;
}

int64_t rondo::idleBound(const Chain &chain, const Propagation &propagation) {
  int64_t best = 0;
  for (int32_t rank = 0; rank < chain.ranks; ++rank) {
    if (chain.stagesOf[rank].empty())
      continue;
    int64_t all = 0;
    for (int32_t s : chain.stagesOf[rank])
      for (int letter : {0, 1, 2})
        all += chain.ns[letter][s] * chain.microbatches;
    const std::vector<IdlePoint> end =
        idleOf(chain, propagation, rank, Side::End);
    // Where some work is in neither, the two stretches of time are apart.
    for (const IdlePoint &point : idleOf(chain, propagation, rank, Side::Begin))
      if (point.work < all)
        best = std::max(best,
                        all + point.idle + idleBeside(end, all - point.work));
  }
  return best;
}
