//===- mpi.cpp - Ranks are processes connected by MPI ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One communicator per purpose; within it, the order that MPI guarantees for
// each pair of processes. Receives take any tag, so that the n-th send meets
// the n-th receive.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/backend.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/discovery.h"
#include "runtime/launch/store.h"
#include "runtime/transport/endpoint.h"

#include <chrono>
#include <climits>
#include <cstdlib>
#include <mpi.h>
#include <thread>

using namespace rondo::runtime;

static void check(int status, const char *what) {
  if (status == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(std::string("MPI failed in ") + what + ": " +
                  std::string(text, static_cast<size_t>(length)),
              Exit::RunFailure);
}

namespace {

/// Communicators are never freed: MPI would reuse their numbers, and messages
/// in flight from a failed program would meet receives of the next one. A run
/// makes few, and MPI_Comm_free() may wait for failed processes.
class MpiEndpoint : public Endpoint {
public:
  MpiEndpoint(const World &world, double timeoutSeconds) {
    enter(world, Phase::Connect);
    for (MPI_Comm &communicator : communicators) {
      duplicate(communicator, world, timeoutSeconds);
      check(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN),
            "MPI_Comm_set_errhandler");
    }
  }

  /// Open MPI over UCX has 2^23 - 1.
  int32_t largestTag() const override {
    int *largest = nullptr, isKnown = 0;
    check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &isKnown),
          "MPI_Comm_get_attr");
    return isKnown ? *largest : INT16_MAX;
  }

  int32_t send(int32_t to, Purpose purpose, int32_t tag, const void *data,
               int64_t bytes) override {
    int32_t number = take(bytes);
    check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag,
                    communicators[purpose], &operations[number].request),
          "MPI_Isend");
    return number;
  }

  int32_t receive(int32_t from, Purpose purpose, void *data,
                  int64_t bytes) override {
    int32_t number = take(bytes);
    operations[number].isReceive = true;
    check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, MPI_ANY_TAG,
                    communicators[purpose], &operations[number].request),
          "MPI_Irecv");
    return number;
  }

  bool test(int32_t number, Ended &ended) override {
    Operation &operation = operations[number];
    int isDone = 0;
    MPI_Status status;
    status.MPI_ERROR = MPI_SUCCESS;
    int result = MPI_Test(&operation.request, &isDone, &status);
    int kind = MPI_SUCCESS;
    if (result != MPI_SUCCESS)
      MPI_Error_class(result, &kind);
    if (kind != MPI_ERR_TRUNCATE)
      check(result, "MPI_Test");
    else
      isDone = 1;
    if (!isDone)
      return false;
    if (operation.isReceive) {
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      ended.tag = status.MPI_TAG;
      ended.bytes = kind == MPI_ERR_TRUNCATE ? operation.bytes + 1 : count;
    }
    free.push_back(number);
    return true;
  }

private:
  struct Operation {
    MPI_Request request = MPI_REQUEST_NULL;
    int64_t bytes = 0;
    bool isReceive = false;
  };

  /// MPI_Comm_dup() would wait for the other processes without an end. Which
  /// of them is unknown; the store names those that do not answer before.
  static void duplicate(MPI_Comm &communicator, const World &world,
                        double timeoutSeconds) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Comm_idup(MPI_COMM_WORLD, &communicator, &request),
          "MPI_Comm_idup");
    const Deadline deadline(
        timeoutSeconds > 0 ? timeoutSeconds + silenceSeconds + 1 : 0);
    for (int isDone = 0;;) {
      check(MPI_Test(&request, &isDone, MPI_STATUS_IGNORE), "MPI_Comm_idup");
      if (isDone)
        return;
      if (world.store)
        world.store->check();
      if (deadline.hasExpired())
        throw Error("rank " + std::to_string(world.process) + " waits in '" +
                        nameOf(Phase::Connect) +
                        "' for the communicator of all ranks, which MPI did "
                        "not make within " +
                        secondsText(deadline.limitSeconds()),
                    Exit::RunFailure);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  int32_t take(int64_t bytes) {
    if (bytes > INT_MAX)
      throw Error("a message of " + std::to_string(bytes) +
                  " bytes is larger than MPI can send at once, " +
                  std::to_string(INT_MAX));
    if (free.empty()) {
      free.push_back(static_cast<int32_t>(operations.size()));
      operations.emplace_back();
    }
    int32_t number = free.back();
    free.pop_back();
    operations[number] = Operation();
    operations[number].bytes = bytes;
    return number;
  }

  MPI_Comm communicators[numPurposes] = {};
  std::vector<Operation> operations;
  std::vector<int32_t> free;
};

} // namespace

/// Joins the processes that mpirun or srun started.
static void start(const Launch &launch) {
  bool isStartedByMpi = false;
  for (const char *name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK", "PMI_FD"})
    isStartedByMpi |= std::getenv(name) != nullptr;
  auto fail = [&](const std::string &what) {
    if (launch.rank != 0)
      throw PeerFailed{Exit::Usage};
    throw Error("this program uses MPI, but " + what +
                    ": start it with mpirun -np " +
                    std::to_string(launch.size) + ", or srun --mpi=pmix",
                Exit::Usage);
  };
  if (!isStartedByMpi)
    fail(launch.source + " started it, not an MPI launcher");
  int level = 0, rank = 0, size = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level),
        "MPI_Init_thread");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != launch.rank || size != launch.size)
    fail("MPI sees rank " + std::to_string(rank) + " of " +
         std::to_string(size) + " where " + launch.source + " says rank " +
         std::to_string(launch.rank) + " of " + std::to_string(launch.size));
  if (level < MPI_THREAD_SERIALIZED)
    fail("this MPI does not allow calls from two threads of a process");
}

/// Gives all processes the value of process 0.
static std::string broadcast(const std::string &text) {
  unsigned long size = text.size();
  check(MPI_Bcast(&size, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD), "MPI_Bcast");
  std::string result = text;
  result.resize(size);
  check(MPI_Bcast(result.data(), static_cast<int>(size), MPI_BYTE, 0,
                  MPI_COMM_WORLD),
        "MPI_Bcast");
  return result;
}

static void stop() { check(MPI_Finalize(), "MPI_Finalize"); }

static std::unique_ptr<Device> makeDevice(int32_t, int32_t, const World &) {
  return makeCpuDevice();
}

static std::unique_ptr<Endpoint>
makeMpiEndpoint(const World &world, const Peers &,
                const TransportOptions &options) {
  return std::make_unique<MpiEndpoint>(world, options.timeoutSeconds);
}

static std::unique_ptr<Transport> makeTransport(const TransportParams &params,
                                                const std::vector<Device *> &,
                                                const TransportOptions &options,
                                                const World &world) {
  return makeCpuTransport(params, options, world, makeMpiEndpoint);
}

static const ProcessSupport processes = {"MPI", start, broadcast, stop};
const Backend rondo::runtime::mpiBackend = {makeDevice, makeTransport,
                                            &processes};
