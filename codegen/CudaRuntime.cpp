//===- CudaRuntime.cpp - The CUDA runtime, built where it is used ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/CudaRuntime.h"

#include "codegen/ChildProcess.h"
#include "codegen/TemporaryName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

using namespace rondo::codegen;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;

static std::string contents(const Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
}

/// ~/.cache/rondo, as XDG's rules have it; empty without a home.
static std::string cacheFolder() {
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/rondo";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/rondo";
  return "";
}

/// Changes whenever an installation's sources do: by their names, sizes and
/// times.
static std::string keyOf(StringRef includeDir) {
  std::vector<std::string> files;
  std::error_code ec;
  for (fs::recursive_directory_iterator it(includeDir, ec), end;
       it != end && !ec; it.increment(ec))
    if (const auto status = it->status();
        status && status->type() == fs::file_type::regular_file)
      files.push_back(
          (it->path() + " " + Twine(status->getSize()) + " " +
           Twine(status->getLastModificationTime().time_since_epoch().count()))
              .str());
  llvm::sort(files);
  llvm::MD5 hash;
  for (const std::string &file : files)
    hash.update(file + "\n");
  return hash.final().digest().substr(0, 16).str();
}

CudaRuntime CudaRuntime::of(StringRef includeDir) {
  CudaRuntime runtime;
  const std::string project = (includeDir + "/cmake/CudaRuntime").str();
  if (!fs::exists(project + "/CMakeLists.txt"))
    return runtime;
  runtime.project = project;
  if (const std::string cache = cacheFolder(); !cache.empty())
    runtime.folder = cache + "/cuda-" + keyOf(includeDir);
  return runtime;
}

std::string CudaRuntime::archive() const { return folder + "/librondo_cuda.a"; }

bool CudaRuntime::isBuilt() const {
  return !folder.empty() && fs::exists(archive());
}

std::string CudaRuntime::linkArguments() const {
  return contents(folder + "/link-arguments");
}

/// Runs a command; the error has the end of its output.
static llvm::Error runLogged(llvm::ArrayRef<StringRef> words, StringRef log) {
  std::optional<StringRef> redirects[] = {StringRef(""), log, log};
  std::string message;
  const int status = runChild(words.front(), words, redirects, message);
  if (status == 0)
    return llvm::Error::success();
  const std::string output = contents(log);
  return llvm::createStringError("cannot build the CUDA runtime: status " +
                                 Twine(status) +
                                 "\ncommand: " + llvm::join(words, " ") + "\n" +
                                 StringRef(output).take_back(4000) + message);
}

llvm::Error CudaRuntime::build() const {
  auto cmake = llvm::sys::findProgramByName("cmake");
  if (!cmake)
    return llvm::createStringError(
        "this rondo builds its CUDA runtime where it is used, once, and there "
        "is no cmake on PATH: install cmake 3.20 or later, or write sources "
        "for another machine with 'rondo bundle'");
  if (folder.empty())
    return llvm::createStringError(
        "no folder for the CUDA runtime: set HOME or XDG_CACHE_HOME");
  const std::string work = temporaryBeside(folder);
  if (std::error_code ec = fs::create_directories(work))
    return llvm::createStringError("cannot write '" + work +
                                   "': " + ec.message());
  llvm::scope_exit cleanUp([&] { (void)fs::remove_directories(work); });

  const std::string log = work + "/log";
  const StringRef configure[] = {*cmake, "-S", project, "-B", work};
  if (llvm::Error error = runLogged(configure, log))
    return error;
  if (const std::string missing = contents(work + "/missing"); !missing.empty())
    return llvm::createStringError(
        "--target=cuda needs what this machine lacks: " + missing +
        "; or write sources for another machine with 'rondo bundle'");
  const std::string jobs =
      std::to_string(std::max(1u, std::thread::hardware_concurrency()));
  const StringRef compile[] = {*cmake,      "--build", work, "--target",
                               "RondoCuda", "-j",      jobs};
  if (llvm::Error error = runLogged(compile, log))
    return error;
  // Whole or not at all. If another process was faster, its folder stays.
  const std::string ready = work + "/ready";
  std::error_code ec = fs::create_directory(ready);
  for (const char *file : {"/librondo_cuda.a", "/link-arguments"})
    if (!ec)
      ec = fs::rename(work + file, ready + file);
  if (!ec)
    ec = fs::rename(ready, folder);
  if (ec && !isBuilt())
    return llvm::createStringError("cannot write '" + folder +
                                   "': " + ec.message());
  return llvm::Error::success();
}
