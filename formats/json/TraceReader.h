//===- TraceReader.h - Times of stages in PyTorch's traces ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trace of PyTorch's profiler (Kineto) in Chrome's format has a range for
// each action of torch.distributed.pipelining, named `PP:2F0`: stage, action,
// micro-batch. Each rank has a trace of its own.
//
// On a GPU a range of the host only contains the launches; the profiler then
// has a second range of the same name for the kernels on each stream
// (gpu_user_annotation). These are used wherever there are some; of several
// streams that with the longest ranges in all. A range of 0 ns measured nothing
// and does not count.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_TRACEREADER_H
#define RONDO_FORMATS_JSON_TRACEREADER_H

#include "formats/json/CostsReader.h"
#include "formats/json/Value.h"

#include "llvm/Support/raw_ostream.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::json {

/// The ranges of one or several traces.
class StageTraces {
public:
  /// Adds a trace. An error is one sentence with line and column. Of the text
  /// nothing is kept. O(text).
  std::optional<Fault> add(llvm::StringRef text);

  /// The medians, of stages named `s0`, `s1` and so on. Fails if a stage lacks
  /// F, or I and W or B, or if all ranges of one of these take no time,
  /// other than I of the first stage.
  Result<Costs> medians() const;

  /// Ranges of F, I, W and B that were added.
  int64_t numRanges() const { return numAdded; }
  /// The fewest ranges of a figure that take time.
  int64_t samples() const;
  /// Stages of which only whole backwards are known: I and W are halves of B.
  std::vector<int64_t> halved() const;
  /// Ranges that are times of no single action: overlapped pairs.
  int64_t overlapped() const { return numOverlapped; }
  /// Ranges of the figures that take no time, which medians() leaves out.
  int64_t numEmpty() const;
  /// The number of stages with times of the host alone, none of kernels.
  int64_t numOnHost() const;

private:
  /// A thread or stream.
  using Source = std::pair<std::string, std::string>;
  /// F, I, W or B of a stage.
  using Action = std::pair<int64_t, char>;
  using Ranges = std::map<Action, std::map<Source, std::vector<int64_t>>>;

  std::optional<TextFault> addEvent(Value event, llvm::StringRef text,
                                    int64_t trace);
  std::optional<TextFault> addRange(Value event, Action action,
                                    llvm::StringRef text, int64_t trace);
  /// Durations of an action's ranges, in ns; empty without any.
  std::vector<int64_t> rangesOf(Action action) const;
  /// rangesOf() without those of 0 ns, which only I of the first stage keeps.
  std::vector<int64_t> timesOf(Action action) const;
  /// The actions of a stage that its figures come from: FIW or FB.
  llvm::StringRef figuresOf(int64_t stage) const;
  bool hasOnlyWhole(int64_t stage) const;
  int64_t numStages() const;

  Ranges onHost, onStreams;
  int64_t numTraces = 0, numAdded = 0, numOverlapped = 0, numUnstaged = 0;
};

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_TRACEREADER_H
