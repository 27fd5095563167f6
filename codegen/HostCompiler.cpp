//===- HostCompiler.cpp - C++ to an executable ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/HostCompiler.h"

#include "codegen/ChildProcess.h"
#include "codegen/TemporaryName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <optional>

using namespace rondo::codegen;
using llvm::SmallString;
using llvm::StringRef;

namespace {

/// A library besides the runtime that only some programs need.
struct Part {
  StringRef name;
  StringRef file, target;
  /// For the linker, separated by |. Of a part that some tools are built
  /// without, empty in these.
  StringRef arguments;
  /// What to do there; empty: every tool has the part.
  StringRef whereWithout;
};

} // namespace

static constexpr Part parts[] = {
    {"cuda", "librondo_cuda.a", "RondoCuda", RONDO_CUDA_LINK_ARGUMENTS,
     "this rondo was built without CUDA: install the CUDA toolkit 12.8 or "
     "later "
     "with NCCL and build it again, or write sources for another machine with "
     "'rondo "
     "bundle'"},
    {"search", "librondo_search.a", "RondoSearch", "", ""},
    {"mpi", "librondo_mpi.a", "RondoMpi", RONDO_MPI_LINK_ARGUMENTS,
     "this rondo was built without MPI: install libopenmpi-dev and build it "
     "again, or leave out --transport=mpi"},
};

static void appendArguments(StringRef text, std::vector<std::string> &list) {
  llvm::SmallVector<StringRef> arguments;
  text.split(arguments, '|', -1, /*KeepEmpty=*/false);
  for (StringRef argument : arguments)
    list.push_back(argument.str());
}

/// The runtime next to the running tool if that is installed, otherwise empty.
/// This lets an installation be moved.
static std::string installedRuntime() {
  // An address in this executable, which some systems need to find its path.
  static int here;
  SmallString<256> dir(
      llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(
          /*argv0=*/nullptr, &here)));
  llvm::sys::path::append(dir, RONDO_INSTALLED_RUNTIME);
  llvm::sys::path::remove_dots(dir, /*remove_dot_dot=*/true);
  return llvm::sys::fs::is_directory(dir) ? dir.str().str() : std::string();
}

/// Of the environment; empty if it is not set.
static StringRef variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

HostCompiler HostCompiler::forThisTool() {
  HostCompiler host;
  const StringRef own = variable("CXX");
  host.compiler = own.empty() ? "c++" : own.str();
  const StringRef wanted = variable("RONDO_RUNTIME_DIR");
  std::string dir = wanted.empty() ? installedRuntime() : wanted.str();
  host.includeDir = dir.empty() ? RONDO_INCLUDE_DIR : dir + "/include";
  host.libraryDir = dir.empty() ? RONDO_LIBRARY_DIR : dir + "/lib";
  // Half of the time that building a program takes is the default linker's. A
  // compiler of the user's own may not know another one.
  if (const std::string lld = RONDO_LLVM_TOOLS_DIR "/ld.lld";
      own.empty() && llvm::sys::fs::can_execute(lld))
    appendArguments("-fuse-ld=lld|-B" RONDO_LLVM_TOOLS_DIR, host.linkArguments);
  appendArguments(RONDO_LINK_ARGUMENTS, host.linkArguments);
  return host;
}

static std::string contents(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
}

llvm::Error
HostCompiler::build(StringRef source, StringRef output,
                    llvm::ArrayRef<std::string> wantedParts,
                    llvm::ArrayRef<std::string> bodyLibraries) const {
  auto found = llvm::sys::findProgramByName(compiler);
  if (!found)
    return llvm::createStringError("no C++ compiler '" + compiler +
                                   "' on PATH: install g++ or set CXX");
  auto missing = [](const llvm::Twine &path, StringRef target) {
    return llvm::createStringError(
        "'" + path + "' is missing: build the target " + target +
        " (make build does), or set RONDO_RUNTIME_DIR to an installation");
  };
  std::string header = includeDir + "/runtime/rondo_runtime.h";
  std::string runtime = libraryDir + "/librondo_runtime.a";
  for (const std::string &needed : {header, runtime})
    if (!llvm::sys::fs::exists(needed))
      return missing(needed, "RondoRuntime");
  // Parts refer to the runtime, so they come before it.
  std::vector<std::string> inputs, arguments;
  for (const std::string &library : bodyLibraries) {
    SmallString<256> file(library);
    llvm::sys::fs::make_absolute(file);
    inputs.push_back(file.str().str());
    // Lets the program find the library wherever it is started.
    if (llvm::sys::path::extension(file) == ".so")
      arguments.push_back("-Wl,-rpath," +
                          llvm::sys::path::parent_path(file).str());
  }
  for (const Part &part : parts) {
    if (!llvm::is_contained(wantedParts, part.name))
      continue;
    if (part.arguments.empty() && !part.whereWithout.empty())
      return llvm::createStringError(part.whereWithout);
    inputs.push_back(libraryDir + "/" + part.file.str());
    if (!llvm::sys::fs::exists(inputs.back()))
      return missing(inputs.back(), part.target);
    appendArguments(part.arguments, arguments);
  }
  inputs.push_back(runtime);
  llvm::append_range(arguments, linkArguments);

  const StringRef folder = llvm::sys::path::parent_path(output);
  if (!folder.empty() && !llvm::sys::fs::exists(folder))
    return llvm::createStringError("cannot write '" + output + "': folder '" +
                                   folder + "' does not exist");
  const std::string program = temporaryBeside(output);
  int descriptor = -1;
  if (std::error_code ec = openExclusive(program, descriptor))
    return llvm::createStringError("cannot write beside '" + output +
                                   "': " + ec.message());
  llvm::sys::RemoveFileOnSignal(program);
  (void)llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
  SmallString<128> log;
  if (std::error_code ec =
          llvm::sys::fs::createTemporaryFile("rondo", "log", log)) {
    (void)llvm::sys::fs::remove(program);
    llvm::sys::DontRemoveFileOnSignal(program);
    return llvm::createStringError("cannot write a temporary file: " +
                                   ec.message());
  }
  llvm::sys::RemoveFileOnSignal(log);
  llvm::scope_exit cleanUp([&] {
    (void)llvm::sys::fs::remove(program);
    (void)llvm::sys::fs::remove(log);
    llvm::sys::DontRemoveFileOnSignal(program);
    llvm::sys::DontRemoveFileOnSignal(log);
  });

  std::vector<std::string> command = {*found, "-std=c++17", "-O2",
                                      "-I" + includeDir, source.str()};
  llvm::append_range(command, inputs);
  command.insert(command.end(), {"-o", program});
  llvm::append_range(command, arguments);
  std::vector<StringRef> words(command.begin(), command.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int status = runChild(*found, words, redirects, message);
  if (status != 0)
    return llvm::createStringError("the C++ compiler failed with status " +
                                   llvm::Twine(status) +
                                   "\ncommand: " + llvm::join(command, " ") +
                                   "\n" + contents(log) + message);
  // Some linkers keep the permissions of the file that was there.
  if (std::error_code ec = llvm::sys::fs::setPermissions(
          program, static_cast<llvm::sys::fs::perms>(
                       llvm::sys::fs::all_all & ~llvm::sys::fs::getUmask())))
    return llvm::createStringError("cannot write '" + output +
                                   "': " + ec.message());
  if (std::error_code ec = llvm::sys::fs::rename(program, output))
    return llvm::createStringError("cannot write '" + output +
                                   "': " + ec.message());
  return llvm::Error::success();
}
