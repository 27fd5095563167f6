//===- Bundle.cpp - A program's sources for another machine ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/Bundle.h"

#include "codegen/HostCompiler.h"
#include "codegen/TemporaryName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <system_error>

using namespace rondo::codegen;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static std::string in(StringRef folder, StringRef name) {
  llvm::SmallString<128> result(folder);
  path::append(result, name);
  return result.str().str();
}

/// The runtime's own build file works here as it does in the repository.
static std::string buildFile(const BundleContents &contents) {
  std::string text =
      R"(# Builds the program: cmake -B build && cmake --build build
cmake_minimum_required(VERSION 3.20)
project(train LANGUAGES C CXX)

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(Threads REQUIRED)
find_library(RONDO_OPENBLAS openblas)
find_path(RONDO_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas)
if(NOT RONDO_OPENBLAS OR NOT RONDO_CBLAS_INCLUDE_DIR)
)";
  text += contents.needsCuda
              ? "  set(RONDO_PLAIN_BLAS ON) # Nothing on the GPU needs it.\n"
              : "  message(WARNING \"without OpenBLAS (libopenblas-dev) "
                "training is many times slower\")\n"
                "  set(RONDO_PLAIN_BLAS ON)\n";
  text += "endif()\n";
  text += R"(find_library(RONDO_SODIUM NAMES libsodium.a sodium)
find_path(RONDO_SODIUM_INCLUDE_DIR sodium.h)
if(NOT RONDO_SODIUM OR NOT RONDO_SODIUM_INCLUDE_DIR)
  message(STATUS "without libsodium (libsodium-dev) runs have no secrets")
  set(RONDO_WITHOUT_SECRETS ON)
endif()
)";
  if (contents.needsCuda)
    text += "set(RONDO_CUDA ON)\ninclude(cmake/Cuda.cmake)\n";
  text += contents.needsMpi ? "set(RONDO_MPI ON)\n" : "set(RONDO_MPI OFF)\n";
  text += R"(
include_directories(${PROJECT_SOURCE_DIR})
add_subdirectory(schedule)
)";
  if (contents.needsSearch)
    text += "add_subdirectory(lowering)\n";
  text += R"(add_subdirectory(runtime)
)";
  if (contents.needsMpi)
    text += R"(if(NOT RONDO_HAS_MPI)
  message(FATAL_ERROR "no MPI found: install one, such as libopenmpi-dev")
endif()
)";
  if (!contents.bodies.empty())
    text += "set(RONDO_BODIES \"\" CACHE STRING\n"
            "  \"sources, objects or libraries that define the bodies " +
            llvm::join(contents.bodies, ", ") +
            "\")\nif(NOT RONDO_BODIES)\n"
            "  message(FATAL_ERROR \"RONDO_BODIES names no file that defines "
            "the bodies " +
            llvm::join(contents.bodies, ", ") +
            ": cmake -B build -DRONDO_BODIES=FILE\")\nendif()\n";
  text += "add_executable(train train.cpp)\n"
          "target_link_libraries(train PRIVATE ";
  text += contents.needsCuda  ? "RondoCuda"
          : contents.needsMpi ? "RondoMpi"
                              : "RondoRuntime";
  text += contents.needsSearch ? " RondoSearch)\n" : ")\n";
  if (!contents.bodies.empty())
    text += R"(foreach(file IN LISTS RONDO_BODIES)
  get_filename_component(file ${file} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  if(file MATCHES "\\.(c|cc|cpp|cxx|cu)$")
    target_sources(train PRIVATE ${file})
  else()
    target_link_libraries(train PRIVATE ${file})
  endif()
endforeach()
target_include_directories(train PRIVATE runtime/bodies)
)";
  text += "set_target_properties(train PROPERTIES RUNTIME_OUTPUT_DIRECTORY "
          "${PROJECT_BINARY_DIR})\n";
  return text;
}

static std::string readme(const BundleContents &contents) {
  std::string needs =
      contents.needsCuda
          ? "cmake, g++, the CUDA toolkit 12.8 or later and NCCL; built for "
            "the GPU of this machine, or\n"
            "with -DCMAKE_CUDA_ARCHITECTURES=NN for another one"
          : std::string(contents.needsMpi ? "cmake, g++, an MPI"
                                          : "cmake, g++") +
                " and OpenBLAS (without it training is many times slower)";
  return "# " + contents.input + ", schedule " + contents.schedule +
         "\n\nA program that trains, written by rondo for the target " +
         contents.target + " in " + contents.dtype + ". It needs " + needs +
         ".\n\n"
         "    cmake -B build" +
         (contents.bodies.empty() ? ""
                                  : " -DRONDO_BODIES=FILE  # that defines " +
                                        llvm::join(contents.bodies, ", ")) +
         "\n    cmake --build build -j\n"
         "    build/train --data FILE            # --help lists the flags\n" +
         (contents.needsMpi ? "    mpirun -np RANKS build/train --data FILE\n"
                            : "");
}

/// Adds all files of a folder and its subfolders.
static llvm::Error addFolder(StringRef root, StringRef folder,
                             std::vector<std::string> &files) {
  std::error_code ec;
  const std::string path = in(root, folder);
  for (fs::recursive_directory_iterator it(path, ec), end; it != end && !ec;
       it.increment(ec))
    if (it->type() == fs::file_type::regular_file)
      files.push_back(StringRef(it->path()).drop_front(root.size() + 1).str());
  return ec ? llvm::createStringError("cannot read '" + path +
                                      "': " + ec.message())
            : llvm::Error::success();
}

/// The runtime's files that a bundle needs, relative to `root`, sorted.
static llvm::Expected<std::vector<std::string>>
runtimeFiles(StringRef root, const BundleContents &contents) {
  const bool needsCuda = contents.needsCuda;
  std::vector<std::string> files;
  std::error_code ec;
  // The simulator of the core, as in schedule/CMakeLists.txt; all of the core,
  // with lowering, for a program that searches.
  std::vector<StringRef> folders = {"kinds"};
  if (contents.needsSearch) {
    folders.insert(folders.end(), {"schedule", "lowering", "planning/gathers"});
    for (const char *file :
         {"Deadline.h", "FitLoop.h", "FittingSearch.h", "FittingSearch.cpp",
          "PlanArenas.h", "PlanArenas.cpp", "ShardedSearch.h",
          "ShardedSearch.cpp", "Tightening.h", "Tightening.cpp"})
      files.push_back("planning/" + std::string(file));
  } else {
    folders.insert(folders.end(),
                   {"schedule/model", "schedule/order", "schedule/simulate",
                    "schedule/transforms", "schedule/program"});
    files.push_back("schedule/CMakeLists.txt");
  }
  for (StringRef folder : folders)
    if (llvm::Error error = addFolder(root, folder, files))
      return std::move(error);
  std::string runtime = in(root, "runtime");
  for (fs::recursive_directory_iterator it(runtime, ec), end; it != end && !ec;
       it.increment(ec)) {
    StringRef file = it->path();
    StringRef name = path::filename(file), kind = path::extension(file);
    bool isSource = name == "CMakeLists.txt" || kind == ".h" ||
                    kind == ".cpp" || kind == ".cu" || kind == ".cuh";
    // The same rule as in runtime/CMakeLists.txt. Headers in CUDA folders are
    // included: sizes on all targets are in runtime/model/.
    StringRef parent = path::filename(path::parent_path(file));
    bool isCuda =
        kind == ".cu" || kind == ".cuh" || (kind == ".cpp" && parent == "cuda");
    if (!isSource || (isCuda && !needsCuda))
      continue;
    files.push_back(file.drop_front(root.size() + 1).str());
  }
  if (ec)
    return llvm::createStringError("cannot read '" + runtime +
                                   "': " + ec.message());
  if (needsCuda)
    files.push_back("cmake/Cuda.cmake");
  llvm::sort(files);
  if (!llvm::is_contained(files, "runtime/rondo_runtime.h"))
    return llvm::createStringError(
        "'" + runtime +
        "' has no sources of the runtime: set RONDO_RUNTIME_DIR "
        "to an installation");
  return files;
}

static llvm::Error write(StringRef folder, StringRef name, StringRef text) {
  std::string file = in(folder, name);
  std::error_code ec;
  llvm::raw_fd_ostream os(file, ec);
  if (!ec) {
    os << text;
    os.close();
    ec = os.error();
    os.clear_error();
  }
  return ec ? llvm::createStringError("cannot write '" + file +
                                      "': " + ec.message())
            : llvm::Error::success();
}

/// Writes everything into an existing folder.
static llvm::Error writeContents(const BundleContents &contents,
                                 StringRef folder) {
  std::string root = HostCompiler::forThisTool().includeDir;
  llvm::Expected<std::vector<std::string>> files = runtimeFiles(root, contents);
  if (!files)
    return files.takeError();
  for (const std::string &file : *files) {
    std::string to = in(folder, file);
    std::error_code ec = fs::create_directories(
        path::parent_path(to), /*IgnoreExisting=*/true, fs::all_all);
    if (!ec)
      ec = fs::copy_file(in(root, file), to);
    if (ec)
      return llvm::createStringError("cannot copy '" + in(root, file) +
                                     "' to '" + to + "': " + ec.message());
  }
  if (llvm::Error error = write(folder, "train.cpp", contents.program))
    return error;
  if (llvm::Error error = write(folder, "CMakeLists.txt", buildFile(contents)))
    return error;
  return write(folder, "README.md", readme(contents));
}

llvm::Error rondo::codegen::writeBundle(const BundleContents &contents,
                                        StringRef folder) {
  std::string place = folder.rtrim('/').str();
  std::error_code ec;
  bool exists = fs::exists(place);
  if (exists && !fs::is_directory(place))
    return llvm::createStringError("'" + place + "' is a file: name a folder");
  if (exists && fs::directory_iterator(place, ec) != fs::directory_iterator())
    return llvm::createStringError(
        "folder '" + place + "' is not empty: remove it, or name another");

  const std::string temporary = temporaryBeside(place);
  llvm::scope_exit cleanUp([&] { (void)fs::remove_directories(temporary); });
  // As with files, the umask decides who may read it.
  ec = fs::create_directory(temporary, /*IgnoreExisting=*/false, fs::all_all);
  if (ec)
    return llvm::createStringError("cannot write next to '" + place +
                                   "': " + ec.message());
  if (llvm::Error error = writeContents(contents, temporary))
    return error;
  // A rename replaces an empty folder.
  ec = fs::rename(temporary, place);
  if (ec)
    return llvm::createStringError("cannot write '" + place +
                                   "': " + ec.message());
  return llvm::Error::success();
}
