//===- Families.cpp - The table of families ---------------------*- C++ -*-===//

#include "schedule/Nearest.h"
#include "schedule/families/Registry.h"

#include <charconv>

using namespace rondo;

const std::vector<Family> &rondo::families() {
  static const std::vector<Family> table = {
      gpipe(), oneFOneB(),        eager1F1B(),     kfkb(),      zbH1(),
      zbH2(),  interleaved1F1B(), interleavedZb(), loopedBfs(), blockwise(),
      zbv(),   zbvAuto(),         vHalf(),         vMin(),      dualPipeV(),
      wave()};
  return table;
}

const Family *rondo::findFamily(const std::string &name) {
  for (const Family &family : families())
    if (name == family.name)
      return &family;
  return nullptr;
}

std::string FamilyChoice::text() const {
  std::string text = family->name;
  char separator = ':';
  for (const auto &[name, value] : arguments) {
    text += separator + name + "=" + std::to_string(value);
    separator = ',';
  }
  return text;
}

std::variant<FamilyChoice, std::string>
rondo::chooseFamily(const std::string &name, const FamilyArguments &arguments) {
  FamilyChoice choice;
  choice.family = findFamily(name);
  if (!choice.family) {
    std::string names;
    std::vector<std::string> known;
    for (const Family &family : families()) {
      known.push_back(family.name);
      names += (names.empty() ? "" : ", ") + std::string(family.name);
    }
    const std::string meant = nearestWord(name, known);
    return "there is no family '" + name + "'; " +
           (meant.empty() ? "" : "did you mean '" + meant + "'? ") +
           "there are " + names;
  }
  std::string known;
  for (const FamilyParameter &parameter : choice.family->parameters) {
    choice.arguments[parameter.name] = parameter.defaultValue;
    known += (known.empty() ? "" : ", ") + std::string(parameter.name);
  }
  for (const auto &[key, value] : arguments) {
    if (!choice.arguments.count(key))
      return name + " has no parameter '" + key + "'" +
             (known.empty() ? "; it takes none" : "; it has " + known);
    choice.arguments[key] = value;
  }
  for (const FamilyParameter &parameter : choice.family->parameters)
    if (int64_t value = choice.arguments[parameter.name];
        value < parameter.minimum)
      return std::string(parameter.name) + " of " + name + " is " +
             std::to_string(value) + "; it must be " +
             std::to_string(parameter.minimum) + " or more";
  return choice;
}

std::variant<FamilyChoice, std::string>
rondo::parseFamily(const std::string &text) {
  size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  FamilyArguments arguments;
  for (size_t begin = colon; begin != std::string::npos;) {
    size_t end = text.find(',', begin + 1);
    std::string pair = text.substr(
        begin + 1, end == std::string::npos ? end : end - begin - 1);
    begin = end;
    size_t equals = pair.find('=');
    int64_t value = 0;
    bool isNumber = false;
    if (equals != std::string::npos) {
      const char *last = pair.data() + pair.size();
      auto [stop, error] =
          std::from_chars(pair.data() + equals + 1, last, value);
      isNumber = error == std::errc() && stop == last;
    }
    if (!isNumber)
      return "'" + pair + "' in '" + text +
             "' is not name=number; write for example kfkb:k=2";
    if (!arguments.insert({pair.substr(0, equals), value}).second)
      return "'" + text + "' gives " + pair.substr(0, equals) + " twice";
  }
  return chooseFamily(name, arguments);
}

std::vector<FamilyChoice> rondo::allFamilies() {
  std::vector<FamilyChoice> choices;
  for (const Family &family : families())
    choices.push_back(std::get<FamilyChoice>(chooseFamily(family.name, {})));
  return choices;
}

std::vector<FamilyChoice> rondo::familyVariants(const Problem &problem) {
  std::vector<FamilyChoice> choices;
  for (const Family &family : families()) {
    if (!family.variants)
      continue;
    for (const FamilyArguments &arguments : family.variants(problem)) {
      auto choice = chooseFamily(family.name, arguments);
      choices.push_back(std::move(std::get<FamilyChoice>(choice)));
    }
  }
  return choices;
}

FamilyResult rondo::generate(const FamilyChoice &choice,
                             const Problem &problem) {
  return choice.family->generate(problem, choice.arguments);
}
