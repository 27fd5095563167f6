//===- Main.cpp - The suite with ranks connected by MPI -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Started like any test, it starts itself again under mpirun. Process 0 runs
// the suite, and each process has one rank.
//
//===----------------------------------------------------------------------===//

#include "Relay.h"

#include "test/unit/conformance/AllProcesses.h"
#include "test/unit/conformance/Conformance.h"

#include "runtime/base/error.h"
#include "runtime/launch/discovery.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

/// The most ranks that any test has.
static constexpr int32_t numProcesses = 4;

// In process 0, while the suite runs.
static SharedMemory *sharedMemory = nullptr;
static const std::vector<Lines> *linesOfAll = nullptr;

static std::unique_ptr<Device> makeDevice(int32_t, int32_t, const World &) {
  return makeSharedDevice(*sharedMemory);
}

static std::unique_ptr<Transport> overMpi(const TransportParams &params,
                                          const std::vector<Device *> &,
                                          const TransportOptions &options,
                                          const World &) {
  return std::make_unique<AllProcesses>(
      params, numProcesses, [&](int32_t process) {
        return makeRemote((*linesOfAll)[process], *sharedMemory, params,
                          options);
      });
}

static const Backend backend = {makeDevice, overMpi};

const std::vector<Pair> &rondo::runtime::test::allPairs() {
  static const std::vector<Pair> pairs = {
      {"cpu_mpi", &backend,
       [](Device &, void *to, int byte, int64_t bytes) {
         std::memset(to, byte, static_cast<size_t>(bytes));
       },
       [](Device &, void *to, const void *from, int64_t bytes) {
         std::memcpy(to, from, static_cast<size_t>(bytes));
       },
       true, false, [](int) {}, [] {}, 1}};
  return pairs;
}

/// The product's own transport, as in a run of this many processes.
static std::unique_ptr<Transport> makeTransport(const TransportParams &params,
                                                const TransportOptions &options,
                                                int32_t process) {
  World world;
  world.process = world.localProcess = process;
  world.processes = world.localProcesses = numProcesses;
  return mpiBackend.makeTransport(params, {}, options, world);
}

static int runSuite(const ProcessSupport &mpi) {
  SharedMemory memory;
  Exchange exchange;
  mpi.broadcast(memory.name() + " " + exchange.address());
  // Serves rank 0 like any other.
  std::thread first(
      [&] { serve(dial(exchange.address(), 0), 0, memory, makeTransport); });
  const std::vector<Lines> lines = exchange.admit(numProcesses);
  sharedMemory = &memory;
  linesOfAll = &lines;
  const int status = RUN_ALL_TESTS();
  for (const Lines &process : lines)
    stopServing(process);
  first.join();
  mpi.stop();
  return status;
}

static int serveSuite(const ProcessSupport &mpi, int32_t process) {
  std::istringstream text(mpi.broadcast({}));
  std::string name, address;
  text >> name;
  std::getline(text, address);
  SharedMemory memory(name);
  serve(dial(address, process), process, memory, makeTransport);
  mpi.stop();
  return 0;
}

/// Replaces this program with mpirun, which starts it again. MPI variables that
/// the environment already has stay.
static int startWithMpi(char **argv) {
  const std::pair<const char *, const char *> settings[] = {
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
      // On this machine, without ssh, and on any number of its cores.
      {"OMPI_MCA_plm", "isolated"},
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
      // Seconds, for hangs inside MPI; an iteration of the suite has a shorter
      // limit.
      {"MPIEXEC_TIMEOUT", "150"},
  };
  for (auto [name, value] : settings)
    setenv(name, value, /*overwrite=*/0);
  std::string launcher = RONDO_MPIEXEC, flag = "-np",
              count = std::to_string(numProcesses),
              self = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<char *> command = {launcher.data(), flag.data(), count.data(),
                                 self.data()};
  for (char **argument = argv + 1; *argument; ++argument)
    command.push_back(*argument);
  command.push_back(nullptr);
  execv(launcher.c_str(), command.data());
  std::perror(launcher.c_str());
  return 1;
}

int main(int argc, char **argv) {
  // Another launcher of the tests says nothing about these processes.
  const Launch launch =
      discoverLaunch({}, [](const char *name) -> const char * {
        const bool isOfMpi = std::strncmp(name, "OMPI_", 5) == 0 ||
                             std::strncmp(name, "PMI", 3) == 0;
        return isOfMpi ? std::getenv(name) : nullptr;
      });
  const std::vector<char *> arguments(argv, argv + argc + 1);
  if (launch.rank == 0)
    testing::InitGoogleTest(&argc, argv);
  if (launch.source.empty())
    return testing::GTEST_FLAG(list_tests)
               ? RUN_ALL_TESTS()
               : startWithMpi(const_cast<char **>(arguments.data()));
  const ProcessSupport &mpi = *mpiBackend.processes;
  try {
    if (launch.size != numProcesses)
      throw Error("the suite needs " + std::to_string(numProcesses) +
                  " processes, not " + std::to_string(launch.size));
    mpi.start(launch);
    return launch.rank == 0 ? runSuite(mpi) : serveSuite(mpi, launch.rank);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
