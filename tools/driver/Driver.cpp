//===- Driver.cpp - Finds the command and runs it -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Commands.h"

#include "dialect/Nearest.h"
#include "kinds/StandardStreams.h"
#include "tools/driver/Report.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <csignal>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <typeinfo>
#include <unistd.h>

using namespace llvm;

namespace rondo::driver {

// In the command's source.
#define COMMAND(name) const Command &name##Command();
#include "tools/driver/Commands.inc"
#undef COMMAND

ArrayRef<const Command *> commands() {
  static const std::vector<const Command *> sorted = [] {
    std::vector<const Command *> all = {
#define COMMAND(name) &name##Command(),
#include "tools/driver/Commands.inc"
#undef COMMAND
    };
    llvm::sort(all, [](const Command *a, const Command *b) {
      return a->place < b->place;
    });
    return all;
  }();
  return sorted;
}

std::vector<const Command *> commandsAfter(StringRef word) {
  std::vector<const Command *> found;
  for (const Command *command : commands())
    if (StringRef(command->name).starts_with((word + " ").str()))
      found.push_back(command);
  return found;
}

std::string hyphenated(const Command &command) {
  std::string name = std::string("rondo-") + command.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

ArrayRef<ExitCodeText> exitCodes() {
  static const ExitCodeText texts[] = {
      {Success, "success; also if a time limit ended a search with a valid "
                "result, or some problems of a batch have no schedule"},
      {Failure, "invalid input, a broken rule, no schedule found that fits, or "
                "a file that cannot be read or written"},
      {Usage, "invalid command line"},
      {Infeasible, "no order, or no plan, fits the memory of the only problem"},
      {Interrupted, "interrupted by Ctrl-C, with a valid result written"}};
  return texts;
}

namespace {

/// The command that the arguments begin with, of two words before one, whose
/// words are dropped from them; null if there is none.
const Command *takeCommand(ArrayRef<const char *> &arguments) {
  for (size_t count : {2, 1})
    for (const Command *command : commands()) {
      SmallVector<StringRef> words;
      StringRef(command->name).split(words, ' ');
      if (words.size() != count || arguments.size() < count ||
          !equal(words, arguments.take_front(count)))
        continue;
      arguments = arguments.drop_front(count);
      return command;
    }
  return nullptr;
}

bool asksForHelp(StringRef argument) {
  return argument == "--help" || argument == "-help" || argument == "-h";
}

/// Lists the available commands.
int reportNoCommand(ArrayRef<const char *> arguments) {
  std::string name = arguments.front();
  if (!commandsAfter(name).empty() && arguments.size() > 1)
    name += std::string(" ") + arguments[1];
  else if (const auto found = commandsAfter(name); !found.empty()) {
    std::string halves;
    for (const Command *command : found)
      halves += (halves.empty()            ? "rondo "
                 : command == found.back() ? ", or rondo "
                                           : ", rondo ") +
                std::string(command->name);
    return reportUsage(Twine(name) + " is half of a command: " + halves);
  }
  SmallVector<StringRef> names;
  for (const Command *command : commands())
    names.push_back(command->name);
  int code =
      reportUsage("unknown command '" + name + "'" + didYouMean(name, names));
  printCommands(errs());
  errs() << "\nRun `rondo --help` for examples.\n";
  return code;
}

/// Standard output may be on a full disk.
int finish(int code) {
  outs().flush();
  if (!outs().has_error())
    return code;
  std::string why = outs().error().message();
  outs().clear_error();
  return reportError("cannot write to standard output: " + why);
}

int help(const Command &command) {
  printHelp(outs(), command);
  return finish(Success);
}

/// Help for all commands of two words that begin alike, if there are any.
std::optional<int> helpAfter(StringRef word) {
  const std::vector<const Command *> found = commandsAfter(word);
  for (const Command *command : found) {
    outs() << (command == found.front() ? "" : "\n");
    printHelp(outs(), *command);
  }
  return found.empty() ? std::nullopt : std::optional<int>(finish(Success));
}

int runCommand(ArrayRef<const char *> arguments) {
  if (arguments.empty()) {
    printOverview(errs());
    return Usage;
  }
  const StringRef first = arguments.front();
  if (first == "help" && arguments.size() > 1 && !asksForHelp(arguments[1])) {
    arguments = arguments.drop_front();
    const Command *command = takeCommand(arguments);
    if (command)
      return help(*command);
    if (arguments.size() == 1)
      if (std::optional<int> code = helpAfter(arguments.front()))
        return *code;
    return reportNoCommand(arguments);
  }
  if (asksForHelp(first) || first == "help") {
    printOverview(outs());
    return finish(Success);
  }
  if (first == "--version") {
    outs() << "rondo " RONDO_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
    return finish(Success);
  }
  const Command *command = takeCommand(arguments);
  if (!command) {
    if (arguments.size() > 1 && asksForHelp(arguments[1]))
      if (std::optional<int> code = helpAfter(first))
        return *code;
    return reportNoCommand(arguments);
  }
  if (any_of(arguments, asksForHelp))
    return help(*command);
  const Arguments parsed(*command, arguments);
  if (std::string fault = parsed.fault(); !fault.empty())
    return reportUsage(fault);
  return finish(command->run(parsed));
}

/// Removes temporary files and ends the process. Allocates nothing.
[[noreturn]] void endWith(StringRef message) {
  for (StringRef part : {StringRef("rondo: error: "), message, StringRef("\n")})
    (void)!write(STDERR_FILENO, part.data(), part.size());
  sys::RunInterruptHandlers();
  _exit(Failure);
}

/// The standard library throws if no thread can be started.
[[noreturn]] void endWithoutThread() {
  const std::type_info *thrown = abi::__cxa_current_exception_type();
  if (thrown && StringRef(thrown->name()).contains("12system_error"))
    endWith("a thread cannot be started: give fewer --threads, or this process "
            "more threads and memory (`ulimit -u`, `ulimit -v`)");
  std::abort();
}

/// Reports missing memory or threads as errors instead of ending with a signal.
/// Past the limit of `ulimit -f`, writing fails as on a full disk.
void reportLimits() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(endWithoutThread);
  install_fatal_error_handler(
      [](void *, const char *why, bool) { endWith(why); });
  install_bad_alloc_error_handler([](void *, const char *, bool) {
    endWith("out of memory: give a smaller problem, fewer --threads, or this "
            "process more memory (`ulimit -v`)");
  });
  install_out_of_memory_new_handler();
}

} // namespace

int runDriver(int argc, char **argv) {
  reserveStandardStreams();
  reportLimits();
  // Skips the program's name, which a caller may leave out.
  int code =
      runCommand(ArrayRef<const char *>(argv, argc).drop_front(argc > 0));
  // Losing a note must not change the result; LLVM would exit with status 1.
  errs().clear_error();
  return code;
}

} // namespace rondo::driver
