//===- streams.h - Samples of declared streams ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream is a part of each sample that layers declare: images, labels, masks.
// Its file is a safetensors file with a tensor of its name whose first size is
// the number of samples.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_STREAMS_STREAMS_H
#define RONDO_RUNTIME_STREAMS_STREAMS_H

#include "runtime/data/data.h"
#include "runtime/model/layer.h"

#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// The source of rows. Which row a sample is depends only on the seed, the
/// iteration and the sample's number, never on ranks; all streams of a sample
/// have the same row.
class StreamData : public DataSource {
public:
  virtual int64_t trainingRow(uint64_t seed, int64_t iteration,
                              int64_t sample) const = 0;
  /// The row of held-out sample `sample` of `samples`, which are spread evenly
  /// over the held-out part.
  virtual int64_t heldOutRow(int64_t sample, int64_t samples) const = 0;
  /// Writes a row of a stream, rowBytes() of it. Any thread.
  virtual void read(int64_t row, const StreamDesc &stream,
                    void *values) const = 0;
};

/// The streams that layers read, each once.
std::vector<StreamDesc> streamsOf(const LayerDesc *layers, int32_t count);

/// Concatenates safetensors files. Numbers of fp32 may be stored as F32, F16 or
/// BF16, those of int32 as any whole numbers, those of uint8 as U8 or BOOL. The
/// last part of the samples, by the share `heldOut`, is for evaluation. Throws
/// Error if a file cannot be read, lacks a stream, has one of another dtype or
/// shape, or if its streams differ in their number of samples; or on too few
/// samples for either part. Reads up to 64 rows at equal distances, and reading
/// throws Error on a number that the stream does not allow.
std::unique_ptr<StreamData> openStreams(const std::vector<std::string> &paths,
                                        double heldOut,
                                        const std::vector<StreamDesc> &streams);

/// Rows of drawRow(), for --verify and --profile.
std::unique_ptr<StreamData> generateStreams();

/// The functions of streams, linked only if layers declare streams.
struct StreamReading {
  decltype(&openStreams) open;
  decltype(&generateStreams) generate;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_STREAMS_STREAMS_H
