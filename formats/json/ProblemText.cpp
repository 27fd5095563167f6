//===- ProblemText.cpp - The keys of rondo-problem ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemText.h"

#include "formats/json/Rows.h"

#include <limits>

namespace rondo::json {

namespace {

/// Context::limits of these numbers.
enum Limit { LastStage, Samples, Iterations };

constexpr int64_t maxInt32 = std::numeric_limits<int32_t>::max();
/// Two such figures add up without overflow.
constexpr Range costFigure = {0, maxFigure - 1};
constexpr Range bytesOrNoCap = {0, noMemoryCap, noMemoryCap};
constexpr Range rank = {0, noMemoryCap};

int64_t mostIterations(const ProblemText &problem) {
  return std::max<int64_t>(1, maxMicrobatches /
                                  std::max<int64_t>(1, problem.microbatches));
}
int64_t samplesOf(const ProblemText &problem) {
  return problem.samples.value_or(1);
}
int64_t lastStageOf(const ProblemText &problem) {
  return int64_t(problem.stages.size()) - 1;
}

template <ActionKind kind> Field<CostsText> kindOfCost();
Field<StageText> versionsRow();

#include "formats/json/ProblemKeys.def"

/// The cost of a kind in a row of the cost table.
template <ActionKind kind> Field<CostsText> kindOfCost() {
  // Static: the functions below capture nothing.
  static constexpr int column = costColumn(kind);
  auto field = Rows<CostsText>::custom(
      traitsOf(kind).code, "an object",
      [](const Place &place, Value value, CostsText &costs) {
        costs.has[column] = true;
        costs.row[column] = {/*ns=*/0, notStated, notStated};
        return costTable().read(place, value, costs.row[column]);
      });
  field.key->inside = &costTable();
  field.key->differs = [](const void *costs) {
    return static_cast<const CostsText *>(costs)->has[column];
  };
  field.key->write = [](llvm::json::OStream &json, const void *costs) {
    json.object([&] {
      costTable().write(json,
                        static_cast<const CostsText *>(costs)->row[column]);
    });
  };
  return field;
}

/// An object, or the name of a policy.
Field<StageText> versionsRow() {
  auto field =
      Rows<StageText>::object("versions", &StageText::versions, policyTable());
  field.key->type = "an object, or the name of a policy";
  field.key->read = [](const Place &place, Value value, void *stage) {
    return readPolicy(place, value,
                      static_cast<StageText *>(stage)->versions.emplace());
  };
  return field;
}

} // namespace

std::optional<TextFault> readPolicy(const Place &place, Value value,
                                    VersionPolicy &policy) {
  const std::optional<std::string> name = value.string();
  if (!name)
    return policyTable().read(place, value, policy);
  std::string names;
  for (const NamedPolicy &named : namedPolicies) {
    if (*name == named.name) {
      policy = named.policy;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(named.name);
  }
  return place.fault(value, " is " + value.excerpt() +
                                ", which is no policy; there are " + names);
}

void writePolicy(llvm::json::OStream &json, const VersionPolicy &policy) {
  json.object([&] { policyTable().write(json, policy); });
}

const Table<ProblemText> &problemTable(int version) {
  return version == 1 ? firstTable() : secondTable();
}

std::optional<TextFault> readProblemText(Value value, ProblemText &text) {
  const std::optional<Value> format = findMember(value, "format");
  Context context;
  context.limits[Samples] = 1; // until `samples` is read
  context.format = "rondo-problem/2";
  if (format && format->string() == std::string(context.format))
    context.version = 2;
  else if (format && format->string() != "rondo-problem/1")
    return "format is " + format->excerpt() +
           ", not \"rondo-problem/1\" or \"rondo-problem/2\"";
  return problemTable(context.version)
      .read(Place(context, "problem"), value, text);
}

} // namespace rondo::json
