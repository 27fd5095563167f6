//===- Arguments.cpp - Parses and checks a command line -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Arguments.h"

#include "dialect/Nearest.h"
#include "schedule/families/Family.h"
#include "tools/driver/Commands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/Option.h"
#include "llvm/Support/ErrorHandling.h"

#include <limits>

using namespace llvm;

namespace rondo::driver {

std::vector<OptionText> optionTexts(const opt::OptTable &table) {
  std::vector<OptionText> texts;
  for (unsigned id = UnknownOption + 1; id <= table.getNumOptions(); ++id) {
    const char *help = table.getOptionHelpText(id);
    // The joined form of an option has no help.
    if (!help)
      continue;
    OptionText text;
    text.dashes = table.getOptionPrefix(id);
    text.name = table.getOptionName(id);
    if (const char *metavar = table.getOptionMetaVar(id))
      text.metavar = metavar;
    text.help = help;
    text.words = table.suggestValueCompletions(text.spelling(), "");
    text.isFamily = table.getOption(id).hasFlag(option_flags::Family);
    text.isList = text.metavar == "LIST";
    texts.push_back(std::move(text));
  }
  sort(texts, [](const OptionText &a, const OptionText &b) {
    return a.name < b.name;
  });
  return texts;
}

Arguments::Arguments(const Command &command, ArrayRef<const char *> arguments)
    : command(command), written(arguments), texts(optionTexts(command.options)),
      list(command.options.ParseArgs(arguments, missingIndex, missingCount)) {}

const OptionText *Arguments::textOf(StringRef spelling) const {
  auto it = find_if(texts, [&](const OptionText &text) {
    return text.spelling() == spelling;
  });
  return it == texts.end() ? nullptr : &*it;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

std::string Arguments::unknownOption(StringRef argument) const {
  auto [name, value] = argument.split('=');
  // Help is an option of every command and in no table.
  if (textOf(name) || name == "--help" || name == "-help" || name == "-h")
    return (name + " takes no value, but got '" + value + "'").str();
  const std::string text =
      (StringRef(command.name) + " has no option " + name).str();
  // `-x` is close to every option of one letter.
  SmallVector<StringRef> names;
  for (const OptionText &known : texts)
    if (known.name.size() > 1)
      names.push_back(known.name);
  const std::string nearest = didYouMean(name.ltrim('-'), names);
  if (nearest.empty())
    return text + "; `rondo " + command.name + " --help` lists them";
  StringRef meant = nearest;
  meant.consume_front("; did you mean ");
  return text + "; did you mean --" + meant.str();
}

/// `cpu or cuda`, `a, b or c`.
static std::string anyOf(ArrayRef<std::string> words) {
  return join(words.drop_back(), ", ") + " or " + words.back();
}

/// Error of an option whose value is a whole number of at least `least`; empty
/// if the value is valid.
static std::string numberFault(StringRef value, int64_t least) {
  int64_t number = 0;
  const bool isTooLong = value.getAsInteger(10, number);
  if (!isTooLong && number >= least)
    return "";
  if (isTooLong && !value.empty() && all_of(value, isDigit))
    return "at most " + std::to_string(std::numeric_limits<int64_t>::max());
  return "a whole number of " + std::to_string(least) + " or more";
}

/// The option as the user wrote it.
static StringRef spelledIn(const opt::Arg &argument) {
  const opt::Arg *alias = argument.getAlias();
  return (alias ? alias : &argument)->getSpelling().rtrim('=');
}

std::string Arguments::faultOf(const opt::Arg &argument) const {
  const opt::Option option = argument.getOption();
  if (option.getID() == UnknownOption)
    return unknownOption(argument.getValue());
  if (option.getID() == InputOption)
    return "";
  const StringRef name = spelledIn(argument);
  if (!option.hasFlag(option_flags::Repeatable) &&
      find(option.getName()) != &argument)
    return (name + " is given twice").str();
  if (argument.getNumValues() == 0)
    return "";
  const StringRef value = argument.getValue();
  if (value.empty())
    return (name + " has an empty value; it takes " +
            textOf(option.getPrefixedName())->metavar)
        .str();
  std::string must;
  if (option.hasFlag(option_flags::Word)) {
    const std::vector<std::string> &words =
        textOf(option.getPrefixedName())->words;
    if (!is_contained(words, value))
      must = anyOf(words);
  } else if (option.hasFlag(option_flags::Number)) {
    must = numberFault(value, 0);
  } else if (option.hasFlag(option_flags::Positive)) {
    must = numberFault(value, 1);
  }
  if (must.empty())
    return "";
  return (name + " is '" + value + "'; it must be " + must).str();
}

std::string Arguments::fault() const {
  for (const opt::Arg *argument : list)
    if (std::string fault = faultOf(*argument); !fault.empty())
      return fault;
  if (missingCount > 0) {
    const std::string name = written[missingIndex];
    return name + " needs a value: " + name + " " + textOf(name)->metavar.str();
  }
  if (const size_t count = list.getAllArgValues(InputOption).size();
      count > command.maxFiles)
    return std::string(command.name) + " takes " +
           (command.maxFiles == 1
                ? "one file, but got several"
                : std::to_string(command.maxFiles) + " files, but got " +
                      std::to_string(count));
  return "";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const opt::Arg *Arguments::find(StringRef name) const {
  const opt::Arg *last = nullptr;
  for (const opt::Arg *argument : list)
    if (argument->getOption().getName() == name)
      last = argument;
  assert((last || textOf(("--" + name).str())) && "the table has the option");
  return last;
}

std::string Arguments::file() const {
  return list.getLastArgValue(InputOption).str();
}

std::vector<std::string> Arguments::files() const {
  return list.getAllArgValues(InputOption);
}

std::string Arguments::text(StringRef name, StringRef otherwise) const {
  const opt::Arg *argument = find(name);
  return argument ? argument->getValue() : otherwise.str();
}

int64_t Arguments::number(StringRef name, int64_t otherwise) const {
  int64_t number = otherwise;
  if (const opt::Arg *argument = find(name))
    StringRef(argument->getValue()).getAsInteger(10, number);
  return number;
}

std::vector<std::string> Arguments::all(StringRef name) const {
  std::vector<std::string> values;
  for (const opt::Arg *argument : list)
    if (argument->getOption().getName() == name)
      values.push_back(argument->getValue());
  return values;
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

/// The first parameter of a family whose number int64 does not hold.
static std::optional<std::string> largeParameter(StringRef text) {
  SmallVector<StringRef> pairs;
  text.split(':').second.split(pairs, ',');
  for (StringRef pair : pairs) {
    StringRef digits = pair.split('=').second;
    digits.consume_front("-");
    int64_t number;
    if (!digits.empty() && all_of(digits, isDigit) &&
        digits.getAsInteger(10, number))
      return pair.str();
  }
  return std::nullopt;
}

std::optional<std::string> chooseFamilies(const std::string &text,
                                          std::vector<FamilyChoice> &choices) {
  if (text == "all") {
    append_range(choices, allFamilies());
    return std::nullopt;
  }
  if (std::optional<std::string> pair = largeParameter(text))
    return "'" + *pair + "' in '" + text +
           "' is too large; numbers are at most " +
           std::to_string(std::numeric_limits<int64_t>::max());
  auto choice = parseFamily(text);
  if (!choice)
    return describe(choice.fault());
  choices.push_back(*choice);
  return std::nullopt;
}

} // namespace rondo::driver
