//===- BashCompletion.cpp - Bash completion of the commands ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/Family.h"
#include "tools/driver/Commands.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rondo::driver {

/// `--target=c` reaches bash as three words, since `=` and `:` separate words.
static const char *const functions = R"(
_rondo_words() {
  COMPREPLY=($(compgen -W "$1" -- "$word"))
}

# The last word of a list with commas; bash puts it in place of the whole list.
_rondo_list() {
  local head=""
  [[ $word == *,* ]] && head=${word%,*},
  COMPREPLY=($(compgen -P "$head" -W "$1" -- "${word##*,}"))
}

_rondo_files() {
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$word"))
}

_rondo_folders() {
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -d -- "$word"))
}
)";

/// Completion of an option's value; empty if none is known.
static std::string valueOf(const OptionText &option) {
  if (option.isFamily) {
    std::string names = "all";
    for (const Family &family : families())
      names += std::string(" ") + family.name;
    return "_rondo_words \"" + names + "\"";
  }
  if (!option.words.empty())
    return (option.isList ? "_rondo_list \"" : "_rondo_words \"") +
           join(option.words, " ") + "\"";
  if (option.metavar == "FILE")
    return "_rondo_files";
  if (option.metavar == "FOLDER")
    return "_rondo_folders";
  return "";
}

/// The first words of all commands, or the second ones after `first`.
static std::string wordsOf(StringRef first) {
  std::string words;
  StringRef last;
  for (const Command *command : commands()) {
    auto [one, two] = StringRef(command->name).split(' ');
    const StringRef word = first.empty() ? one : one == first ? two : "";
    if (!word.empty() && word != last)
      words += (words.empty() ? "" : " ") + word.str();
    last = word;
  }
  return words;
}

static void writeCommand(raw_ostream &os, const Command &command) {
  const std::string name = StringRef(hyphenated(command)).substr(6).str();
  std::string options;
  for (const OptionText &option : optionTexts(command.options)) {
    options += option.spelling() + " ";
    if (!option.takesValue())
      continue;
    const std::string value = valueOf(option);
    os << "    " << name << ":" << option.spelling() << ") "
       << (value.empty() ? ":" : value) << " ;;\n";
  }
  os << "    " << name << ":*)\n"
     << "      if [[ $word == -* ]]; then _rondo_words \"" << options
     << "--help\"\n"
     << "      else _rondo_files; fi ;;\n";
}

void writeBashCompletion(raw_ostream &os) {
  const std::string names = wordsOf("");
  os << "# bash completion of rondo, written by rondo-manual\n"
     << functions << "\n_rondo() {\n"
     << R"(  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD == 1)); then
)" << "    _rondo_words \""
     << names << " help --help --version\"\n"
     << "    return\n  fi\n"
     << "  local command=${COMP_WORDS[1]} at=2\n"
     << "  if [[ $command == help ]] && ((COMP_CWORD > 2)); then\n"
     << "    command=${COMP_WORDS[2]} at=3\n  fi\n";
  for (const Command *command : commands()) {
    auto [one, two] = StringRef(command->name).split(' ');
    // Once, for the first of those that begin alike.
    const std::string seconds = two.empty() ? "" : wordsOf(one);
    if (two.empty() || StringRef(seconds).split(' ').first != two)
      continue;
    os << "  if [[ $command == " << one << " ]]; then\n"
       << "    if ((COMP_CWORD == at)); then _rondo_words \"" << seconds
       << "\"; return; fi\n"
       << "    command+=-${COMP_WORDS[at]}\n  fi\n";
  }
  os << "  case $command:$before in\n"
     << "    help:*) _rondo_words \"" << names << "\" ;;\n";
  for (const Command *command : commands())
    writeCommand(os, *command);
  os << "  esac\n}\n\ncomplete -F _rondo rondo\n";
}

} // namespace rondo::driver
