//===- EmulatedFailures.cpp - Failures on a GPU and their reports ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only in emulation: calls that fail, ranks that never come, machines without a
// GPU.
//
//===----------------------------------------------------------------------===//

#include "Conformance.h"
#include "EmulatedBackend.h"

#include "test/cuda_emulation/emulation.h"
#include "test/unit/runtime/Support.h"

#include "runtime/execution/program_run.h"
#include "runtime/transport/cuda/nccl_transport.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

class Failures : public testing::Test {
protected:
  void SetUp() override {
    emulation::setDevices(2);
    emulation::seed(1);
  }
  void TearDown() override {
    emulation::failCall(nullptr, 0, 0);
    emulation::failCommunicator(0, 0);
    emulation::setPeerAccess(true);
    emulation::setDevices(1);
  }
};

int numGpus() {
  int count = 0;
  cudaGetDeviceCount(&count);
  return count;
}

/// Runs iterations of the pipeline until one fails; returns the error, which
/// has this code.
std::string failureOf(
    const Spec &spec, double timeoutSeconds = 20,
    const std::function<void(int)> &before = [](int) {},
    Exit code = Exit::RunFailure) {
  Program program(spec);
  program.exe.backend = numGpus() > 1 ? &emulatedNccl : &cudaBackend;
  try {
    State state(program.exe);
    state.initialise(1);
    ProgramOptions options;
    options.transport.timeoutSeconds = timeoutSeconds;
    Connections connections(state, options);
    ProgramRun run(connections,
                   findProgram(program.exe, ProgramKind::Pipeline));
    Team team(run.program().numRanks);
    for (int i = 0; i < 4; ++i) {
      before(i);
      run.iterate(team);
    }
  } catch (const Error &error) {
    EXPECT_EQ(error.code, code) << error.what();
    return error.what();
  }
  return "no error";
}

/// Whether the text contains the parts, one after another.
testing::AssertionResult contains(const std::string &text,
                                  const std::vector<std::string> &parts) {
  size_t at = 0;
  for (const std::string &part : parts) {
    at = text.find(part, at);
    if (at == std::string::npos)
      return testing::AssertionFailure()
             << "'" << part << "' is not in '" << text << "'";
  }
  return testing::AssertionSuccess();
}

TEST_F(Failures, CallIsNamedWithRankFileAndLine) {
  for (int gpus : {1, 2}) {
    emulation::setDevices(gpus);
    std::string message = failureOf(timedOnRanks(2, 0), 20, [](int i) {
      if (i == 0)
        emulation::failCall("cudaStreamWaitEvent", 9, cudaErrorIllegalAddress);
    });
    EXPECT_TRUE(contains(message, {"rank ", "stream.h:",
                                   "cudaStreamWaitEvent(stream, handle, 0)",
                                   "cudaErrorIllegalAddress"}));
  }
}

// As under a profiler, which slows kernels down: an iteration takes longer than
// the limit, each task less.
TEST_F(Failures, SlowIterationIsNoFailure) {
  emulation::setDevices(1);
  EXPECT_EQ(failureOf(timedOnRanks(1, 60'000'000), 0.5), "no error");
}

TEST_F(Failures, EveryCallOfAnIterationIsChecked) {
  const char *const calls[] = {"cudaEventRecord",      "cudaMemcpyAsync",
                               "cudaMemsetAsync",      "cudaStreamQuery",
                               "cudaGraphLaunch",      "cudaStreamBeginCapture",
                               "cudaGraphInstantiate", "cudaSetDevice"};
  for (const char *call : calls)
    for (int gpus : {1, 2}) {
      emulation::setDevices(gpus);
      // The second iteration is recorded, later ones are repeated.
      std::string message = failureOf(timedOnRanks(2, 0), 20, [&](int i) {
        if (i == 1)
          emulation::failCall(call, 0, cudaErrorIllegalAddress);
      });
      EXPECT_TRUE(contains(message, {"cudaErrorIllegalAddress"})) << call;
      emulation::failCall(nullptr, 0, 0);
    }
}

TEST_F(Failures, CallsOfNcclAreChecked) {
  for (const char *call : {"ncclCommInitRankConfig", "ncclSend", "ncclRecv",
                           "ncclGroupStart", "ncclGetUniqueId"}) {
    emulation::failCall(call, 0, ncclInternalError);
    EXPECT_TRUE(contains(failureOf(timedOnRanks(2, 0)),
                         {".cpp:", call, "failed: internal error"}));
    emulation::failCall(nullptr, 0, 0);
  }
}

TEST_F(Failures, LostPeerEndsAllRanks) {
  std::string message = failureOf(timedOnRanks(2, 0), 20, [](int i) {
    if (i == 2)
      emulation::failCommunicator(3, ncclRemoteError);
  });
  EXPECT_TRUE(contains(message, {"rank ", "the channel from rank ",
                                 "failed: remote process exited"}));
}

TEST_F(Failures, RankThatNeverSendsIsNamed) {
  // Rank 1 leaves out its first gradient; rank 0 waits on the device.
  Spec spec = timedOnRanks(2, 0);
  std::vector<Act> &list = spec.pipeline[1];
  for (size_t i = 0; i < list.size();)
    if (list[i].kind == Act::Send || list[i].kind == Act::AllReduce)
      list.erase(list.begin() + static_cast<long>(i));
    else
      ++i;
  EXPECT_TRUE(
      contains(failureOf(spec, 0.5),
               {"no progress for 0.5 s: ", "rank 0 waits for 1I0 of rank 1"}));
  emulation::setDevices(1);
  EXPECT_TRUE(contains(failureOf(spec, 0.5),
                       {"no progress for 0.5 s: rank 0 waits for 1I0 of rank "
                        "1"}));
}

/// For every order of the streams: only aborting one channel ends waits for
/// another.
TEST_F(Failures, RanksThatWaitForEachOtherEnd) {
  Spec spec = timedOnRanks(2, 0);
  // Each waits for the other's message before it sends its own.
  for (std::vector<Act> &list : spec.pipeline)
    std::stable_partition(list.begin(), list.end(),
                          [](const Act &act) { return act.kind != Act::Send; });
  for (int seed = 0; seed < 2; ++seed) {
    emulation::seed(static_cast<uint64_t>(seed));
    EXPECT_TRUE(contains(failureOf(spec, 1), {"no progress for 1 s: "}));
  }
}

TEST_F(Failures, RanksOnOneGpuAreNamedByNccl) {
  emulation::setDevices(1);
  Program program(timedOnRanks(2, 0));
  program.exe.backend = &emulatedNccl;
  State state(program.exe);
  try {
    Connections connections(state, {});
    ProgramRun run(connections,
                   findProgram(program.exe, ProgramKind::Pipeline));
    ADD_FAILURE() << "they share a GPU";
  } catch (const Error &error) {
    EXPECT_TRUE(contains(error.what(), {"the channel from rank ",
                                        "failed: invalid usage: Duplicate"}));
  }
}

TEST_F(Failures, NothingIsLeftBehind) {
  const int before = emulation::liveHandles();
  EXPECT_EQ(failureOf(timedOnRanks(2, 0)), "no error");
  EXPECT_EQ(emulation::liveHandles(), before);
  emulation::failCall("cudaEventRecord", 40, cudaErrorIllegalAddress);
  EXPECT_NE(failureOf(timedOnRanks(2, 0)), "no error");
  EXPECT_EQ(emulation::liveHandles(), before);
}

// Memory that a kernel still uses would be freed otherwise: the abort of a rank
// waits neither for the device, if another rank of the process is in the
// communicator, nor for our own kernels after NCCL's.
TEST_F(Failures, AbandonedRanksHaveNothingOnTheirGpus) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    emulation::seed(seed);
    const Pair pair{"cuda_nccl", &emulatedNccl, nullptr, nullptr, false,
                    true,        nullptr,       nullptr, 1};
    Ranks ranks(pair, 2, 64);
    ranks.params.channels = {{0, 1, 2}};
    ranks.connect();
    EXPECT_NE(ranks.iterate([&](int rank) {
      for (int i = 0; rank == 0 && i < 3; ++i)
        ranks.transport->send(0, activation(i), ranks.at(0, 0), 8);
    }),
              "");
    EXPECT_EQ(emulation::operationsLeft(), 0) << "seed " << seed;
  }
}

TEST_F(Failures, MachineWithoutAGpuSkips) {
  Program program(timedOnRanks(2, 0));
  program.exe.backend = &cudaBackend;
  struct {
    int count, error;
    const char *message;
  } const machines[] = {
      {0, cudaErrorInsufficientDriver,
       "error: no NVIDIA driver or GPU found\n"},
      {0, cudaErrorNoDevice,
       "error: no NVIDIA GPU can be used here: cudaErrorNoDevice (the driver "
       "is for CUDA 12.8, this program for 12.8)\n"},
      {0, cudaSuccess,
       "error: no NVIDIA GPU can be used here (the driver is for CUDA 12.8, "
       "this program for 12.8)\n"},
  };
  for (auto &machine : machines) {
    emulation::setDevices(machine.count, machine.error);
    testing::internal::CaptureStderr();
    EXPECT_EQ(runProgram(program, {"--quiet"}), 77);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), machine.message);
  }
}

TEST_F(Failures, ArenaThatDoesNotFitIsAnError) {
  emulation::failCall("cudaMalloc", 2, cudaErrorMemoryAllocation);
  EXPECT_TRUE(contains(failureOf(
                           timedOnRanks(2, 0), 20, [](int) {}, Exit::Failure),
                       {"GPU 0 cannot allocate an arena of ", " bytes"}));
}

TEST_F(Failures, MissingHostMemoryIsAnError) {
  cuda::CudaDevice device(cuda::Gpu::get(0), /*rank=*/0);
  emulation::failCall("cudaMallocHost", 0, cudaErrorMemoryAllocation);
  try {
    device.makeHostMemory(12345);
    ADD_FAILURE() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::Failure);
    EXPECT_TRUE(contains(error.what(), {"cannot allocate 12345 bytes", "GPU 0",
                                        "--drain-every"}));
  }
}

/// Memory that is missing at another call is no reason to try again either.
TEST_F(Failures, MissingMemoryInAnIterationIsNotToBeRetried) {
  EXPECT_TRUE(contains(failureOf(
                           timedOnRanks(2, 0), 20,
                           [](int i) {
                             if (i == 1)
                               emulation::failCall("cudaGraphInstantiate", 0,
                                                   cudaErrorMemoryAllocation);
                           },
                           Exit::Failure),
                       {"no memory for the recorded graph",
                        "cudaErrorMemoryAllocation", "--graph off"}));
}

//===----------------------------------------------------------------------===//
// Several GPUs.
//===----------------------------------------------------------------------===//

/// The GPU of each rank of a lone process.
std::vector<int> placesOf(int32_t ranks) {
  std::vector<int> places;
  for (int32_t r = 0; r < ranks; ++r)
    places.push_back(cudaBackend.makeDevice(r, ranks, World())->place());
  return places;
}

/// The output of a program of three ranks that verifies itself.
std::string saidBy(std::vector<std::string> words) {
  Program program(timedOnRanks(3, 0));
  program.exe.backend = &cudaBackend;
  words.insert(words.end(), {"--verify", "--quiet"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(runProgram(program, words), 0);
  return testing::internal::GetCapturedStderr();
}

TEST_F(Failures, EachRankHasAGpuIfTheFirstReachesAll) {
  emulation::setDevices(3);
  EXPECT_EQ(placesOf(3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(saidBy({}),
            "note: iterations are not recorded as graphs, since this process "
            "has several GPUs; start a process for each rank to record them, "
            "or add --graph off\n");
  EXPECT_EQ(saidBy({"--graph", "off"}), "");
}

/// Kernels of the reference would fault in the memory of the others.
TEST_F(Failures, RanksShareAGpuThatDoesNotReachTheOthers) {
  emulation::setDevices(3);
  const std::string shares =
      ", so all 3 ranks of this process share GPU 0; to use all GPUs, start a "
      "process for each rank\n";
  emulation::setPeerAccess(false);
  EXPECT_EQ(placesOf(3), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(saidBy({}),
            "note: GPU 0 has no access to the memory of GPU 1" + shares);
  // The machine says that it can, and then refuses, as beyond eight GPUs.
  emulation::setPeerAccess(true, 2);
  EXPECT_EQ(placesOf(3), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(saidBy({}),
            "note: GPU 0 has no access to the memory of GPU 2" + shares);
}

/// Process 1 of 2, whose launcher does not say which one of its machine it is.
TEST_F(Failures, UnknownLocalRankNeedsOneGpu) {
  World world;
  world.process = 1;
  world.processes = 2;
  world.localProcess = -1;
  world.startedBy = "PMIx";
  try {
    cudaBackend.makeDevice(1, 2, world);
    ADD_FAILURE() << "it takes one of two";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::Usage);
    EXPECT_STREQ(error.what(),
                 "PMIx does not say which processes are on one machine, and "
                 "this one has 2 GPUs: give each process its number on its "
                 "machine with --local-rank, or let it see only its GPU "
                 "(CUDA_VISIBLE_DEVICES)");
  }
  emulation::setDevices(1);
  EXPECT_EQ(cudaBackend.makeDevice(1, 2, world)->place(), 0);
  emulation::setDevices(2);
  world.localProcess = 1;
  EXPECT_EQ(cudaBackend.makeDevice(1, 2, world)->place(), 1);
}

/// Also after a failure, at the start and in an iteration.
TEST_F(Failures, WhatAGpuHasIsDestroyedWhileItIsCurrent) {
  emulation::destroyedElsewhere();
  EXPECT_EQ(failureOf(timedOnRanks(2, 0)), "no error");
  EXPECT_EQ(emulation::destroyedElsewhere(), 0);
  emulation::failCall("cudaEventRecord", 40, cudaErrorIllegalAddress);
  EXPECT_NE(failureOf(timedOnRanks(2, 0)), "no error");
  EXPECT_EQ(emulation::destroyedElsewhere(), 0);
  emulation::failCall("ncclSend", 0, ncclInternalError);
  EXPECT_NE(failureOf(timedOnRanks(2, 0)), "no error");
  EXPECT_EQ(emulation::destroyedElsewhere(), 0);
}

TEST_F(Failures, ImposedLinkIsRefused) {
  Program program(timedOnRanks(2, 0));
  program.exe.backend = &cudaBackend;
  testing::internal::CaptureStderr();
  EXPECT_EQ(runProgram(program, {"--quiet", "--link", "5"}), 2);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "error: --link cannot slow down links between GPUs: leave it out\n");
}

//===----------------------------------------------------------------------===//
// Programs.
//===----------------------------------------------------------------------===//

TEST_F(Failures, ProgramVerifiesItselfOnAGpu) {
  emulation::setDevices(1);
  Program program(timedOnRanks(2, 0));
  program.exe.backend = &cudaBackend;
  for (const char *graph : {"on", "off"})
    EXPECT_EQ(runProgram(program, {"--verify", "--quiet", "--graph", graph}),
              0);
}

/// The number after the first `key` in the text; -1: not found.
double numberBehind(const std::string &text, const std::string &key) {
  size_t at = text.find(key);
  return at == std::string::npos ? -1
                                 : std::atof(text.c_str() + at + key.size());
}

TEST_F(Failures, TraceAndProfileHaveTimesOfTheDevice) {
  emulation::setDevices(1);
  Spec spec = timedOnRanks(2, 0);
  for (LayerDesc &layer : spec.layers)
    layer.forwardNs = layer.inputGradNs = layer.weightGradNs = 2'000'000;
  Program program(spec);
  program.exe.backend = &cudaBackend;
  TemporaryFile trace, costs;
  EXPECT_EQ(runProgram(program,
                       {"--quiet", "--iterations", "2", "--trace", trace.path}),
            0);
  // No task is shorter; other processes may make it longer.
  const std::string text = trace.read();
  EXPECT_GE(
      numberBehind(text.substr(text.find("\"name\":\"0F0\"")), "\"dur\":"),
      2000);
  EXPECT_EQ(runProgram(program, {"--quiet", "--iterations", "2", "--profile",
                                 costs.path}),
            0);
  EXPECT_GE(numberBehind(costs.read(), "\"forward_ns\":"), 2e6);
}

} // namespace
