//===- option_checks.cpp - Which flags fit together -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/option_checks.h"

#include "runtime/trainer/option_values.h"

#include <string_view>

using namespace rondo::runtime;

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
