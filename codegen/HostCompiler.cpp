//===- HostCompiler.cpp - C++ to an executable ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/HostCompiler.h"

#include "codegen/BuildPaths.h"
#include "codegen/ChildProcess.h"
#include "codegen/CudaRuntime.h"
#include "codegen/TemporaryName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
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
  const char *BuildPaths::*arguments;
  /// The advice if it is missing; empty if every tool has it.
  StringRef whereWithout;
};

} // namespace

static constexpr Part parts[] = {
    {"cuda", "librondo_cuda.a", "RondoCuda", &BuildPaths::cudaLinkArguments,
     "this rondo was built without CUDA: install the CUDA toolkit 12.8 or "
     "later "
     "with NCCL and build it again, or write sources for another machine with "
     "'rondo "
     "bundle'"},
    {"search", "librondo_search.a", "RondoSearch", nullptr, ""},
    {"mpi", "librondo_mpi.a", "RondoMpi", &BuildPaths::mpiLinkArguments,
     "this rondo was built without MPI: write sources that link the machine's "
     "MPI with 'rondo bundle', install libopenmpi-dev and build rondo again, "
     "or leave out --transport=mpi"},
};

namespace {

/// A library that every program needs. An installation that runs on other
/// machines has it next to the runtime; others use that of the build.
struct Needed {
  StringRef file;
  const char *BuildPaths::*ofBuild;
};

} // namespace

static constexpr Needed needed[] = {
    {"librondo_blas.a", &BuildPaths::openBlas},
    {"libsodium.a", &BuildPaths::sodium},
};

/// The oldest g++ whose standard library the runtime's archives can be linked
/// with.
static constexpr int oldestGcc = 11;

static void appendArguments(StringRef text, std::vector<std::string> &list,
                            char separator = '|') {
  llvm::SmallVector<StringRef> arguments;
  text.split(arguments, separator, -1, /*KeepEmpty=*/false);
  for (StringRef argument : arguments)
    list.push_back(argument.str());
}

/// A folder relative to that of the running tool.
static std::string besideThisTool(StringRef path) {
  // An address in this executable, which some systems need to find its path.
  static int here;
  SmallString<256> dir(
      llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(
          /*argv0=*/nullptr, &here)));
  llvm::sys::path::append(dir, path);
  llvm::sys::path::remove_dots(dir, /*remove_dot_dot=*/true);
  return dir.str().str();
}

static bool isOfWheel() { return StringRef(buildPaths.includeDir).empty(); }

/// The runtime next to the running tool if that is installed, otherwise empty.
/// This lets an installation be moved. The tool of a wheel has no other one.
static std::string installedRuntime() {
  std::string dir = besideThisTool(isOfWheel() ? RONDO_WHEEL_RUNTIME
                                               : RONDO_INSTALLED_RUNTIME);
  return isOfWheel() || llvm::sys::fs::is_directory(dir) ? dir : std::string();
}

/// A variable of the environment; empty if it is not set.
static StringRef variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

HostCompiler HostCompiler::forThisTool() {
  HostCompiler host;
  const StringRef own = variable("CXX");
  host.compiler = own.empty() ? "c++" : own.str();
  host.compileArguments = {"-O2"};
  appendArguments(variable("RONDO_CXXFLAGS"), host.compileArguments, ' ');
  const StringRef wanted = variable("RONDO_RUNTIME_DIR");
  std::string dir = wanted.empty() ? installedRuntime() : wanted.str();
  host.includeDir = dir.empty() ? buildPaths.includeDir : dir + "/include";
  host.libraryDir = dir.empty() ? buildPaths.libraryDir : dir + "/lib";
  // Half of the time that building a program takes is the default linker's. A
  // compiler of the user's own may not know another one.
  const std::string tools = buildPaths.llvmToolsDir;
  if (own.empty() && !tools.empty() &&
      llvm::sys::fs::can_execute(tools + "/ld.lld"))
    appendArguments("-fuse-ld=lld|-B" + tools, host.linkArguments);
  for (const Needed &library : needed) {
    const std::string file = host.libraryDir + "/" + library.file.str();
    if (llvm::sys::fs::exists(file))
      host.linkArguments.push_back(file);
    else
      appendArguments(buildPaths.*library.ofBuild, host.linkArguments);
  }
  host.linkArguments.push_back("-lpthread");
  appendArguments(buildPaths.linkArguments, host.linkArguments);
  return host;
}

/// Whether the CUDA runtime is built where it is used: by an installation that
/// has sources for it and no archive that this tool can link.
static bool buildsCuda(const HostCompiler &host) {
  const bool hasArchive =
      *buildPaths.cudaLinkArguments &&
      llvm::sys::fs::exists(host.libraryDir + "/librondo_cuda.a");
  return !hasArchive && host.includeDir != buildPaths.includeDir &&
         !CudaRuntime::of(host.includeDir).project.empty();
}

std::string HostCompiler::cudaToBuild() const {
  if (!buildsCuda(*this))
    return "";
  const CudaRuntime runtime = CudaRuntime::of(includeDir);
  return runtime.isBuilt() ? "" : runtime.folder;
}

static std::string contents(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
}

/// The version of a compiler whose standard library is that of a g++ before
/// `oldestGcc`, such as "10.2". Empty if it is not, or cannot be told.
static std::string versionIfTooOld(StringRef compiler) {
  SmallString<128> file;
  if (llvm::sys::fs::createTemporaryFile("rondo", "log", file))
    return "";
  llvm::FileRemover remover(file);
  // All macros that are defined once <new> is included.
  const StringRef words[] = {compiler, "-x",       "c++", "-E",
                             "-dM",    "-include", "new", "/dev/null"};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(file),
                                          StringRef("")};
  std::string message;
  if (runChild(compiler, words, redirects, message) != 0)
    return "";
  const std::string text = contents(file);
  auto value = [&](StringRef macro) {
    const std::string define = "#define " + macro.str() + " ";
    const StringRef after = StringRef(text).split(define).second;
    return after.split('\n').first.trim();
  };
  const StringRef library = value("_GLIBCXX_RELEASE");
  int release = 0;
  if (library.getAsInteger(10, release) || release >= oldestGcc)
    return "";
  return value("__clang__").empty()
             ? (value("__GNUC__") + "." + value("__GNUC_MINOR__")).str()
             : "a clang++ with the library of g++ " + library.str();
}

/// Runs the compiler `program` with these arguments, and "-o" with a file that
/// then takes the place of `output`. The error has the command and what the
/// compiler says.
static llvm::Error runCompiler(const std::string &program,
                               llvm::ArrayRef<std::string> arguments,
                               StringRef output) {
  auto found = llvm::sys::findProgramByName(program);
  if (!found)
    return llvm::createStringError("no C++ compiler '" + program +
                                   "' on PATH: install g++ or set CXX");
  const StringRef folder = llvm::sys::path::parent_path(output);
  if (!folder.empty() && !llvm::sys::fs::exists(folder))
    return llvm::createStringError("cannot write '" + output + "': folder '" +
                                   folder + "' does not exist");
  const std::string temporary = temporaryBeside(output);
  int descriptor = -1;
  if (std::error_code ec = openExclusive(temporary, descriptor))
    return llvm::createStringError("cannot write next to '" + output +
                                   "': " + ec.message());
  llvm::sys::RemoveFileOnSignal(temporary);
  (void)llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
  SmallString<128> log;
  if (std::error_code ec =
          llvm::sys::fs::createTemporaryFile("rondo", "log", log)) {
    (void)llvm::sys::fs::remove(temporary);
    llvm::sys::DontRemoveFileOnSignal(temporary);
    return llvm::createStringError("cannot write a temporary file: " +
                                   ec.message());
  }
  llvm::sys::RemoveFileOnSignal(log);
  llvm::scope_exit cleanUp([&] {
    (void)llvm::sys::fs::remove(temporary);
    (void)llvm::sys::fs::remove(log);
    llvm::sys::DontRemoveFileOnSignal(temporary);
    llvm::sys::DontRemoveFileOnSignal(log);
  });

  std::vector<std::string> command = {*found};
  llvm::append_range(command, arguments);
  command.insert(command.end(), {"-o", temporary});
  std::vector<StringRef> words(command.begin(), command.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int status = runChild(*found, words, redirects, message);
  if (status != 0) {
    if (const std::string version = versionIfTooOld(*found); !version.empty())
      return llvm::createStringError(
          "'" + program + "' is too old: rondo compile needs g++ " +
          llvm::Twine(oldestGcc) + " or later; found " + version +
          "; install it, or set CXX to another compiler");
    return llvm::createStringError("the C++ compiler failed with status " +
                                   llvm::Twine(status) +
                                   "\ncommand: " + llvm::join(command, " ") +
                                   "\n" + contents(log) + message);
  }
  // Some linkers keep the permissions of the file that was there.
  if (std::error_code ec = llvm::sys::fs::setPermissions(
          temporary, static_cast<llvm::sys::fs::perms>(
                         llvm::sys::fs::all_all & ~llvm::sys::fs::getUmask())))
    return llvm::createStringError("cannot write '" + output +
                                   "': " + ec.message());
  if (std::error_code ec = llvm::sys::fs::rename(temporary, output))
    return llvm::createStringError("cannot write '" + output +
                                   "': " + ec.message());
  return llvm::Error::success();
}

llvm::Error
HostCompiler::build(StringRef source, StringRef output,
                    llvm::ArrayRef<std::string> wantedParts,
                    llvm::ArrayRef<std::string> bodyLibraries) const {
  auto missing = [](const llvm::Twine &path, StringRef target) {
    return llvm::createStringError(
        "'" + path + "' is missing: " +
        (isOfWheel()
             ? "install rondo-schedules again"
             : "build the target " + target.str() + " (make build does)") +
        ", or set RONDO_RUNTIME_DIR to an installation");
  };
  std::string header = includeDir + "/runtime/rondo_runtime.h";
  std::string runtime = libraryDir + "/librondo_runtime.a";
  for (const std::string &file : {header, runtime})
    if (!llvm::sys::fs::exists(file))
      return missing(file, "RondoRuntime");
  for (const Needed &library : needed)
    if (const std::string file = libraryDir + "/" + library.file.str();
        isOfWheel() && !llvm::sys::fs::exists(file))
      return missing(file, "");
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
    if (part.name == "cuda" && buildsCuda(*this)) {
      const CudaRuntime runtime = CudaRuntime::of(includeDir);
      if (!runtime.isBuilt())
        if (llvm::Error error = runtime.build())
          return error;
      inputs.push_back(runtime.archive());
      appendArguments(runtime.linkArguments(), arguments);
      continue;
    }
    const StringRef extra = part.arguments ? buildPaths.*part.arguments : "";
    if (extra.empty() && !part.whereWithout.empty())
      return llvm::createStringError(part.whereWithout);
    inputs.push_back(libraryDir + "/" + part.file.str());
    if (!llvm::sys::fs::exists(inputs.back()))
      return missing(inputs.back(), part.target);
    appendArguments(extra, arguments);
  }
  inputs.push_back(runtime);
  llvm::append_range(arguments, linkArguments);

  std::vector<std::string> command = {"-std=c++17"};
  llvm::append_range(command, compileArguments);
  command.insert(command.end(), {"-I" + includeDir, source.str()});
  llvm::append_range(command, inputs);
  llvm::append_range(command, arguments);
  return runCompiler(compiler, command, output);
}

llvm::Error HostCompiler::compileObject(StringRef source,
                                        StringRef output) const {
  std::vector<std::string> command = {"-std=c++17"};
  llvm::append_range(command, compileArguments);
  command.insert(command.end(),
                 {"-fPIC", "-I" + includeDir, "-c", source.str()});
  return runCompiler(compiler, command, output);
}
