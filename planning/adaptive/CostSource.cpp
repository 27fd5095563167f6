//===- CostSource.cpp - Sources of the costs of a plan --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/adaptive/CostSource.h"

#include "kinds/Counts.h"

using namespace rondo;

static std::string samplesOf(int64_t count) { return countOf(count, "sample"); }

std::string CostSource::text() const {
  const std::string two = std::to_string(low) + " and " + samplesOf(high);
  switch (kind) {
  case Kind::Measured:
    return "measured";
  case Kind::Between:
    return "between those measured with " + two;
  case Kind::Beyond:
    return "beyond those measured with " + two;
  case Kind::InProportion:
    return "in proportion to those of " + samplesOf(low);
  case Kind::Stated:
    return "as stated";
  case Kind::Estimated:
    return "estimated from operations";
  }
  return "";
}

void CostSources::add(const CostSource &source) {
  isMixed |= !isEmpty && !(source == least);
  if (isEmpty || source.kind > least.kind)
    least = source;
  isEmpty = false;
}

void CostSources::addAll(const CostSources &sources) {
  if (sources.isEmpty)
    return;
  add(sources.least);
  isMixed |= sources.isMixed;
}

std::string CostSources::text() const {
  return (isMixed ? "in part " : "") + least.text();
}
