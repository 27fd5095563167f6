//===- own_files.cpp - Each output has a file of its own ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/own_files.h"

#include "runtime/base/error.h"
#include "runtime/trainer/checkpoint_files.h"
#include "runtime/trainer/data.h"
#include "runtime/trainer/new_file.h"
#include "runtime/trainer/weight_files.h"

#include <filesystem>
#include <set>
#include <string>
#include <sys/stat.h>
#include <vector>

using namespace rondo::runtime;

namespace {

struct NamedFile {
  std::string flag, path;
  bool isOutput;
};

} // namespace

/// Two files that do not exist yet are the same if their paths lead to the same
/// place.
static bool areOne(const std::string &a, const std::string &b) {
  struct stat first{}, second{};
  const bool isFirst = stat(a.c_str(), &first) == 0;
  const bool isSecond = stat(b.c_str(), &second) == 0;
  if (isFirst && isSecond)
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  if (isFirst != isSecond)
    return false;
  std::error_code error;
  // Relative paths without a folder that exists would stay relative.
  auto placeOf = [&](const std::string &path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path),
                                             error);
  };
  const std::filesystem::path place = placeOf(a);
  return !error && place == placeOf(b);
}

/// What cannot be read is reported when it is needed: a run that is resumed
/// reads none.
static std::set<std::string> weightFiles(const std::string &path) {
  if (path.empty())
    return {};
  try {
    return WeightFiles(path).paths();
  } catch (const Error &) {
    return {};
  }
}

void rondo::runtime::checkOwnFiles(const Options &options) {
  std::vector<NamedFile> outputs;
  const std::string savedIndex =
      options.save.empty() ? "" : indexOf(options.save);
  for (const NamedFile &output :
       {NamedFile{"--save", options.save, true},
        NamedFile{"--save", savedIndex, true},
        NamedFile{"--trace", options.trace, true},
        NamedFile{"--json-log", options.jsonLog, true},
        NamedFile{"--links-file", options.linksFile, true},
        NamedFile{"--profile", options.profile, true},
        NamedFile{"--tune", options.tune, true},
        NamedFile{"--logits", options.logits, true}})
    if (!output.path.empty() && !isSpecialFile(output.path))
      outputs.push_back(output);
  if (outputs.empty())
    return;
  std::vector<NamedFile> others;
  for (const std::string &file : listDataFiles(options.data))
    others.push_back({"--data", file, false});
  if (!options.resume.empty())
    others.push_back({"--resume", options.resume, false});
  if (!options.linkTrace.empty())
    others.push_back({"--link-trace", options.linkTrace, false});
  for (const std::string &file : weightFiles(options.init))
    others.push_back({"--init", file, false});
  for (const NamedFile &output : outputs) {
    for (const NamedFile &other : others) {
      if ((output.flag == "--save" &&
           (other.flag == "--resume" || other.flag == "--save")) ||
          !areOne(output.path, other.path))
        continue;
      throw Error(output.flag + " '" + output.path + "' is the file that " +
                      other.flag + " '" + other.path + "' " +
                      (other.isOutput ? "writes" : "reads") +
                      "; name another one",
                  Exit::Usage);
    }
    others.push_back(output);
  }
}
