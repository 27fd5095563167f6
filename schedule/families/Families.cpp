//===- Families.cpp - The table of families ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/EditDistance.h"
#include "schedule/families/OwnRanks.h"
#include "schedule/families/Registry.h"
#include "schedule/families/Replicas.h"
#include "schedule/families/UnevenOrder.h"
#include "schedule/gathers/PlaceGathers.h"
#include "schedule/simulate/Simulator.h"
#include "schedule/transforms/Iterations.h"
#include "schedule/transforms/Recomputed.h"
#include "schedule/transforms/SlowCopies.h"

#include <algorithm>
#include <charconv>

using namespace rondo;

const std::vector<Family> &rondo::families() {
  static const std::vector<Family> table = {
      gpipe(),         oneFOneB(),  eager1F1B(), kfkb(),
      zbH1(),          zbH2(),      zbAuto(),    interleaved1F1B(),
      interleavedZb(), loopedBfs(), blockwise(), zbv(),
      zbvAuto(),       vHalf(),     vMin(),      dualPipeV(),
      wave(),          spp(),       pipeDream(), twoBufferedWeights(),
      pipeMare(),      timePrest()};
  return table;
}

const Family *rondo::findFamily(const std::string &name) {
  for (const Family &family : families())
    if (name == family.name)
      return &family;
  return nullptr;
}

static const FamilyParameter *findParameter(const Family &family,
                                            const std::string &name) {
  for (const FamilyParameter &parameter : family.parameters)
    if (name == parameter.name)
      return &parameter;
  return nullptr;
}

std::string FamilyChoice::text() const {
  std::string text = family->name;
  char separator = ':';
  for (const auto &[name, value] : arguments) {
    const FamilyParameter *parameter = findParameter(*family, name);
    if (parameter && parameter->isOfPlan && value == parameter->defaultValue)
      continue;
    text += separator + name + "=" +
            (value == autoArgument ? "auto" : std::to_string(value));
    separator = ',';
  }
  const auto add = [&](const std::string &argument) {
    text += separator + argument;
    separator = ',';
  };
  if (order != FamilyOrder::Given)
    add(std::string("order=") + familyOrderWords[static_cast<int>(order)]);
  if (offload)
    add(std::string("offload=") +
        offloadWords[static_cast<int>(offload->pairs)]);
  if (offload && offload->chunks > 0)
    add("offload_chunks=" + std::to_string(offload->chunks));
  return text;
}

bool FamilyChoice::hasAuto() const {
  return std::any_of(
      arguments.begin(), arguments.end(),
      [](const auto &argument) { return argument.second == autoArgument; });
}

/// Joins names by commas: `1f1b, gpipe`.
static std::string listOf(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

static Fault noSuchFamily(const std::string &name) {
  std::vector<std::string> known;
  for (const Family &family : families())
    known.push_back(family.name);
  const std::string meant = nearestWord(name, known);
  if (meant.empty())
    return makeFault<FaultKind::NoSuchFamily>(name, listOf(known));
  return makeFault<FaultKind::MistypedFamily>(name, meant, listOf(known));
}

Result<FamilyChoice> rondo::chooseFamily(const std::string &name,
                                         const FamilyArguments &arguments) {
  FamilyChoice choice;
  choice.family = findFamily(name);
  if (!choice.family)
    return noSuchFamily(name);
  std::vector<std::string> known;
  for (const FamilyParameter &parameter : choice.family->parameters) {
    choice.arguments[parameter.name] = parameter.defaultValue;
    known.push_back(parameter.name);
  }
  for (const auto &[key, value] : arguments) {
    if (!choice.arguments.count(key))
      return known.empty() ? makeFault<FaultKind::NoParameters>(name, key)
                           : makeFault<FaultKind::NoSuchParameter>(
                                 name, key, listOf(known));
    choice.arguments[key] = value;
  }
  for (const FamilyParameter &parameter : choice.family->parameters)
    if (int64_t value = choice.arguments[parameter.name];
        value == autoArgument && !parameter.mayBeAuto)
      return makeFault<FaultKind::NoAutoParameter>(parameter.name, name);
    else if (value > parameter.maximum)
      return makeFault<FaultKind::LargeParameter>(
          parameter.name, name, value, parameter.minimum, parameter.maximum);
    else if (value != autoArgument && value < parameter.minimum)
      return makeFault<FaultKind::SmallParameter>(parameter.name, name, value,
                                                  parameter.minimum);
  return choice;
}

Result<FamilyOrder> rondo::familyOrderOf(const std::string &word) {
  for (size_t i = 0; i < std::size(familyOrderWords); ++i)
    if (word == familyOrderWords[i])
      return static_cast<FamilyOrder>(i);
  return makeFault<FaultKind::NoSuchOrder>(
      word, listOf({std::begin(familyOrderWords), std::end(familyOrderWords)}));
}

Result<OffloadOptions> rondo::offloadOf(const std::string &word, int64_t chunks,
                                        const std::string &written) {
  OffloadOptions options;
  if (word.empty())
    return makeFault<FaultKind::ChunksOfNoOffload>(written);
  const auto found =
      std::find(std::begin(offloadWords), std::end(offloadWords), word);
  if (found == std::end(offloadWords))
    return makeFault<FaultKind::NoSuchOffload>(
        word, listOf({std::begin(offloadWords), std::end(offloadWords)}));
  if (chunks < 0 || chunks > maxOffloadChunks)
    return makeFault<FaultKind::OffloadChunks>(chunks, maxOffloadChunks);
  options.pairs =
      static_cast<OffloadOptions::Pairs>(found - std::begin(offloadWords));
  options.chunks = static_cast<int32_t>(chunks);
  return options;
}

Result<FamilyChoice> rondo::parseFamily(const std::string &text) {
  size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  FamilyArguments arguments;
  std::optional<FamilyOrder> order;
  std::optional<std::string> offload;
  for (size_t begin = colon; begin != std::string::npos;) {
    size_t end = text.find(',', begin + 1);
    std::string pair = text.substr(
        begin + 1, end == std::string::npos ? end : end - begin - 1);
    begin = end;
    size_t equals = pair.find('=');
    if (pair.substr(0, equals) == orderName && equals != std::string::npos) {
      if (order)
        return makeFault<FaultKind::ParameterTwice>(text, orderName);
      const Result<FamilyOrder> word = familyOrderOf(pair.substr(equals + 1));
      if (!word)
        return word.fault();
      order = *word;
      continue;
    }
    if (pair == offloadName || pair == std::string(offloadName) + "=")
      return makeFault<FaultKind::NoOffloadWord>(text);
    if (pair.substr(0, equals) == offloadName && equals != std::string::npos) {
      if (offload)
        return makeFault<FaultKind::ParameterTwice>(text, offloadName);
      offload = pair.substr(equals + 1);
      continue;
    }
    int64_t value = 0;
    bool isNumber = false;
    if (equals != std::string::npos) {
      const char *last = pair.data() + pair.size();
      auto [stop, error] =
          std::from_chars(pair.data() + equals + 1, last, value);
      isNumber = error == std::errc() && stop == last;
      if (pair.substr(equals + 1) == "auto") {
        value = autoArgument;
        isNumber = true;
      } else if (isNumber && value == autoArgument) {
        isNumber = false;
      }
    }
    if (!isNumber)
      return makeFault<FaultKind::NoParameterPair>(pair, text);
    if (!arguments.insert({pair.substr(0, equals), value}).second)
      return makeFault<FaultKind::ParameterTwice>(text, pair.substr(0, equals));
  }
  int64_t chunks = 0;
  const auto stated = arguments.find(offloadChunksName);
  if (stated != arguments.end()) {
    chunks = stated->second;
    arguments.erase(stated);
  }
  Result<FamilyChoice> choice = chooseFamily(name, arguments);
  if (!choice)
    return choice;
  choice->order = order.value_or(FamilyOrder::Given);
  if (offload || chunks != 0) {
    const Result<OffloadOptions> options =
        offloadOf(offload.value_or(""), chunks, text);
    if (!options)
      return options.fault();
    choice->offload = *options;
  }
  return choice;
}

static std::vector<FamilyChoice> choicesOf(bool areOverlapped) {
  std::vector<FamilyChoice> choices;
  for (const Family &family : families())
    if ((family.policy != nullptr) == areOverlapped)
      choices.push_back(*chooseFamily(family.name, {}));
  return choices;
}

std::vector<FamilyChoice> rondo::allFamilies() { return choicesOf(false); }

std::vector<FamilyChoice> rondo::overlappedFamilies() {
  return choicesOf(true);
}

Problem rondo::withPolicyOf(const FamilyChoice &choice,
                            const Problem &problem) {
  Problem result = problem;
  if (!choice.family->policy || !problem.versions.empty() ||
      problem.iterations == 1)
    return result;
  for (const NamedPolicy &named : namedPolicies)
    if (named.name == std::string(choice.family->policy))
      result.versions.assign(problem.numStages(), named.policy);
  return result;
}

std::vector<FamilyChoice> rondo::familyVariants(const Problem &problem) {
  if (RankGroups::areNeeded(problem)) {
    const auto groups = RankGroups::of(problem);
    return groups ? familyVariants(groups->groupProblem())
                  : std::vector<FamilyChoice>();
  }
  if (hasRecomputation(problem))
    return familyVariants(withoutRecomputation(problem));
  std::vector<FamilyChoice> choices;
  for (const Family &family : families()) {
    if (!family.variants)
      continue;
    for (const FamilyArguments &arguments : family.variants(problem)) {
      auto choice = chooseFamily(family.name, arguments);
      choices.push_back(std::move(*choice));
    }
  }
  return choices;
}

/// The fault of a problem that is not a chain.
static Fault noChain(const char *family, const Problem &problem) {
  std::vector<bool> isFed(problem.numStages());
  for (const Edge &edge : problem.edges) {
    if (std::abs(edge.to - edge.from) != 1)
      return makeFault<FaultKind::AlsoFeeds>(
          family, std::min(edge.from, edge.to), std::max(edge.from, edge.to));
    if (edge.producer == ActionKind::Forward)
      isFed[edge.to] = true;
  }
  for (int32_t s = 1; s < problem.numStages(); ++s)
    if (!isFed[s])
      return makeFault<FaultKind::HasNoInputFrom>(family, s, s - 1);
  return makeFault<FaultKind::EdgesInAnotherOrder>(family);
}

static std::vector<std::string>
namesOf(const std::vector<FamilyChoice> &choices) {
  std::vector<std::string> names;
  for (const FamilyChoice &choice : choices)
    names.push_back(choice.family->name);
  return names;
}

/// The order of a family with the copies that `choice` asks for.
static FamilyResult generateCopies(const FamilyChoice &choice,
                                   const Problem &problem) {
  if (!problem.hostMemory.hasCopies())
    return makeFault<FaultKind::NothingToOffload>(
        choice.family->name,
        offloadWords[static_cast<int>(choice.offload->pairs)]);
  FamilyChoice plain = choice;
  plain.offload.reset();
  // Copies make it fit; generateUneven() would delay forwards.
  Problem free = problem;
  if (problem.isUneven())
    std::fill(free.memoryCaps.begin(), free.memoryCaps.end(), noMemoryCap);
  FamilyResult result = generate(plain, free);
  if (!result || !simulate(problem, *result).complete)
    return result;
  // Gathers are placed later, and need memory.
  const Problem whole =
      problem.replicas.areSharded() ? withWholeState(problem) : problem;
  if (choice.offload->pairs == OffloadOptions::Pairs::Fit)
    if (const auto slow = findSlowCopies(whole, *result))
      return makeFault<FaultKind::NoTimeToOffload>(
                 choice.family->name, problem.replicas[slow->replica].stage,
                 slow->copiesNs, slow->idleNs)
          .withRank(problem.rankOf(slow->replica));
  return withCopies(whole, *result, *choice.offload);
}

FamilyResult rondo::generate(const FamilyChoice &choice,
                             const Problem &problem) {
  if (choice.offload)
    return generateCopies(choice, problem);
  for (const auto &[name, value] : choice.arguments)
    if (value == autoArgument)
      return makeFault<FaultKind::NoAutoParameter>(name, choice.family->name);
  if (problem.isUneven())
    return generateUneven(choice, problem);
  if (RankGroups::areNeeded(problem)) {
    auto groups = RankGroups::of(problem);
    if (!groups)
      return std::move(groups.fault());
    const RankGroups &found = *groups;
    const Problem ofGroups = found.groupProblem();
    FamilyResult result = generate(choice, ofGroups);
    if (result)
      return found.spread(*result);
    if (result.fault().kind == FaultKind::FewForTwoVersions &&
        found.roundSize() > 1)
      return makeFault<FaultKind::FewRoundsForTwoVersions>(
          choice.family->name, ofGroups.microbatchesEach(), found.roundSize(),
          problem.numStages(),
          int64_t(problem.numStages()) * found.roundSize());
    if (problem.replicas.isReplicated())
      return makeFault<FaultKind::OfGroups>(describe(result.fault()));
  }
  if (hasRecomputation(problem)) {
    FamilyResult result = generate(choice, withoutRecomputation(problem));
    if (result)
      return withRecomputation(problem, *result);
    return result;
  }
  if (choice.family->needsChain && !problem.isChain())
    return noChain(choice.family->name, problem);
  if (choice.family->policy && haveSeveralStages(problem))
    // No stage has more iterations under way than there are stages.
    return orderOnOwnRanks(
        problem, problem.numStages() + 1, [&](const Problem &own) {
          return choice.family->generate(own, choice.arguments);
        });
  if (choice.family->policy || problem.iterations == 1)
    return choice.family->generate(problem, choice.arguments);
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    if (const VersionPolicy policy = problem.policyOf(stage);
        !problem.versions.empty() && !(policy == synchronousPolicy))
      return makeFault<FaultKind::FamilyIsSynchronous>(
          choice.family->name, stage, wordOf(policy.forward),
          wordOf(policy.backward), listOf(namesOf(overlappedFamilies())));
  FamilyResult result =
      choice.family->generate(oneIteration(problem), choice.arguments);
  if (result)
    return repeatOrder(problem, *result);
  return result;
}
