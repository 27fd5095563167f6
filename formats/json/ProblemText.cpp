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
Field<ProblemText> sizesRow();
const Table<AffineText> &affineTable();

/// A figure that is a number, or an object of affineTable(); byIndex() has its
/// third form.
template <typename T, typename Number, typename Base>
Field<T> inForms(const char *name, Number Base::*figure, UnevenText T::*uneven,
                 const Range &range = costFigure) {
  auto field = Rows<T>::number(name, figure, range);
  field.key->type += ", or an object";
  field.key->inside = &affineTable();
  field.key->read = [read = std::move(field.key->read),
                     uneven](const Place &place, Value value, void *object) {
    if (!value.isObject())
      return read(place, value, object);
    UnevenText &own = static_cast<T *>(object)->*uneven;
    return affineTable().read(place, value, own.affine.emplace());
  };
  Number T::*member = figure;
  field.key->differs = [differs = std::move(field.key->differs), member,
                        uneven](const void *object) {
    const T &of = *static_cast<const T *>(object);
    if constexpr (std::is_same_v<Number, int64_t>)
      if (of.*member == notStated && !(of.*uneven).affine)
        return false;
    return (of.*uneven).affine ||
           ((of.*uneven).byIndex.empty() && differs(object));
  };
  field.key->write = [write = std::move(field.key->write),
                      uneven](llvm::json::OStream &json, const void *object) {
    const UnevenText &own = static_cast<const T *>(object)->*uneven;
    if (!own.affine)
      return write(json, object);
    json.object([&] { affineTable().write(json, *own.affine); });
  };
  return field;
}

template <typename T>
Field<T> byIndex(const char *name, UnevenText T::*uneven) {
  auto field = Rows<T>::custom(
      name, "a list of whole numbers",
      [uneven](const Place &place, Value value, T &to) {
        if (!value.isArray())
          return std::optional<TextFault>(place.wrong(value, "a list"));
        std::vector<int64_t> &list = (to.*uneven).byIndex;
        Elements walk(value);
        while (auto element = walk.next()) {
          const Place here = place[list.size()];
          if (auto fault =
                  readNumber(here, *element, costFigure, list.emplace_back()))
            return fault;
        }
        return list.empty() ? std::optional(place.fault(value, " is empty"))
                            : std::nullopt;
      });
  field.key->isList = true;
  field.key->differs = [uneven](const void *object) {
    return !(static_cast<const T *>(object)->*uneven).byIndex.empty();
  };
  field.key->write = [uneven](llvm::json::OStream &json, const void *object) {
    json.array([&] {
      for (int64_t number : (static_cast<const T *>(object)->*uneven).byIndex)
        json.value(number);
    });
  };
  return field;
}

/// `ns`; differs from other figures in that 0 is written.
Field<CostText> timeInForms() {
  auto field = inForms<CostText>("ns", &CostText::ns, &CostText::unevenNs);
  field.key->read = [read = std::move(field.key->read)](
                        const Place &place, Value value, void *object) {
    static_cast<CostText *>(object)->hasNs = true;
    return read(place, value, object);
  };
  field.key->differs = [](const void *object) {
    return static_cast<const CostText *>(object)->unevenNs.byIndex.empty();
  };
  return field;
}

Field<CostText> releaseInForms() {
  auto field = inForms<CostText>("frees_bytes", &CostText::releaseBytes,
                                 &CostText::unevenRelease);
  field.key->read = [read = std::move(field.key->read)](
                        const Place &place, Value value, void *object) {
    auto &cost = *static_cast<CostText *>(object);
    cost.freesRest = value.string() == "rest";
    return cost.freesRest ? std::optional<TextFault>()
                          : read(place, value, object);
  };
  field.key->differs = [differs =
                            std::move(field.key->differs)](const void *object) {
    return static_cast<const CostText *>(object)->freesRest || differs(object);
  };
  field.key->write = [write = std::move(field.key->write)](
                         llvm::json::OStream &json, const void *object) {
    if (static_cast<const CostText *>(object)->freesRest)
      return json.value("rest");
    write(json, object);
  };
  return field;
}

/// Checks that `key` is stated in one form; `hasNumber`: as a number.
std::optional<TextFault> checkForms(const Place &place, Value value,
                                    const char *key, bool hasNumber,
                                    const UnevenText &uneven) {
  if ((!hasNumber && !uneven.affine) || uneven.byIndex.empty())
    return {};
  return place.fault(value, llvm::Twine(" has ") + key + " and " + key +
                                "_by_index; state one of them");
}

TextFault missingForm(const Place &place, Value value, const char *key) {
  return TextFault(place.mark(value) + "missing key " + quoted(key) + " in " +
                   place.path());
}

std::optional<TextFault> checkCostForms(const Place &place, Value value,
                                        CostText &cost) {
  if (auto fault = checkForms(place, value, "ns", cost.hasNs, cost.unevenNs))
    return fault;
  if (!cost.hasNs && !cost.unevenNs.isStated())
    return missingForm(place, value, "ns");
  if (auto fault =
          checkForms(place, value, "takes_bytes",
                     cost.acquireBytes != notStated, cost.unevenAcquire))
    return fault;
  return checkForms(place, value, "frees_bytes",
                    cost.releaseBytes != notStated || cost.freesRest,
                    cost.unevenRelease);
}

std::optional<TextFault> checkCopyForms(const Place &place, Value value,
                                        const CopyText &copy,
                                        const char *bytesKey) {
  if (auto fault =
          checkForms(place, value, "ns", copy.ns.has_value(), copy.unevenNs))
    return fault;
  return checkForms(place, value, bytesKey, copy.bytes.has_value(),
                    copy.unevenBytes);
}

std::optional<TextFault> checkSaveForms(const Place &place, Value value,
                                        CopyText &copy) {
  return checkCopyForms(place, value, copy, "frees_bytes");
}

std::optional<TextFault> checkLoadForms(const Place &place, Value value,
                                        CopyText &copy) {
  return checkCopyForms(place, value, copy, "takes_bytes");
}

std::optional<TextFault> checkEdgeForms(const Place &place, Value value,
                                        EdgeText &edge) {
  if (auto fault = checkForms(place, value, "bytes", edge.bytes.has_value(),
                              edge.unevenBytes))
    return fault;
  if (!edge.bytes && !edge.unevenBytes.isStated())
    return missingForm(place, value, "bytes");
  return checkForms(place, value, "gradient_bytes",
                    edge.gradientBytes.has_value(), edge.unevenGradientBytes);
}

#include "formats/json/ProblemKeys.def"

/// The cost of a kind in a row of the cost table.
template <ActionKind kind> Field<CostsText> kindOfCost() {
  // Static: the functions below capture nothing.
  static constexpr int column = costColumn(kind);
  auto field = Rows<CostsText>::custom(
      traitsOf(kind).code, "an object",
      [](const Place &place, Value value, CostsText &costs) {
        costs.has[column] = true;
        static_cast<Cost &>(costs.row[column]) = {/*ns=*/0, notStated,
                                                  notStated};
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

Field<ProblemText> sizesRow() {
  auto field = Rows<ProblemText>::listOf(
      "sizes", &ProblemText::sizes, "a list of lists of whole numbers",
      [](const Place &place, Value value, std::vector<int64_t> &sizes) {
        if (!value.isArray())
          return std::optional<TextFault>(
              place.wrong(value, "a list of whole numbers"));
        Elements walk(value);
        while (auto element = walk.next()) {
          const Place here = place[sizes.size()];
          if (auto fault =
                  readNumber(here, *element, figure, sizes.emplace_back()))
            return fault;
        }
        return std::optional<TextFault>();
      },
      notEmpty);
  field.key->write = [](llvm::json::OStream &json, const void *object) {
    json.array([&] {
      for (const std::vector<int64_t> &sizes :
           static_cast<const ProblemText *>(object)->sizes)
        json.array([&] {
          for (int64_t size : sizes)
            json.value(size);
        });
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
