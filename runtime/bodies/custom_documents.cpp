//===- custom_documents.cpp - Custom layers of rows of documents ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/bodies/custom.h"
#include "runtime/model/documents.h"

namespace rondo::runtime {

void checkTakesDocuments(const LayerDesc &layer) {
  const std::string who = "layer '" + std::string(layer.name) + "': ";
  if (!layer.custom.body->takes_documents)
    throw Error(who + "the model declares documents = true, but body '" +
                layer.custom.name +
                "' does not take rows of documents: remove documents = true, "
                "or use a body with takes_documents");
  const std::string wrong = wrongSizes(rowOfDocuments(layer, 1));
  if (!wrong.empty())
    throw Error(who +
                "documents = true is for sizes in proportion to the tokens: "
                "for a row of 1 token that is " +
                wrong);
}

} // namespace rondo::runtime
