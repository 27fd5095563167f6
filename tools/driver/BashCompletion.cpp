//===- BashCompletion.cpp - Bash completion of the commands ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Manual.h"

#include "schedule/Family.h"

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

/// How an option's value is completed; empty if nothing is known of it.
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

static void writeCommand(raw_ostream &os, const Command &command) {
  std::string options;
  for (const OptionText &option : optionTexts(command.options)) {
    options += option.spelling() + " ";
    if (!option.takesValue())
      continue;
    const std::string value = valueOf(option);
    os << "    " << command.name << ":" << option.spelling() << ") "
       << (value.empty() ? ":" : value) << " ;;\n";
  }
  os << "    " << command.name << ":*)\n"
     << "      if [[ $word == -* ]]; then _rondo_words \"" << options
     << "--help\"\n"
     << "      else _rondo_files; fi ;;\n";
}

void writeBashCompletion(raw_ostream &os) {
  std::string names;
  for (const Command *command : commands())
    names += std::string(command->name) + " ";
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
     << names << "help --help --version\"\n"
     << "    return\n  fi\n  case ${COMP_WORDS[1]}:$before in\n"
     << "    help:*) _rondo_words \"" << StringRef(names).rtrim() << "\" ;;\n";
  for (const Command *command : commands())
    writeCommand(os, *command);
  os << "  esac\n}\n\ncomplete -F _rondo rondo\n";
}

} // namespace rondo::driver
