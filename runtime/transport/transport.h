//===- transport.h - How ranks pass messages to each other ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transport connects the ranks of an executable, once, for all of its
// programs. A channel is a directed pair of ranks and an in-order queue: its
// n-th send meets its n-th receive, and both must name the same message. Every
// function that takes a rank is called only by that rank's thread; channels and
// collectives are numbered as in TransportParams.
//
// Data are in the memory of the ranks' devices. On a CPU, "wait" means that the
// thread waits. On a device that enqueues, the work that the rank enqueues from
// then on waits, and a message counts as handed over or arrived when the work
// enqueued before has got there.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_TRANSPORT_H
#define RONDO_RUNTIME_TRANSPORT_TRANSPORT_H

#include "kinds/Sums.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/model/executable.h"
#include "runtime/transport/imposed_links.h"
#include "runtime/transport/links.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A message: what an edge carries for a micro-batch, from one replica of the
/// stage that makes it to one of the stage that needs it. Numbers are those of
/// Executable::edges and Executable::replicas.
struct MessageName {
  int32_t edge = 0;
  int32_t microbatch = 0;
  int32_t fromReplica = 0, toReplica = 0;

  friend bool operator==(MessageName a, MessageName b) {
    return a.edge == b.edge && a.microbatch == b.microbatch &&
           a.fromReplica == b.fromReplica && a.toReplica == b.toReplica;
  }
};

/// The name of an edge in messages to the user: the stages at its ends.
struct EdgeName {
  Message kind;
  int32_t from, to;
};
/// Indexed by number.
using EdgeNames = std::vector<EdgeName>;
EdgeNames edgeNamesOf(const Executable &executable);

/// `0F3` or `1I0`, by the task that makes it.
std::string nameOf(Message kind, int32_t stage, int32_t microbatch);
std::string nameOf(MessageName name, const EdgeNames &edges);

struct ChannelParams {
  int32_t from, to;
  /// The messages of one iteration; of an endless channel, more than are ever
  /// under way or have an end that waits for them.
  int64_t messages;
  /// Whether an iteration may have any number of them.
  bool isEndless = false;
};

/// A rank's memory that takes part in a collective. Address and size must not
/// change while the transport lives.
struct PartParams {
  int32_t rank;
  void *data;
  int64_t count;
  /// If not, it only receives the sum of parts: what it holds before does not
  /// matter. At least one part of a collective contributes.
  bool contributes = true;
};
using CollectiveParams = std::vector<PartParams>;

/// Memory in which a rank receives what it adds (kinds/Sums.h), on its device,
/// which all its collectives use one after another and nothing else uses.
/// Address and size must not change while the transport lives; the address is
/// null if another process holds the rank.
struct StagingParams {
  void *data = nullptr;
  int64_t bytes = 0;
};

struct TransportParams {
  int32_t ranks = 0;
  std::vector<ChannelParams> channels;
  std::vector<CollectiveParams> collectives;
  /// Indexed by collective: whether startAddAll() is its only use; false if the
  /// index is too large. Its ranks then talk only to that of the first part.
  std::vector<bool> areTotals;
  bool isTotal(size_t collective) const {
    return collective < areTotals.size() && areTotals[collective];
  }
  /// Indexed by rank; further ranks have none.
  std::vector<StagingParams> staging;
  /// Makes the links that are imposed; empty: none are.
  LinkImposer imposeLinks;
  StagingParams stagingOf(int32_t rank) const {
    return rank < static_cast<int32_t>(staging.size()) ? staging[rank]
                                                       : StagingParams();
  }
  /// The edges that messages name; only for errors.
  EdgeNames edges;
  /// Whether channels measure their transfers; if not, links() is empty.
  bool measures = true;
  /// Whether a checksum travels with each message, which the receiver compares.
  bool checks = false;
  /// Indexed by program: the number of ranks that run it, starting at rank 0.
  /// Empty: there is one program, and all ranks run it.
  std::vector<int32_t> ranksOfProgram;
  /// Indexed by program, then by rank: the most sends, receives and collectives
  /// that may be in flight at once if each keeps a part of the device; 0 or
  /// nothing: no limit.
  std::vector<std::vector<int32_t>> residentOfProgram;
  int32_t residentOf(size_t program, size_t rank) const {
    return program < residentOfProgram.size() &&
                   rank < residentOfProgram[program].size()
               ? residentOfProgram[program][rank]
               : 0;
  }
};

/// The wait of a blocked rank.
struct Waiting {
  enum class For : uint8_t { Nothing, Arrival, Release, Collective };
  For what = For::Nothing;
  /// The rank that it waits for.
  int32_t onRank = -1;
  /// For Arrival and Release.
  MessageName message;
  /// For Collective.
  int32_t collective = -1;
};

/// Options of a run that a transport may use.
struct TransportOptions {
  /// Cores that the ranks may use.
  int cores = 1;
  /// Whether to repeat an iteration as a recorded graph, if the backend
  /// supports that.
  bool useGraph = true;
  /// A rank without progress for this long has failed; 0: never.
  double timeoutSeconds = 600;
  /// The clock of waits between iterations; null: an AwakeClock for each.
  std::shared_ptr<Clock> clock = nullptr;
};

/// Whether a device may record an iteration, and repeat one that it has
/// recorded.
struct Replay {
  // Not explicit: most iterations are all alike.
  Replay(bool isAllowed, int64_t variant = 0)
      : isAllowed(isAllowed), variant(variant) {}

  bool isAllowed;
  /// Only iterations of a program with one number have the same actions at the
  /// same addresses, so that they may repeat each other. Equal for all ranks of
  /// an iteration.
  int64_t variant;
};

class Transport {
public:
  /// Counts the messages of one channel, and wraps.
  using Ticket = uint32_t;

  virtual ~Transport();

  /// A rank begins an iteration of a program. Programs take turns: all ranks of
  /// one have ended their iteration before any of another begins. Returns
  /// whether the rank must now call the functions below. If not, its device
  /// repeats the iteration that it has recorded.
  virtual bool begin(int32_t rank, int32_t program, const Replay &replay);
  /// Returns once the rank's device has done the iteration.
  virtual void end(int32_t rank);
  /// In place of end(), while the exception that ended the iteration is
  /// handled: stops what the rank has enqueued. Throws PeerFailed if another
  /// process has reported the reason.
  virtual void abandon(int32_t rank);

  /// An iteration whose actions are one function.
  template <typename Actions>
  void iterate(int32_t rank, const Replay &replay, const Actions &actions,
               int32_t program = 0) {
    try {
      if (begin(rank, program, replay))
        actions();
      end(rank);
    } catch (...) {
      abandon(rank);
      throw;
    }
  }

  /// Hands `data` over. Does not block. `data` must not change until waitSent()
  /// of the ticket returns. Throws Error if the receiver posted another message
  /// or size, and if the channel has had all its messages.
  virtual Ticket send(int32_t channel, MessageName name, const void *data,
                      int64_t bytes) = 0;
  /// Posts `data` for the channel's next message. Does not block; the transport
  /// owns `data` until waitReceived() returns. Throws like send(). Between
  /// processes only the receiver detects a wrong message or size, and throws in
  /// waitReceived() or end().
  virtual Ticket receive(int32_t channel, MessageName name, void *data,
                         int64_t bytes) = 0;
  /// Blocks until the buffer of a send may be written again.
  virtual void waitSent(int32_t channel, Ticket ticket) = 0;
  /// Blocks until a message has arrived.
  virtual void waitReceived(int32_t channel, Ticket ticket) = 0;

  // Each rank with a part starts a collective and waits for it. Starting does
  // not wait for another rank. A wait ends once all ranks have started the
  // collective, and what they have started before it, whatever the others do
  // meanwhile: compute, or wait for something else (rule L2 relies on that).
  // The transport owns the rank's parts, and `sum`, from the start to the end
  // of the wait; only after that may the collective be started again. There is
  // one order of all collectives in which every rank starts its own, since some
  // transports run those of a rank one after another; they wait for them in any
  // order.

  /// Starts adding the fp32 parts that contribute, element by element and in
  /// the order of the parts: ((p0 + p1) + p2) + ... All parts have one count,
  /// and all get the sum, whose bits do not depend on the transport or on where
  /// the parts are. With one part on each of R ranks, a rank sends and receives
  /// 2 (R - 1) / R of a part. Throws Error, like startAddAll(), if the
  /// transport stages more than the rank has room for.
  virtual void startSumParts(int32_t collective, int32_t rank) = 0;
  /// Starts adding all elements of fp64 parts one after another, in the order
  /// of the parts; counts may differ, and be 0. Every rank gets the same value,
  /// in its own memory; `sum` must not be in a part. Imposed links do not slow
  /// it down.
  virtual void startAddAll(int32_t collective, int32_t rank, double *sum) = 0;
  /// Starts gathering shards. A collective of which shards are gathered or
  /// scattered has one part on each of its ranks; all have one count, that of
  /// the shards together, which are equal, and the n-th part's rank has the
  /// n-th. Parts have no address: `whole` has that many elements; the rank
  /// has filled its own shard, and gets all others.
  virtual void startGather(int32_t collective, int32_t rank, float *whole) = 0;
  /// Starts adding the `whole` of all ranks, in the order of the parts as
  /// startSumParts() does. A rank gets its own shard of the sum in its `whole`,
  /// where the other shards are overwritten. Throws like startSumParts().
  virtual void startScatter(int32_t collective, int32_t rank, float *whole) = 0;
  /// Blocks until the rank has the result of a collective that it has started,
  /// and no other rank reads its memory any more; with imposed links, for all
  /// but startAddAll(), at least until the time that they take has passed since
  /// the last rank's start and the end of what its ranks have started before.
  virtual void waitCollective(int32_t collective, int32_t rank) = 0;

  /// Makes every rank that waits, or will wait, throw Aborted. Thread-safe.
  virtual void abort() = 0;
  /// Waits for something that is not the transport's, by the rank's thread in
  /// its iteration. Ranks that enqueue by turns go on meanwhile. `wait` may not
  /// throw.
  virtual void letOthersWork(int32_t /*rank*/,
                             const std::function<void()> &wait) {
    wait();
  }
  /// The current wait of a rank. Thread-safe.
  virtual Waiting waiting(int32_t rank) const = 0;
  /// For tests: a bit of the next message that the rank sends changes on its
  /// way. By the rank's thread; without effect where messages stay on a device.
  virtual void spoilNext(int32_t rank);
  /// Messages and iterations that enqueueing devices have finished; never
  /// decreases. Thread-safe.
  virtual uint64_t progress() const { return 0; }

  /// Starts a training iteration, from 1, for imposed links. Call between
  /// iterations, in all processes.
  virtual void beginIteration(int64_t iteration);
  /// The link between two ranks that messages of this process take, for other
  /// traffic that contends with them; null if links are not imposed. Between
  /// processes each has a link of its own: the one of `to` decides when
  /// messages arrive.
  virtual SerialLink *imposedLink(int32_t from, int32_t to);

  /// The figures of the channels so far, in their order; empty if the transport
  /// measures nothing. Call between iterations. Between processes all
  /// must call it at the same time, and each gets the figures of all; of the
  /// messages since the last call, only the latest StampRing::most of a channel
  /// count. Throws Error like waits.
  virtual std::vector<LinkFigures> links() { return {}; }
  /// Indexed by channel: the last transfers since the call before, in their
  /// order; none for channels that end in another process. Empty if the
  /// transport measures nothing, or only what links() says. Call it like
  /// links().
  virtual std::vector<std::vector<Transfer>> takeTransfers() { return {}; }
};

/// Ranks are threads of this process; a message is copied once, into the
/// receiver's buffer, by the end that comes second. Waits spin briefly, then
/// block; with more ranks than `cores` they hardly spin.
std::unique_ptr<Transport> makeInprocTransport(const TransportParams &params,
                                               int cores);

//===----------------------------------------------------------------------===//
// For transports: collectives, and checks of both ends of a channel.
//===----------------------------------------------------------------------===//

/// The ranks with a part, ascending.
std::vector<int32_t> ranksOf(const CollectiveParams &parts);

/// The first part that contributes.
const PartParams &firstContribution(const CollectiveParams &parts);

/// Adds `values` to `sum` on a CPU.
void addElements(float *sum, const float *values, int64_t count);

/// A message as one end of a channel posts it.
struct Posting {
  MessageName name;
  char *data = nullptr;
  int64_t bytes = 0;
};

/// Throws Error if the ends post different messages or sizes.
void checkMatch(const Posting &sent, const Posting &posted, int32_t from,
                int32_t to, const EdgeNames &edges);

/// Throws Error: rank `to` expects a different message than `from` sends.
[[noreturn]] void failOnMismatch(MessageName sent, MessageName expected,
                                 int32_t from, int32_t to,
                                 const EdgeNames &edges);

/// Throws Error: an end posts more messages than the channel has.
[[noreturn]] void failOnTooMany(bool isSender, MessageName name, int32_t from,
                                int32_t to, const EdgeNames &edges);

/// Throws Error if what a rank has received is not what the other has sent,
/// with this checksum. `what`: `message 0F3`, `a part of collective 2`.
void checkContent(const std::string &what, int32_t from, int32_t to,
                  const void *data, int64_t bytes, uint32_t sent);

/// Throws Error if a rank has less staging memory than a collective needs.
/// `what`: what the user knows the collective by.
void checkStaging(StagingParams staging, int64_t needed, int32_t collective,
                  int32_t rank, const char *what = "all_reduce");

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_TRANSPORT_H
