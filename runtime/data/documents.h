//===- documents.h - Documents to train on ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batches whose micro-batches are rows of documents (model/documents.h), for
// programs that draw them. The batch of an iteration depends only on the data,
// the seed, the iteration and the limits, so that all processes and a resumed
// run pack the same one.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_DATA_DOCUMENTS_H
#define RONDO_RUNTIME_DATA_DOCUMENTS_H

#include "runtime/data/data.h"

namespace rondo::runtime {

/// Limits of a batch.
struct PackingLimits {
  int32_t microbatches = 1;
  /// Tokens of a micro-batch, and of a document, which is cut there.
  int64_t rowTokens = 0, documentTokens = 0;
  /// Documents of a batch. 0: as many as fit.
  int64_t documents = 0;
};

/// A document of a batch, or a part of one that was cut: `tokens` inputs from a
/// position in the data on. There is one more token after them, the last
/// target.
struct PackedDocument {
  int64_t position;
  int32_t tokens;

  bool operator==(const PackedDocument &other) const {
    return position == other.position && tokens == other.tokens;
  }
};

/// The documents of each micro-batch; none is without documents.
struct PackedBatch {
  std::vector<std::vector<PackedDocument>> rows;
};

/// Packs documents in the order in which they were drawn, at least as many as
/// there are micro-batches, by packLongestFirst() (kinds/Packing.h).
PackedBatch packDocuments(const std::vector<PackedDocument> &drawn,
                          const PackingLimits &limits);

/// The source of documents.
class Documents : public DataSource {
public:
  /// Packs documents drawn at random from the training part, with repetition: a
  /// document is drawn in proportion to its length. Throws Error if the limits
  /// allow no batch.
  PackedBatch packBatch(uint64_t seed, int64_t iteration,
                        const PackingLimits &limits) const;
  /// Batch `batch` of an evaluation, from the held-out part.
  PackedBatch packHeldOut(int64_t batch, const PackingLimits &limits) const;

  /// Writes the inputs of a row of documents and the target of each. Either may
  /// be null. Throws Error as Data does.
  void fill(const std::vector<PackedDocument> &row, int32_t *inputs,
            int32_t *targets) const;

protected:
  /// Draw number `draw` of an iteration, of at most `most` tokens.
  virtual PackedDocument draw(uint64_t seed, int64_t iteration, int64_t draw,
                              int64_t most, bool isHeldOut) const = 0;
  /// Writes `count` tokens from a position on.
  virtual void read(int64_t position, int64_t count, int32_t *tokens) const = 0;

private:
  PackedBatch pack(uint64_t seed, int64_t iteration,
                   const PackingLimits &limits, bool isHeldOut) const;
};

/// The token that separates documents in llm.c's files: GPT-2's end of text.
inline constexpr int32_t defaultEndToken = 50256;

/// Opens files as openData() does. A file of text is one document. In a file of
/// llm.c's tokens a document begins at each `endToken`, and at the start of the
/// file; the target of its last token is the next `endToken`. Throws Error as
/// openData() does, and on safetensors.
std::unique_ptr<Documents> openDocuments(const std::vector<std::string> &paths,
                                         double heldOut, int32_t vocab,
                                         int32_t endToken = defaultEndToken,
                                         const ReadAt &readAt = readFileAt);

/// Documents of random tokens and lengths, for --verify and --profile.
std::unique_ptr<Documents> generateDocuments(int32_t vocab);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DATA_DOCUMENTS_H
