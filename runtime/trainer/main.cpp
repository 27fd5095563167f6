//===- main.cpp - What an emitted program's main() calls ------------------===//

#include "runtime/bodies/linear.h"
#include "runtime/error.h"
#include "runtime/trainer/trainer.h"

#include <cstdio>
#include <exception>
#include <new>

using namespace rondo::runtime;

static int run(const Executable &executable, int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  if (options.mode == Options::Mode::Help) {
    std::fputs(helpText(argc > 0 ? argv[0] : executable.name).c_str(), stdout);
    return 0;
  }
  // Each rank is one thread already.
  useOneThreadToMultiply();
  bool isTraining = options.mode == Options::Mode::Train;
  bool needs = needsData(executable);
  if (isTraining && needs && options.data.empty())
    throw Error("'" + std::string(executable.name) +
                    "' trains on tokens: --data FILE is missing",
                Exit::Usage);
  if (!needs && !options.data.empty())
    throw Error("'" + std::string(executable.name) +
                    "' has timed layers only and reads no data: leave out "
                    "--data",
                Exit::Usage);
  Trainer trainer(executable, options, options.data.empty());
  switch (options.mode) {
  case Options::Mode::Verify:
    return verifyModel(trainer, options);
  case Options::Mode::Profile:
    return profileModel(trainer, options);
  default:
    return trainModel(trainer, options);
  }
}

int rondo::runtime::run_executable(const Executable &executable, int argc,
                                   char **argv) {
  Exit code = Exit::Failure;
  std::string message;
  try {
    int status = run(executable, argc, argv);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout))
      return status;
    message = "cannot write to standard output";
  } catch (const Error &error) {
    code = error.code;
    message = error.what();
  } catch (const std::bad_alloc &) {
    code = Exit::RunFailure;
    message = "the system has too little memory";
  } catch (const std::exception &error) {
    message = error.what();
  }
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return static_cast<int>(code);
}
