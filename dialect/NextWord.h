//===- NextWord.h - Words that are not in their place -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Directive of the assembly formats; PipeDialect.cpp includes it before the
// generated parsers. It reads the text of the source, as no parser of the
// dialect does: AsmParser can take a word, but not give it back, and the next
// word may begin the next op.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NEXTWORD_H
#define RONDO_DIALECT_NEXTWORD_H

#include "dialect/Nearest.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"

/// The words of an op as generated code names them.
#define WORDS(...) #__VA_ARGS__

namespace rondo::pipe {

/// The word that begins at `text`, with its dots; empty if there is none.
inline llvm::StringRef wordAt(const char *text) {
  const char *end = text;
  if (llvm::isAlpha(*end) || *end == '_')
    while (llvm::isAlnum(*end) || *end == '_' || *end == '.' || *end == '$')
      ++end;
  return {text, static_cast<size_t>(end - text)};
}

/// The text from `text` on without blanks and comments. The buffer of a source
/// file ends with a zero.
inline const char *skipBlanks(const char *text) {
  while (true) {
    while (llvm::isSpace(*text))
      ++text;
    if (text[0] != '/' || text[1] != '/')
      return text;
    while (*text && *text != '\n')
      ++text;
  }
}

/// Whether an op may begin with the word, or the text after an op.
inline bool mayFollowOp(mlir::MLIRContext *context, llvm::StringRef word) {
  return word.empty() || word.contains('.') || word == "loc" ||
         word == "attributes" ||
         mlir::RegisteredOperationName::lookup(("builtin." + word).str(),
                                               context);
}

/// The error for a word that no op begins with: it is not in its place among
/// the `known` words of the op that is being parsed, or misspelt.
inline mlir::ParseResult refuseWord(mlir::OpAsmParser &parser,
                                    llvm::StringRef word,
                                    llvm::StringRef words) {
  const llvm::StringRef op = wordAt(parser.getNameLoc().getPointer());
  llvm::SmallVector<llvm::StringRef> slots, known;
  words.split(slots, ", ", /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef slot : slots)
    slot.split(known, " or ");
  llvm::erase(known, "{...}");
  // Without the words that OpAsmParser::emitError() puts before each error.
  mlir::InFlightDiagnostic error = mlir::emitError(
      parser.getEncodedSourceLoc(llvm::SMLoc::getFromPointer(word.data())));
  if (llvm::is_contained(known, word)) {
    error << "'" << word << "' of " << op << " appears twice";
    if (slots.size() > 1)
      error << " or out of order; expected order: " << words;
    return error;
  }
  const std::string meant = "pipe." + word.str();
  if (mlir::RegisteredOperationName::lookup(meant, parser.getContext()))
    return error << "unknown op '" << word << "'; did you mean " << meant
                 << "?";
  error << "unknown word '" << word << "' in " << op;
  const std::string nearest = didYouMean(word, known);
  if (!nearest.empty())
    return error << nearest;
  if (*skipBlanks(word.end()) == '=')
    return error << "; figures are written in <...>, as in <" << word
                 << " = 1>";
  if (known.empty())
    return error << ", which takes no further words";
  return error << "; expected order of its words: " << words;
}

/// Checks the next word of an op's text, and consumes nothing. Generated
/// parsers take words in one order, and what comes late or is misspelt is left
/// for the next op, whose error then says nothing of this one. `words` are
/// those of the op in their order, separated by commas, with `or` between those
/// that exclude each other and {...} for its body. `due` is the word that the
/// parser takes next; if it is empty, the op has no further words.
inline mlir::ParseResult parseNext(mlir::OpAsmParser &parser,
                                   llvm::StringRef words, llvm::StringRef due) {
  const char *at = parser.getCurrentLocation().getPointer();
  // The first op of a body.
  if (*at == '{' && words.ends_with("{...}"))
    at = skipBlanks(at + 1);
  const llvm::StringRef word = wordAt(at);
  if (mayFollowOp(parser.getContext(), word) || word == due)
    return mlir::success();
  return refuseWord(parser, word, words);
}

inline void printNext(mlir::OpAsmPrinter &, mlir::Operation *, llvm::StringRef,
                      llvm::StringRef) {}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_NEXTWORD_H
