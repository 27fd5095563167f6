//===- imposed_links.h - Links for experiments ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callers pass the time, so that tests need not wait.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_IMPOSED_LINKS_H
#define RONDO_RUNTIME_TRANSPORT_IMPOSED_LINKS_H

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rondo::runtime {

/// The cost of a message on a link: it is occupied for bytes /
/// speedBytesPerUs() and the message arrives `latencyNs` later. bytesPerUs ==
/// 0: no occupancy. A sum of parts takes halvesNs(2), a gather or a scatter
/// halvesNs(1); they delay no message, and none delays them. A rank runs one
/// after another.
struct ImposedLink {
  int64_t latencyNs = 0;
  int64_t bytesPerUs = 0;
  /// The part of bytesPerUs that other jobs use: less than that, and 0 without
  /// a limit.
  int64_t otherBytesPerUs = 0;
  /// 0: they take it evenly. Else the bytes of each of their messages, which
  /// somebody must carry() at that rate.
  int64_t otherMessageBytes = 0;

  bool isImposed() const { return latencyNs > 0 || bytesPerUs > 0; }
  /// 0: no limit.
  int64_t leftBytesPerUs() const { return bytesPerUs - otherBytesPerUs; }
  /// Speed of a message that has its turn; 0: no limit.
  int64_t speedBytesPerUs() const {
    return otherMessageBytes > 0 ? bytesPerUs : leftBytesPerUs();
  }
  /// Duration in ns, rounded up, of `halves` halves of a sum of `bytes` between
  /// this many ranks. Each rank adds a shard of bytes / ranks, so in either
  /// direction it moves one shard per other rank before the addition (one half)
  /// and one after it (the other half). 0 for one rank, which needs no link.
  int64_t halvesNs(int64_t halves, int64_t bytes, int64_t ranks) const {
    if (ranks < 2 || bytes == 0)
      return 0;
    if (leftBytesPerUs() <= 0)
      return halves * latencyNs;
    const int64_t scaled = halves * (ranks - 1) * 1000 * bytes,
                  speed = ranks * leftBytesPerUs();
    return scaled / speed + (scaled % speed != 0) + halves * latencyNs;
  }
};

/// The link from a place of its timeline on.
struct LinkChange {
  int64_t at;
  ImposedLink link;
};

/// The link at each place of a line that begins at 0: ns or iterations.
class LinkTimeline {
public:
  /// `before` holds until the first change, each change until the next one, the
  /// last one for ever. Changes are in the order of their places, none below 0;
  /// of several at one place the last one holds. `period`: if not 0, the line
  /// begins again at each multiple of it.
  explicit LinkTimeline(ImposedLink before,
                        std::vector<LinkChange> changes = {},
                        int64_t period = 0)
      : before(before), changes(std::move(changes)), period(period) {}

  struct Span {
    ImposedLink link;
    /// The first place where it does not hold; INT64_MAX: it holds for ever.
    int64_t end;
  };
  /// `place` is at least 0.
  Span at(int64_t place) const;
  const ImposedLink &beginning() const { return before; }

private:
  ImposedLink before;
  std::vector<LinkChange> changes;
  int64_t period;
};

// Transports call the virtual functions below and name no other, so that only
// programs that impose links link their code.

/// A directed link that carries one message after another, in the order in
/// which they come. Functions are thread-safe: messages of a program and
/// streams of other traffic may use one link. All times are ns of one clock.
class SerialLink {
public:
  /// The unit of a timeline's places.
  enum class By : uint8_t { Time, Iteration };

  /// The timeline's 0 is the first call of beginIteration() with By::Time,
  /// iteration 1 with By::Iteration. Until the first call the timeline's
  /// beginning() holds.
  SerialLink(LinkTimeline timeline, By by)
      : timeline(std::move(timeline)), by(by) {}
  virtual ~SerialLink();

  struct Passage {
    /// When the link is free for the next message, and when this one is at the
    /// other end.
    int64_t carriedNs, arrivalNs;
  };
  /// Carries a message that comes at `nowNs`: once those before it have been
  /// carried, at the speed that is in force at each moment. It has the latency
  /// that is in force when it has been carried, and overtakes none. By
  /// iteration, only what is in force now is known: a later beginIteration()
  /// lets messages that come after it begin earlier or later, and does not
  /// change times that have been returned.
  virtual Passage carry(int64_t bytes, int64_t nowNs);
  /// The link at that time.
  virtual ImposedLink at(int64_t nowNs) const;
  /// A training iteration begins; its number is at least 1.
  void beginIteration(int64_t iteration, int64_t nowNs);

private:
  // These require `mutex`.
  LinkTimeline::Span spanAt(int64_t nowNs) const;
  /// When thousandths of bytes have been carried that begin at `nowNs`.
  int64_t carriedAt(int64_t thousandths, int64_t nowNs) const;

  const LinkTimeline timeline;
  const By by;
  mutable std::mutex mutex;
  /// 0: none has begun.
  int64_t iteration = 0;
  int64_t beginNs = 0, freeNs = 0, lastArrivalNs = 0;
};

//===----------------------------------------------------------------------===//
// All imposed links of a transport.
//===----------------------------------------------------------------------===//

struct LinkTrace;

/// The links of a transport, one per directed pair of ranks. Functions are
/// thread-safe.
class ImposedNetwork {
public:
  /// Links are `constant` where the trace does not say otherwise. `trace` may
  /// be null.
  ImposedNetwork(ImposedLink constant, std::shared_ptr<const LinkTrace> trace)
      : constant(constant), trace(std::move(trace)) {}
  virtual ~ImposedNetwork();

  /// Always the same one for the same two ranks, which differ.
  virtual SerialLink &link(int32_t from, int32_t to);
  virtual void beginIteration(int64_t iteration, int64_t nowNs);
  /// Duration of a sum of parts of `bytes` each, or of one of its halves,
  /// between these ranks if it begins now: that of the slowest of their links.
  virtual int64_t sumNs(const std::vector<int32_t> &ranks, int64_t bytes,
                        int64_t nowNs, int64_t halves);
  /// When one ends that all these ranks have started by now: it begins when
  /// those before it on any of them have ended. For ranks of one process.
  virtual int64_t endOfSum(const std::vector<int32_t> &ranks, int64_t bytes,
                           int64_t nowNs, int64_t halves);

private:
  LinkTimeline timelineOf(int32_t from, int32_t to) const;

  const ImposedLink constant;
  const std::shared_ptr<const LinkTrace> trace;
  std::mutex mutex;
  std::map<std::pair<int32_t, int32_t>, std::unique_ptr<SerialLink>> links;
  /// Indexed by rank: when its last sum ends.
  std::map<int32_t, int64_t> sumsEndNs;
  /// The iteration under way, 0: none, and the begin of the first one.
  int64_t iteration = 0, firstBeginNs = 0;
};

/// Makes the imposed links of a transport.
using LinkImposer = std::function<std::unique_ptr<ImposedNetwork>()>;
/// Makes networks from the arguments of ImposedNetwork's constructor; empty if
/// these impose nothing.
LinkImposer linkImposer(ImposedLink constant,
                        std::shared_ptr<const LinkTrace> trace = nullptr);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_IMPOSED_LINKS_H
