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

static std::string faultOfValue(const Command &command, StringRef said) {
  StringRef option = takeBetween(said, "for the ", " option: ");
  auto known = command.options->OptionsMap.find(option.ltrim('-'));
  StringRef valueName = known == command.options->OptionsMap.end()
                            ? StringRef()
                            : known->second->ValueStr;
  if (said.starts_with("requires a value"))
    return (option + " needs a value: " + option + " " +
            (valueName.empty() ? "VALUE" : valueName))
        .str();
  StringRef value = takeBetween(said, "'", "'");
  if (said.contains("boolean"))
    return (option + " takes no value, but got '" + value + "'").str();
  std::string text = (option + " is '" + value + "'; it must be ").str();
  const bool isNumber =
      !value.empty() &&
      all_of(value.drop_while([](char c) { return c == '-'; }),
             [](char c) { return c >= '0' && c <= '9'; });
  if (said.contains("ulong") || said.contains("uint"))
    return text + "a whole number of 0 or more";
  if (isNumber)
    return text + "a smaller number";
  if (said.contains("long argument") || said.contains("integer argument"))
    return text + "a whole number";
  return text + "something else; `rondo " + command.options->getName().str() +
         " --help` says what";
}

std::string describeOptionFault(const Command &command, StringRef said) {
  if (said.contains("Unknown command line argument"))
    return unknownOption(command, said);
  if (said.contains("for the "))
    return faultOfValue(command, said);
  if (said.contains("Too many positional arguments"))
    return command.options->getName().str() +
           " takes one file; there are several";
  said = said.trim();
  said.consume_front("rondo: ");
  return said.str();
}

} // namespace rondo::driver
