//===- Shared.td - What the options of all commands have ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file ../<Command>.td lists the options of one command. Parsing, messages,
// help, the manual and bash completion all read it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_OPTIONS_SHARED
#define RONDO_TOOLS_DRIVER_OPTIONS_SHARED

include "llvm/Option/OptParser.td"

/// The value is a whole number of 0 or more.
def Number : OptionFlag;
/// The value is a whole number of 1 or more.
def Positive : OptionFlag;
/// The value is one of the option's words.
def Word : OptionFlag;
/// The value is a family of schedules.
def Family : OptionFlag;
/// The option may be given several times.
def Repeatable : OptionFlag;

class WithFlags<list<OptionFlag> flags> { list<OptionFlag> Flags = flags; }

/// `--name`.
class Switch<string name, string help> : Flag<["--"], name>, HelpText<help>;

/// `--name VALUE` and `--name=VALUE`.
multiclass Value<string name, string metavar, string help,
                 list<OptionFlag> flags = []> {
  def NAME : Separate<["--"], name>, MetaVarName<metavar>, HelpText<help>,
             WithFlags<flags>;
  def NAME#_joined : Joined<["--"], name#"=">, Alias<!cast<Option>(NAME)>;
}

/// A value that is one of some words, written as `cpu,cuda`.
multiclass Choice<string name, string words, string help> {
  def NAME : Separate<["--"], name>, Values<words>,
             MetaVarName<!subst(",", "|", words)>, HelpText<help>,
             WithFlags<[Word]>;
  def NAME#_joined : Joined<["--"], name#"=">, Alias<!cast<Option>(NAME)>;
}

/// A value that is a comma-separated list, of these words or of numbers.
multiclass List<string name, string words, string help> {
  def NAME : Separate<["--"], name>, Values<words>, MetaVarName<"LIST">,
             HelpText<help>;
  def NAME#_joined : Joined<["--"], name#"=">, Alias<!cast<Option>(NAME)>;
}

/// `-o VALUE` and `-o=VALUE` for `--output`, which the file defines.
multiclass ShortOutput<string metavar> {
  def NAME : Separate<["-"], "o">, Alias<!cast<Option>("output")>,
             MetaVarName<metavar>, HelpText<"the same as --output">;
  def NAME#_joined : Joined<["-"], "o=">, Alias<!cast<Option>("output")>;
}

/// Which iteration of a trace to take.
multiclass IterationOfTrace {
  defm NAME : Value<"iteration", "N",
    "the iteration of the trace to take, by its number in the training (default: "
    "the one of median time)", [Positive]>;
}

#endif // RONDO_TOOLS_DRIVER_OPTIONS_SHARED
