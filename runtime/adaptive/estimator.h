//===- estimator.h - How long each schedule would take now ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_ESTIMATOR_H
#define RONDO_RUNTIME_ADAPTIVE_ESTIMATOR_H

#include "runtime/adaptive/found_program.h"
#include "runtime/adaptive/program_values.h"
#include "runtime/transport/links.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// Figures of a directed link between two ranks, measured on its last messages.
struct LinkEstimate {
  int32_t from = 0, to = 0;
  int64_t messages = 0;
  /// Size of the largest messages.
  int64_t bytes = 0;
  /// From the beginning of such a message's transfer to its arrival, where no
  /// other message was on the link: the median, and half of the distance
  /// between the quartiles.
  int64_t medianNs = 0, spreadNs = 0;
  /// Parts of the transfer's time. bytesPerUs == 0: it occupies nothing.
  int64_t latencyNs = 0, bytesPerUs = 0;
};

/// Estimates a link from its transfers, in their order. A message that finds
/// the link free takes latency and occupancy; one that follows another arrives
/// an occupancy after it. If fewer than two have waited, the latency is at
/// least the time that messages still had when others passed the link after
/// them without waiting, and `assumedLatencyNs`, as far as transfers are that
/// long. Messages of another size than the largest count as those that come
/// before.
LinkEstimate estimateLink(const std::vector<Transfer> &transfers,
                          int64_t assumedLatencyNs);

/// Measurements of the last iterations of a program.
struct Measurements {
  /// Its micro-batches; programs with the same have the same costs.
  int32_t microbatches = 0, samples = 0;
  /// [replica * numCostColumns + costColumn(kind)], the median in ns; 0: not
  /// measured.
  std::vector<int64_t> workNs;
  /// Only links that have carried messages.
  std::vector<LinkEstimate> links;
};

/// Times schedules by the core's simulator, with costs and links as last
/// measured. Costs of a size of micro-batches that has not run yet are the
/// predicted ones in proportion to what another size has shown. What has never
/// been measured is as predicted.
class Estimator {
public:
  /// O(actions of the programs).
  Estimator(const Executable &executable,
            const std::vector<const ProgramDesc *> &programs);

  /// Figures that are not positive, or beyond 2^40 ns, count as not measured.
  void take(const Measurements &measured);
  /// A program that the search has found for the micro-batches of the candidate
  /// `like`, as the last candidate or in place of another such program.
  void put(size_t place, size_t like,
           std::shared_ptr<const FoundProgram> program);
  /// The first candidate whose micro-batches a measurement is of.
  size_t like(const Measurements &measured) const;
  size_t numCandidates() const { return candidates.size(); }
  const ProgramDesc &program(size_t place) const {
    return *candidates[place].desc;
  }
  /// With costs and links as last measured.
  const ProgramValues &values(size_t place) const {
    return candidates[place].values;
  }

  /// Time of one iteration in ns, one entry per program; -1 if the simulation
  /// does not end. O(actions of the programs).
  std::vector<int64_t> estimate() const;

private:
  struct Candidate {
    const ProgramDesc *desc;
    ProgramValues values;
    /// Whether costs of its micro-batches' size have been measured.
    bool isMeasured = false;
    /// Holds `desc` if the search has found it.
    std::shared_ptr<const FoundProgram> found;
  };

  std::vector<Candidate> candidates;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_ESTIMATOR_H
