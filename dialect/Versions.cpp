//===- Versions.cpp - Policies of versions in the language ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Nearest.h"
#include "dialect/Pipe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace rondo::pipe;

// The dialect's words are those of the core, in the same order.
static_assert(getMaxEnumValForForwardWeights() + 1 ==
                      rondo::numForwardWeights &&
                  getMaxEnumValForBackwardWeights() + 1 ==
                      rondo::numBackwardWeights &&
                  getMaxEnumValForBackwardActivations() + 1 ==
                      rondo::numBackwardActivations,
              "PipeEnums.td lists other policies than "
              "schedule/model/VersionPolicy.h");

VersionsAttr VersionsAttr::get(MLIRContext *context,
                               const rondo::VersionPolicy &policy) {
  return get(context, static_cast<ForwardWeights>(policy.forward),
             static_cast<BackwardWeights>(policy.backward),
             static_cast<BackwardActivations>(policy.activations),
             policy.maxDelay);
}

rondo::VersionPolicy VersionsAttr::getPolicy() const {
  return {static_cast<rondo::ForwardWeights>(getForward()),
          static_cast<rondo::BackwardWeights>(getBackward()),
          static_cast<rondo::BackwardActivations>(getActivations()),
          getMostDelay()};
}

/// A word of a list, as the value with its number.
template <typename Enum, size_t count>
static ParseResult parseWordOf(AsmParser &parser,
                               const char *const (&words)[count], Enum &value) {
  const SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)))
    word = "";
  for (size_t number = 0; number < count; ++number)
    if (word == words[number]) {
      value = static_cast<Enum>(number);
      return success();
    }
  InFlightDiagnostic error = parser.emitError(loc) << "expected one of ";
  llvm::interleaveComma(words, error);
  const SmallVector<StringRef> known(std::begin(words), std::end(words));
  if (!word.empty())
    error << ", not '" << word << "'" << rondo::didYouMean(word, known);
  return error;
}

/// The policy of a published system.
static ParseResult findNamed(AsmParser &parser, SMLoc loc, StringRef name,
                             rondo::VersionPolicy &policy) {
  SmallVector<StringRef> known;
  for (const rondo::NamedPolicy &named : rondo::namedPolicies) {
    if (name == named.name) {
      policy = named.policy;
      return success();
    }
    known.push_back(named.name);
  }
  InFlightDiagnostic error = parser.emitError(loc) << "there is no policy '"
                                                   << name << "'; there are ";
  llvm::interleaveComma(known, error);
  return error << rondo::didYouMean(name, known);
}

Attribute VersionsAttr::parse(AsmParser &parser, Type) {
  rondo::VersionPolicy policy;
  SmallVector<StringRef, 4> seen;
  auto parseField = [&]() -> ParseResult {
    const SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    if (llvm::is_contained(seen, key))
      return parser.emitError(loc) << "'" << key << "' is given twice";
    seen.push_back(key);
    if (key == "forward")
      return parseWordOf(parser, rondo::forwardWeightWords, policy.forward);
    if (key == "backward")
      return parseWordOf(parser, rondo::backwardWeightWords, policy.backward);
    if (key == "activations")
      return parseWordOf(parser, rondo::backwardActivationWords,
                         policy.activations);
    if (key == "most_delay")
      return parser.parseInteger(policy.maxDelay);
    return parser.emitError(loc)
           << "unknown key '" << key
           << "'; there are forward, backward, activations, most_delay";
  };
  std::string name;
  if (parser.parseLess())
    return {};
  const SMLoc loc = parser.getCurrentLocation();
  const bool isNamed = succeeded(parser.parseOptionalString(&name));
  if (isNamed ? findNamed(parser, loc, name, policy) : parseField())
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseField())
      return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), policy);
}

void VersionsAttr::print(AsmPrinter &printer) const {
  const rondo::VersionPolicy policy = getPolicy();
  printer << '<';
  bool isNamed = false;
  int64_t defaultDelay = rondo::anyDelay;
  for (const rondo::NamedPolicy &named : rondo::namedPolicies) {
    rondo::VersionPolicy same = named.policy;
    same.maxDelay = policy.maxDelay;
    // The name of a policy with a limit says that limit.
    if (!(same == policy) || (named.policy.maxDelay != rondo::anyDelay &&
                              named.policy.maxDelay != policy.maxDelay))
      continue;
    printer << '"' << named.name << '"';
    defaultDelay = named.policy.maxDelay;
    isNamed = true;
    break;
  }
  if (!isNamed) {
    printer << "forward = " << wordOf(policy.forward)
            << ", backward = " << wordOf(policy.backward);
    if (policy.activations != rondo::BackwardActivations::Graph)
      printer << ", activations = " << wordOf(policy.activations);
  }
  if (policy.maxDelay != defaultDelay)
    printer << ", most_delay = " << policy.maxDelay;
  printer << '>';
}
