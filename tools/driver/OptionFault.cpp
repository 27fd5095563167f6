//===- OptionFault.cpp - Faults of a command line for people --------------===//

#include "tools/driver/OptionFault.h"

#include "dialect/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rondo::driver {

/// What stands between `before` and `after`, behind which `text` then begins.
static StringRef takeBetween(StringRef &text, StringRef before,
                             StringRef after) {
  text = text.split(before).second;
  auto [taken, rest] = text.split(after);
  text = rest;
  return taken;
}

static std::string unknownOption(const Command &command, StringRef option) {
  StringRef name = command.options->getName();
  std::string text = (name + " has no option " + option).str();
  // With its dashes, which count as no fault. `-x` is close to every option of
  // one letter.
  SmallVector<std::string> options;
  for (const auto &known : command.options->OptionsMap)
    if (known.first.size() > 1 &&
        is_contained(known.second->Categories, &category))
      options.push_back(known.first.str());
  std::string nearest =
      didYouMean(option.ltrim('-'),
                 SmallVector<StringRef>(options.begin(), options.end()));
  if (nearest.empty())
    return text + "; `rondo " + name.str() + " --help` lists them";
  StringRef meant = nearest;
  meant.consume_front("; did you mean ");
  return text + "; did you mean --" + meant.str();
}

/// The words that an option takes, such as `cpu|cuda`; `FILE` is none.
static SmallVector<StringRef> wordsOf(const cl::Option &option) {
  SmallVector<StringRef> words;
  if (option.ValueStr.contains('|'))
    option.ValueStr.split(words, '|');
  return words;
}

/// `cpu or cuda`, `a, b or c`.
static std::string anyOf(ArrayRef<StringRef> words) {
  return join(words.drop_back(), ", ") + " or " + words.back().str();
}

/// The least that an option takes which takes a number. No effort is no search.
static int64_t leastOf(const cl::Option &option) {
  return option.ArgStr == "effort" ? 1 : 0;
}

std::string findArgumentFault(const Command &command,
                              ArrayRef<char *> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (argument == "--")
      break;
    auto [name, value] = argument.split('=');
    auto known = command.options->OptionsMap.find(name.ltrim('-'));
    // LLVM would take the letters of `--opt` for options of one letter; its own
    // options are not in the map yet.
    if (name.starts_with("--") && !name.starts_with("--help-") &&
        !name.starts_with("--print-") && name != "--version" &&
        known == command.options->OptionsMap.end())
      return unknownOption(command, name);
    if (!name.starts_with("-") || known == command.options->OptionsMap.end() ||
        !is_contained(known->second->Categories, &category))
      continue;
    const cl::Option &option = *known->second;
    const bool hasValue = argument.contains('=');
    if (option.getValueExpectedFlag() != cl::ValueRequired) {
      if (hasValue)
        return (name + " takes no value, but got '" + value + "'").str();
      continue;
    }
    if (!hasValue && i + 1 == arguments.size())
      return (name + " needs a value: " + name + " " + option.ValueStr).str();
    if (!hasValue)
      value = arguments[++i];
    SmallVector<StringRef> words = wordsOf(option);
    if (!words.empty() && !is_contained(words, value))
      return (name + " is '" + value + "'; it must be " + anyOf(words)).str();
    const bool isNumber =
        option.ValueStr == "N" || option.ValueStr == "PERCENT";
    const int64_t least = leastOf(option);
    int64_t number = 0;
    if (!isNumber || (!value.getAsInteger(10, number) && number >= least))
      continue;
    StringRef digits = value;
    digits.consume_front("-");
    const bool isLarge =
        !value.starts_with("-") && !digits.empty() &&
        value.getAsInteger(10, number) &&
        all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    return (name + " is '" + value + "'; it must be " +
            (isLarge
                 ? "a smaller number"
                 : "a whole number of " + std::to_string(least) + " or more"))
        .str();
  }
  return "";
}

std::string describeOptionFault(const Command &command, StringRef said) {
  if (said.contains("Unknown command line argument"))
    return unknownOption(command, takeBetween(said, "argument '", "'"));
  if (said.contains("Too many positional arguments"))
    return command.options->getName().str() +
           " takes one file; there are several";
  said = said.trim();
  said.consume_front("rondo: ");
  return said.str();
}

} // namespace rondo::driver
