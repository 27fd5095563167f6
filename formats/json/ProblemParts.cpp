//===- ProblemParts.cpp - What both versions of a problem have ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemParts.h"

#include "llvm/ADT/Twine.h"

#include <limits>

using llvm::ArrayRef;
using llvm::StringRef;

namespace rondo::json {

std::string element(StringRef list, size_t index) {
  return (list + "[" + llvm::Twine(index) + "]").str();
}

Fault readRank(const Value &value, const std::string &where,
               const Problem &problem, int64_t &rank) {
  Fault fault = readInteger(value, where, 0, noMemoryCap, rank);
  if (!fault.empty() || rank < problem.numRanks())
    return fault;
  const std::string last = std::to_string(problem.numRanks() - 1);
  return where + " is " + std::to_string(rank) + "; " +
         (problem.numRanks() == 1 ? "there is only rank 0"
                                  : "the ranks are 0 to " + last);
}

Fault readMemory(const Value &value, const std::string &where, int64_t &cap) {
  cap = noMemoryCap;
  return value.isNull() ? Fault()
                        : readInteger(value, where, 0, noMemoryCap, cap);
}

Fault readName(const Fields &fields, Problem &problem) {
  std::optional<std::string> name = fields.get("name").string();
  if (!name)
    return "name is " + fields.get("name").excerpt() + ", not a string";
  problem.name = *name;
  return {};
}

Fault readMicrobatches(const Fields &fields, Problem &problem) {
  int64_t microbatches;
  Fault fault = readInteger(fields.get("microbatches"), "microbatches", 1,
                            std::numeric_limits<int32_t>::max(), microbatches);
  if (fault.empty())
    problem.microbatches = static_cast<int32_t>(microbatches);
  return fault;
}

Fault readObjective(const Fields &fields, Problem &problem) {
  const Value *objective = fields.find("objective");
  if (!objective)
    return {};
  std::optional<std::string> text = objective->string();
  if (text != "makespan" && text != "span")
    return "objective is " + objective->excerpt() +
           ", not \"makespan\" or \"span\"";
  problem.objective = text == "span" ? Objective::Span : Objective::Makespan;
  return {};
}

/// Latency and rate, which both `link` and the elements of `links` have.
static Fault readSpeed(const Fields &fields, const std::string &where,
                       Link &link) {
  if (Fault fault = readInteger(fields.get("latency_ns"), where + ".latency_ns",
                                0, mostFigure, link.latencyNs);
      !fault.empty())
    return fault;
  const Value &rate = fields.get("bytes_per_us");
  if (rate.isNull())
    return {};
  return readInteger(rate, where + ".bytes_per_us", 1, mostFigure,
                     link.bytesPerUs);
}

static Fault readPairs(const Value &links, ArrayRef<StringRef> more,
                       ReadMore readMore, Problem &problem) {
  if (!links.isArray())
    return "links is not a list";
  Elements walk(links);
  for (size_t index = 0; std::optional<Value> value = walk.next(); ++index) {
    std::string where = element("links", index);
    Fields fields;
    if (Fault fault = fields.read(
            *value, where, {"from", "to", "latency_ns", "bytes_per_us"}, more);
        !fault.empty())
      return fault;
    int64_t from, to;
    Link link;
    for (auto [key, rank] : {std::pair("from", &from), std::pair("to", &to)})
      if (Fault fault =
              readRank(fields.get(key), where + "." + key, problem, *rank);
          !fault.empty())
        return fault;
    if (Fault fault = readSpeed(fields, where, link); !fault.empty())
      return fault;
    if (Fault fault = readMore ? readMore(fields, where) : Fault();
        !fault.empty())
      return fault;
    std::string pair =
        "rank " + std::to_string(from) + " to rank " + std::to_string(to);
    if (from == to)
      return where + " goes from " + pair;
    if (!problem.links.try_emplace({from, to}, link).second)
      return where + " is the second one from " + pair;
  }
  return {};
}

Fault readLinks(const Fields &fields, ArrayRef<StringRef> more,
                ReadMore readMore, Problem &problem) {
  if (const Value *link = fields.find("link")) {
    Fields speed;
    if (Fault fault =
            speed.read(*link, "link", {"latency_ns", "bytes_per_us"}, more);
        !fault.empty())
      return fault;
    if (Fault fault = readSpeed(speed, "link", problem.link); !fault.empty())
      return fault;
    if (Fault fault = readMore ? readMore(speed, "link") : Fault();
        !fault.empty())
      return fault;
  }
  const Value *links = fields.find("links");
  return links ? readPairs(*links, more, readMore, problem) : Fault();
}

} // namespace rondo::json
