//===- probe.cpp - Runs graphs and tasks for the exporter -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   record GRAPH FILE               prints what a graph allocates and returns
//   record GRAPH FILE OUTPUTS       the same for GPUs, on a machine without one
//   run BODY F|I|W|B FILE SCALE     works on the buffers in FILE
//   time BODY F|I|W|B FILE SCALE N  prints the nanoseconds of up to N runs
//
// A file begins with lines, which end with an empty one; 64-byte aligned
// contents follow. Lines of tensors: DTYPE DIMS SIZES STRIDES. Lines of
// buffers: SPACE INDEX BYTES.
//
//===----------------------------------------------------------------------===//

#include "runtime/torch/probe.h"
#include "runtime/torch/target.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rondo::torch {

namespace {

constexpr int64_t alignment = 64;

/// A task is measured this often, more often only while that has not taken
/// `enough`.
constexpr int64_t minTimes = 3;
constexpr std::chrono::milliseconds enough{500};

int64_t aligned(int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// A file of lines and contents, in memory. If it is not shared, the file stays
/// as it is.
class Contents {
public:
  std::vector<std::string> lines;
  char *first;

  Contents(const char *path, bool isShared) {
    auto fail = [&] {
      throw runtime::Error("cannot map '" + std::string(path) +
                           "': " + std::strerror(errno));
    };
    const int file = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
      fail();
    bytes = status.st_size;
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  isShared ? MAP_SHARED : MAP_PRIVATE, file, 0);
    const bool isMapped = memory != MAP_FAILED;
    close(file);
    if (!isMapped)
      fail();
    char *const all = static_cast<char *>(memory);
    int64_t begin = 0;
    for (bool isEmpty = false; begin < bytes && !isEmpty;) {
      const int64_t end = std::find(all + begin, all + bytes, '\n') - all;
      isEmpty = end == begin;
      if (!isEmpty)
        lines.emplace_back(all + begin, all + end);
      begin = end + 1;
    }
    first = all + aligned(begin);
  }
  Contents(const Contents &) = delete;
  Contents &operator=(const Contents &) = delete;
  ~Contents() { munmap(memory, bytes); }

  int64_t bytesOfBuffers() const {
    return std::max<int64_t>(static_cast<char *>(memory) + bytes - first, 0);
  }

private:
  void *memory;
  int64_t bytes;
};

Value parseValue(const std::string &line) {
  std::istringstream words(line);
  Value value{};
  words >> value.dtype >> value.numDims;
  for (int32_t d = 0; d < value.numDims && d < maxDims; ++d)
    words >> value.sizes[d];
  for (int32_t d = 0; d < value.numDims && d < maxDims; ++d)
    words >> value.strides[d];
  if (!words || value.numDims > maxDims || bytesOf(value.dtype) == 0)
    throw runtime::Error("'" + line + "' is not a tensor");
  return value;
}

void printOutput(const Tensor &tensor, const std::vector<char *> &inputs,
                 const std::vector<int64_t> &extents) {
  int64_t source = tensor.allocation;
  int64_t offset = tensor.offset * bytesOf(tensor.dtype);
  // An output may be an input, or lie in one.
  for (size_t i = 0; source < 0 && i < inputs.size(); ++i)
    if (tensor.data() >= inputs[i] && tensor.data() < inputs[i] + extents[i]) {
      source = -2 - int64_t(i);
      offset = tensor.data() - inputs[i];
    }
  std::printf("output %lld %lld %d %d", static_cast<long long>(source),
              static_cast<long long>(offset), int(tensor.dtype),
              int(tensor.numDims));
  for (int32_t d = 0; d < tensor.numDims; ++d)
    std::printf(" %lld", static_cast<long long>(tensor.sizes[d]));
  for (int32_t d = 0; d < tensor.numDims; ++d)
    std::printf(" %lld", static_cast<long long>(tensor.strides[d]));
  std::printf("\n");
}

/// Prints what a graph allocates and returns, if it is run on the tensors of a
/// file by `run(inputs, outputs)`. `outputs` are null first.
template <typename Run>
int record(const char *name, const char *path, size_t numOutputs,
           const Run &run) {
  const Contents contents(path, /*isShared=*/false);
  std::vector<Tensor *> inputs, outputs(numOutputs);
  std::vector<char *> addresses;
  std::vector<int64_t> extents;
  char *next = contents.first;
  for (const std::string &line : contents.lines) {
    Tensor *tensor = tensorAt(parseValue(line), next);
    inputs.push_back(tensor);
    addresses.push_back(next);
    extents.push_back(tensor->extent());
    next += aligned(tensor->extent());
  }
  Allocator allocator;
  Allocator::here() = &allocator;
  if (run(inputs, outputs) != 0)
    throw runtime::Error("graph '" + std::string(name) +
                         "' failed: " + lastFault());
  for (const Allocation &allocation : allocator.recorded())
    std::printf("allocation %lld %lld %lld\n",
                static_cast<long long>(allocation.bytes),
                static_cast<long long>(allocation.begin),
                static_cast<long long>(allocation.end));
  for (Tensor *tensor : outputs)
    if (tensor)
      printOutput(*tensor, addresses, extents);
  Allocator::here() = nullptr;
  return 0;
}

[[noreturn]] void failToLoad(const char *name) {
  throw runtime::Error("graph '" + std::string(name) + "' cannot be loaded");
}

int recordOnHost(Graph &graph, const char *path) {
  // More than a graph has.
  constexpr size_t maxOutputs = 1024;
  void *model = nullptr;
  if (graph.create(&model, nullptr, 0) != 0)
    failToLoad(graph.name);
  return record(
      graph.name, path, maxOutputs,
      [&](std::vector<Tensor *> &inputs, std::vector<Tensor *> &outputs) {
        return graph.run(model, inputs.data(), outputs.data());
      });
}

int recordWithoutDevice(const DeviceGraph &graph, const char *path,
                        size_t numOutputs) {
  void *container = nullptr;
  if (graph.create(&container, 1, "cuda:0", nullptr) != 0)
    failToLoad(graph.name);
  NoDevice target;
  return record(
      graph.name, path, numOutputs,
      [&](std::vector<Tensor *> &inputs, std::vector<Tensor *> &outputs) {
        return runContainer(target, graph, container, inputs, outputs);
      });
}

/// The first of some graphs with this name. Throws Error if there is none.
template <typename Named>
Named &find(Named *const *all, int32_t count, const std::string &name) {
  for (int32_t g = 0; g < count; ++g)
    if (all[g]->name == name)
      return *all[g];
  throw runtime::Error("there is no graph '" + name + "'");
}

/// The buffers of a task in a file's contents.
struct FileBuffers {
  rondo_task task{};
  std::vector<void *> inputs, inputGrads, streams, saved;

  /// The contents begin at `next`.
  FileBuffers(const Contents &contents, char *next, double lossScale) {
    for (const std::string &line : contents.lines) {
      std::istringstream words(line);
      std::string space;
      int32_t index = 0;
      int64_t size = 0;
      words >> space >> index >> size;
      void *address = size > 0 ? next : nullptr;
      place(space, index, address);
      next += aligned(size);
    }
    task.inputs = inputs.data();
    task.input_grads = inputGrads.data();
    task.streams = streams.data();
    task.saved = saved.data();
    task.loss_scale = lossScale;
  }

  void place(const std::string &space, int32_t index, void *address) {
    if (space == "weights")
      task.weights = task.weights_in_dtype = task.running_weights = address;
    else if (space == "weights_in_dtype")
      task.weights_in_dtype = address;
    else if (space == "gradients")
      task.gradients = address;
    else if (space == "saved_for_input_grad")
      task.saved_for_input_grad = address;
    else if (space == "saved_for_weight_grad")
      task.saved_for_weight_grad = address;
    else if (space == "kept_for_weight_grad")
      task.kept_for_weight_grad = address;
    else if (space == "inputs")
      put(inputs, index, address);
    else if (space == "input_grads")
      put(inputGrads, index, address);
    else if (space == "output")
      task.output = address;
    else if (space == "output_grad")
      task.output_grad = address;
    else if (space == "workspace")
      task.workspace = address;
    else if (space == "data")
      task.data = static_cast<const int32_t *>(address);
    else if (space == "streams")
      put(streams, index, address);
    else if (space == "saved")
      put(saved, index, address);
    else if (space == "loss")
      task.loss = static_cast<float *>(address);
    else
      throw runtime::Error("'" + space + "' is not a buffer of a task");
  }

  static void put(std::vector<void *> &list, int32_t index, void *address) {
    list.resize(std::max<size_t>(list.size(), index + 1));
    list[index] = address;
  }
};

/// Runs tasks in the calling thread, on the contents themselves.
class HostRunner : public TaskRunner {
public:
  char *take(char *contents, int64_t) override { return contents; }
  const char *run(const Task &task, const rondo_layer &layer,
                  rondo_task &buffers) override {
    return runTask(task, layer, buffers);
  }
  void giveBack() override {}
};

int run(TaskRunner &runner, const Task &task, const rondo_layer &layer,
        const char *path, double lossScale, int64_t times) {
  const Contents contents(path, /*isShared=*/times == 0);
  FileBuffers buffers(contents,
                      runner.take(contents.first, contents.bytesOfBuffers()),
                      lossScale);
  auto runOnce = [&] {
    if (const char *what = runner.run(task, layer, buffers.task))
      throw runtime::Error(what);
  };
  if (times == 0)
    runOnce();
  std::chrono::nanoseconds all{};
  for (int64_t t = 0; t < times && (t < minTimes || all < enough); ++t) {
    const auto start = std::chrono::steady_clock::now();
    runOnce();
    const std::chrono::nanoseconds took =
        std::chrono::steady_clock::now() - start;
    all += took;
    std::printf("%lld\n", static_cast<long long>(took.count()));
  }
  runner.giveBack();
  return 0;
}

} // namespace

int probeTasks(int argc, char **argv, TaskRunner &runner, const Probed *tasks,
               int32_t numTasks, const rondo_layer &layer) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if ((mode == "run" && argc == 6) || (mode == "time" && argc == 7)) {
    for (int32_t t = 0; t < numTasks; ++t)
      if (std::string(tasks[t].body) == argv[2] &&
          std::string(tasks[t].kind) == argv[3])
        return run(runner, *tasks[t].task, layer, argv[4], std::stod(argv[5]),
                   mode == "time" ? std::stoll(argv[6]) : 0);
    throw runtime::Error("there is no task " + std::string(argv[3]) +
                         " of body '" + argv[2] + "'");
  }
  throw runtime::Error("usage: record GRAPH FILE | run BODY F|I|W FILE SCALE | "
                       "time BODY F|I|W FILE SCALE N");
}

int probe(int argc, char **argv, Graph *const *graphs, int32_t numGraphs,
          const Probed *tasks, int32_t numTasks, const rondo_layer &layer) {
  return exitCodeOf([&] {
    if (argc == 4 && std::string(argv[1]) == "record")
      return recordOnHost(find(graphs, numGraphs, argv[2]), argv[3]);
    HostRunner runner;
    return probeTasks(argc, argv, runner, tasks, numTasks, layer);
  });
}

int probeWithoutDevice(int argc, char **argv, const DeviceGraph *const *graphs,
                       int32_t numGraphs) {
  return exitCodeOf([&] {
    if (argc != 5 || std::string(argv[1]) != "record")
      throw runtime::Error("usage: record GRAPH FILE OUTPUTS");
    return recordWithoutDevice(find(graphs, numGraphs, argv[2]), argv[3],
                               std::stoul(argv[4]));
  });
}

} // namespace rondo::torch
