//===- HostCompiler.cpp - C++ to an executable ----------------------------===//

#include "codegen/HostCompiler.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <optional>

using namespace rondo::codegen;
using llvm::SmallString;
using llvm::StringRef;

HostCompiler HostCompiler::forThisTool() {
  HostCompiler host;
  const char *cxx = std::getenv("CXX");
  host.compiler = cxx && *cxx ? cxx : "c++";
  const char *dir = std::getenv("RONDO_RUNTIME_DIR");
  host.includeDir = dir ? std::string(dir) + "/include" : RONDO_INCLUDE_DIR;
  host.libraryDir = dir ? std::string(dir) + "/lib" : RONDO_LIBRARY_DIR;
  llvm::SmallVector<StringRef> arguments;
  StringRef(RONDO_LINK_ARGUMENTS).split(arguments, '|', -1, false);
  for (StringRef argument : arguments)
    host.linkArguments.push_back(argument.str());
  return host;
}

static llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static std::string contents(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
}

llvm::Error HostCompiler::build(StringRef source, StringRef output) const {
  auto found = llvm::sys::findProgramByName(compiler);
  if (!found)
    return failure("no C++ compiler '" + compiler +
                   "' on PATH: install g++ or set CXX");
  std::string header = includeDir + "/runtime/rondo_runtime.h";
  std::string library = libraryDir + "/librondo_runtime.a";
  for (const std::string &needed : {header, library})
    if (!llvm::sys::fs::exists(needed))
      return failure("'" + needed +
                     "' is missing: build the target RondoRuntime, or set "
                     "RONDO_RUNTIME_DIR to an installation");

  SmallString<128> program, log;
  if (std::error_code ec =
          llvm::sys::fs::createUniqueFile(output + ".%%%%%%.tmp", program))
    return failure("cannot write beside '" + output + "': " + ec.message());
  if (std::error_code ec =
          llvm::sys::fs::createTemporaryFile("rondo", "log", log)) {
    llvm::sys::fs::remove(program);
    return failure("cannot write a temporary file: " + ec.message());
  }
  llvm::scope_exit cleanUp([&] {
    llvm::sys::fs::remove(program);
    llvm::sys::fs::remove(log);
  });

  std::vector<std::string> command = {
      *found,       "-std=c++17", "-O2", "-I" + includeDir,
      source.str(), library,      "-o",  program.str().str()};
  command.insert(command.end(), linkArguments.begin(), linkArguments.end());
  std::vector<StringRef> arguments(command.begin(), command.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(*found, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  if (status != 0)
    return failure("the C++ compiler failed with status " +
                   llvm::Twine(status) + "\ncommand: " +
                   llvm::join(command, " ") + "\n" + contents(log) + message);
  if (std::error_code ec = llvm::sys::fs::rename(program, output))
    return failure("cannot write '" + output + "': " + ec.message());
  return llvm::Error::success();
}
