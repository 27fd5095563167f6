//===- Arguments.h - Parses and checks a command line -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_ARGUMENTS_H
#define RONDO_TOOLS_DRIVER_ARGUMENTS_H

#include "schedule/families/Family.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

/// Flags of values from options/Shared.td.
namespace option_flags {
enum : unsigned {
  Number = 1u << 4,
  Positive = 1u << 5,
  Word = 1u << 6,
  Family = 1u << 7,
  Repeatable = 1u << 8,
};
} // namespace option_flags

/// In every table.
enum : unsigned { InputOption = 1, UnknownOption = 2 };

struct Command;

/// An option as the user sees it; `--name VALUE` and `--name=VALUE` are one.
struct OptionText {
  llvm::StringRef dashes, name;
  /// `FILE`, `cpu|cuda`; empty if it takes no value.
  llvm::StringRef metavar;
  llvm::StringRef help;
  /// The words that the value, or each item of a list, may be; empty: anything.
  std::vector<std::string> words;
  /// The value is a family of schedules.
  bool isFamily = false;
  /// The value is a comma-separated list.
  bool isList = false;

  std::string spelling() const { return (dashes + name).str(); }
  bool takesValue() const { return !metavar.empty(); }
};

/// Sorted by name.
std::vector<OptionText> optionTexts(const llvm::opt::OptTable &table);

/// The arguments of a command. Names are those of its table, without dashes.
class Arguments {
public:
  Arguments(const Command &command, llvm::ArrayRef<const char *> arguments);

  /// The first fault, in one sentence; empty if there is none, and then values
  /// are as the table requires.
  std::string fault() const;

  /// The argument that is neither an option nor a value; empty if there is
  /// none.
  std::string file() const;
  /// All such arguments.
  std::vector<std::string> files() const;
  bool has(llvm::StringRef name) const { return find(name) != nullptr; }
  std::string text(llvm::StringRef name, llvm::StringRef otherwise = "") const;
  int64_t number(llvm::StringRef name, int64_t otherwise) const;
  /// For an option that may be given several times.
  std::vector<std::string> all(llvm::StringRef name) const;

private:
  /// The last one; null if absent.
  const llvm::opt::Arg *find(llvm::StringRef name) const;
  const OptionText *textOf(llvm::StringRef spelling) const;
  std::string unknownOption(llvm::StringRef written) const;
  std::string faultOf(const llvm::opt::Arg &argument) const;

  const Command &command;
  llvm::ArrayRef<const char *> written;
  std::vector<OptionText> texts;
  unsigned missingIndex = 0, missingCount = 0;
  llvm::opt::InputArgList list;
};

/// Adds the families that one value of --family asks for: a family with its
/// parameters, or all. Returns what is wrong with it, if anything.
std::optional<std::string> chooseFamilies(const std::string &text,
                                          std::vector<FamilyChoice> &choices);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_ARGUMENTS_H
