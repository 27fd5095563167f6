//===- batch_tables.h - Tables of the documents of a batch ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_BATCH_TABLES_H
#define RONDO_RUNTIME_ADAPTIVE_BATCH_TABLES_H

#include "kinds/RowSize.h"
#include "runtime/model/executable.h"
#include "schedule/model/BufferNumbers.h"

#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// The lengths of the documents of each micro-batch.
using DocumentLengths = std::vector<std::vector<int32_t>>;

/// The tables of the micro-batches of one batch, in place of those of the
/// largest one that a program was compiled for.
class BatchTables {
public:
  /// `like`: a program with limits, and the problem of its values. It must
  /// outlive this object. Throws Error if the batch exceeds the limits.
  BatchTables(const Executable &executable, const ProgramDesc &like,
              const Problem &problem, DocumentLengths lengths);
  BatchTables(const BatchTables &) = delete;
  BatchTables &operator=(const BatchTables &) = delete;

  const DocumentLengths &lengths() const { return documentLengths; }
  /// [micro-batch][replica].
  std::vector<std::vector<ReplicaBuffers>> buffers() const;
  /// Bytes of an edge's message of a micro-batch.
  int64_t messageBytes(int32_t edge, int32_t microbatch) const {
    return sizes[uneven.sizeOf[microbatch]].edges[edge].bytes;
  }
  /// With padding (rowGrid), which takes its time as others do.
  RowSize size(int32_t microbatch) const;

  /// Makes a program that is like `like` one of these micro-batches.
  void setTo(ProgramDesc &program) const;

private:
  struct Size {
    int64_t tokens = 0;
    std::vector<LayerDesc> layers;
    std::vector<ShareDesc> shares;
    std::vector<EdgeDesc> edges;
  };
  static Size makeSize(const Executable &executable, const ProgramDesc &like,
                       const Problem &problem, int64_t tokens);

  const DocumentLengths documentLengths;
  std::vector<Size> sizes;
  std::vector<MicrobatchDesc> microbatches;
  std::vector<int32_t> sizesOf;
  std::vector<std::vector<int32_t>> starts;
  std::vector<DocumentsDesc> documents;
  UnevenDesc uneven{};
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_BATCH_TABLES_H
