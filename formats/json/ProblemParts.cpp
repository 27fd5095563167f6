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

std::optional<TextFault> readRank(const Value &value, const std::string &where,
                                  const Problem &problem, int64_t &rank) {
  std::optional<TextFault> fault =
      readInteger(value, where, 0, noMemoryCap, rank);
  if (fault || rank < problem.numRanks())
    return fault;
  const std::string last = std::to_string(problem.numRanks() - 1);
  return where + " is " + std::to_string(rank) + "; " +
         (problem.numRanks() == 1 ? "there is only rank 0"
                                  : "the ranks are 0 to " + last);
}

std::optional<TextFault> readMemory(const Value &value,
                                    const std::string &where, int64_t &cap) {
  cap = noMemoryCap;
  return value.isNull() ? std::optional<TextFault>()
                        : readInteger(value, where, 0, noMemoryCap, cap);
}

std::optional<TextFault> readName(const Fields &fields, Problem &problem) {
  std::optional<std::string> name = fields.get("name").string();
  if (!name)
    return "name is " + fields.get("name").excerpt() + ", not a string";
  problem.name = *name;
  return {};
}

std::optional<TextFault> readMicrobatches(const Fields &fields,
                                          Problem &problem) {
  int64_t microbatches;
  std::optional<TextFault> fault =
      readInteger(fields.get("microbatches"), "microbatches", 1,
                  std::numeric_limits<int32_t>::max(), microbatches);
  if (!fault)
    problem.microbatches = static_cast<int32_t>(microbatches);
  return fault;
}

std::optional<TextFault> readObjective(const Fields &fields, Problem &problem) {
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
static std::optional<TextFault>
readSpeed(const Fields &fields, const std::string &where, Link &link) {
  if (auto fault = readInteger(fields.get("latency_ns"), where + ".latency_ns",
                               0, maxFigure, link.latencyNs))
    return fault;
  const Value &rate = fields.get("bytes_per_us");
  if (rate.isNull())
    return {};
  return readInteger(rate, where + ".bytes_per_us", 1, maxFigure,
                     link.bytesPerUs);
}

static std::optional<TextFault> readPairs(const Value &links,
                                          ArrayRef<StringRef> more,
                                          ReadMore readMore, Problem &problem) {
  if (!links.isArray())
    return "links is not a list";
  Elements walk(links);
  for (size_t index = 0; std::optional<Value> value = walk.next(); ++index) {
    std::string where = element("links", index);
    Fields fields;
    if (auto fault = fields.read(
            *value, where, {"from", "to", "latency_ns", "bytes_per_us"}, more))
      return fault;
    int64_t from, to;
    Link link;
    for (auto [key, rank] : {std::pair("from", &from), std::pair("to", &to)})
      if (auto fault =
              readRank(fields.get(key), where + "." + key, problem, *rank))
        return fault;
    if (auto fault = readSpeed(fields, where, link))
      return fault;
    if (auto fault =
            readMore ? readMore(fields, where) : std::optional<TextFault>())
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

std::optional<TextFault> readLinks(const Fields &fields,
                                   ArrayRef<StringRef> more, ReadMore readMore,
                                   Problem &problem) {
  if (const Value *link = fields.find("link")) {
    Fields speed;
    if (auto fault =
            speed.read(*link, "link", {"latency_ns", "bytes_per_us"}, more))
      return fault;
    if (auto fault = readSpeed(speed, "link", problem.link))
      return fault;
    if (auto fault =
            readMore ? readMore(speed, "link") : std::optional<TextFault>())
      return fault;
  }
  const Value *links = fields.find("links");
  return links ? readPairs(*links, more, readMore, problem)
               : std::optional<TextFault>();
}

} // namespace rondo::json
