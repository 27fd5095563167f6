//===- OptionFault.cpp - Faults of a command line for people --------------===//

#include "tools/driver/OptionFault.h"

#include "llvm/ADT/STLExtras.h"

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

static std::string unknownOption(const Command &command, StringRef said) {
  StringRef name = command.options->getName();
  StringRef option = takeBetween(said, "argument '", "'");
  // `-x` is close to every option of one letter.
  StringRef near = takeBetween(said, "Did you mean '", "'");
  std::string text = (name + " has no option " + option).str();
  if (near.starts_with("--") && near != "--help")
    return text + "; did you mean " + near.str() + "?";
  return text + "; `rondo " + name.str() + " --help` lists them";
}

std::string findValueFault(const Command &command, ArrayRef<char *> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (argument == "--")
      break;
    auto [name, value] = argument.split('=');
    auto known = command.options->OptionsMap.find(name.ltrim('-'));
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
    const bool isNumber =
        option.ValueStr == "N" || option.ValueStr == "PERCENT";
    int64_t number = 0;
    if (!isNumber || (!value.getAsInteger(10, number) && number >= 0))
      continue;
    StringRef digits = value;
    digits.consume_front("-");
    const bool isLarge =
        !value.starts_with("-") && !digits.empty() &&
        all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    return (name + " is '" + value + "'; it must be " +
            (isLarge ? "a smaller number" : "a whole number of 0 or more"))
        .str();
  }
  return "";
}

std::string describeOptionFault(const Command &command, StringRef said) {
  if (said.contains("Unknown command line argument"))
    return unknownOption(command, said);
  if (said.contains("Too many positional arguments"))
    return command.options->getName().str() +
           " takes one file; there are several";
  said = said.trim();
  said.consume_front("rondo: ");
  return said.str();
}

} // namespace rondo::driver
