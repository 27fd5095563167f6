//===- option_checks.cpp - Options that exclude or need each other --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"
#include "kinds/Optimizers.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/checkpoints/checkpoint_files.h"
#include "runtime/checkpoints/safetensors.h"
#include "runtime/data/data.h"
#include "runtime/trainer/options.h"

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

using namespace rondo::runtime;

using namespace rondo;

void rondo::runtime::checkTogether(const Options &options, bool isVerify,
                                   bool isCheck) {
  if (isVerify && !options.profile.empty())
    usage("--verify and --profile cannot be combined");
  if (isCheck && (isVerify || !options.profile.empty()))
    usage("--check-bodies cannot be combined with --verify or --profile");
  const bool isGenerate =
      !options.prompt.empty() || !options.promptTokens.empty();
  if (isGenerate && (isCheck || isVerify || !options.profile.empty()))
    usage("--generate cannot be combined with --verify, --profile or "
          "--check-bodies");
  if (!options.prompt.empty() && !options.promptTokens.empty())
    usage("--generate and --generate-tokens cannot be combined");
  if (!isGenerate &&
      (options.newTokens || options.temperature || !options.logits.empty()))
    usage("--tokens, --temperature and --logits need --generate or "
          "--generate-tokens");
  if (isGenerate && !options.data.empty())
    usage("--generate reads no --data");
  if (!options.init.empty() && !isGenerate &&
      options.mode != Options::Mode::Train)
    usage("--init is for training and --generate, not for --verify, --profile "
          "or --check-bodies");
  // A run that is started again with the same flags resumes its own file.
  if (!options.init.empty() && !options.resume.empty() &&
      options.resume != options.save)
    usage("--init and --resume both give weights; together they need --save "
          "with the file of --resume, which is resumed once it exists");
  if (options.mode != Options::Mode::Train &&
      !(options.save + options.resume + options.trace + options.jsonLog +
        options.linksFile)
           .empty())
    usage("--save, --resume, --trace, --json-log and --links-file are for "
          "training, not for --verify, --profile, --check-bodies or "
          "--generate");
  if (options.linkTraceRepeat > 0 && options.linkTrace.empty())
    usage("--link-trace-repeat needs --link-trace");
  if (!options.linkTrace.empty() && options.mode != Options::Mode::Train &&
      options.mode != Options::Mode::Verify)
    usage("--link-trace is for training and --verify: others do not iterate");
  constexpr std::string_view indexEnd = ".json";
  if (options.save.size() >= indexEnd.size() &&
      options.save.substr(options.save.size() - indexEnd.size()) == indexEnd)
    usage("--save '" + options.save +
          "' is the name of an index: name the file without it, as "
          "model.safetensors, to which several processes add .index.json");
  if (options.saveEvery > 0 && options.save.empty())
    usage("--save-every needs --save");
}

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

/// Files that cannot be read are reported when they are needed: a resumed run
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

/// The optimizer that memory must be planned for.
static PlannedOptimizer neededBy(const Options &options) {
  if (options.optimizer == OptimizerKind::AdamW)
    return PlannedOptimizer::AdamW;
  return options.momentum == 0.0 ? PlannedOptimizer::PlainSgd
                                 : PlannedOptimizer::Sgd;
}

void rondo::runtime::chooseOptimizer(const Executable &executable,
                                     Options &options) {
  const PlannedOptimizer planned = optimizerWith(executable.moments);
  if (!options.hasOptimizer && planned != PlannedOptimizer::AdamW) {
    options.optimizer = OptimizerKind::Sgd;
    if (planned == PlannedOptimizer::PlainSgd && !options.momentum)
      options.momentum = 0;
  }
  if (options.momentum && options.optimizer != OptimizerKind::Sgd)
    throw Error("--momentum needs --optimizer sgd; --help lists the flags",
                Exit::Usage);
  const PlannedOptimizer needed = neededBy(options);
  if (traitsOf(needed).moments <= executable.moments)
    return;
  auto counted = [](int32_t moments) { return countOf(moments, "moment"); };
  const bool isPlain = planned == PlannedOptimizer::PlainSgd;
  throw Error(
      "the program's memory is planned for " +
          std::string(traitsOf(planned).keyword) + ", " +
          counted(executable.moments) + " of each weight; " +
          traitsOf(needed).keyword + " keeps " +
          counted(traitsOf(needed).moments) + ": run it with --optimizer sgd" +
          (isPlain ? " --momentum 0" : "") +
          ", or compile it with --optimizer " + traitsOf(needed).keyword,
      Exit::Usage);
}
