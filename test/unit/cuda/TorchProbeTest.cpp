// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Probes of compiled graphs for GPUs: recorded without a GPU, and run on an
// emulated one.

#include "TorchGraph.h"

#include "test/cuda_emulation/emulation.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <unistd.h>

namespace rondo::torch {
namespace {

/// A file of lines, an empty one, and contents from a multiple of 64 bytes on.
class ProbeFile {
public:
  ProbeFile(std::string head, const std::vector<float> &contents)
      : path(testing::TempDir() + "/rondo-probe-" + std::to_string(getpid())) {
    head += "\n";
    begin = alignedBytes(int64_t(head.size()));
    std::ofstream out(path, std::ios::binary);
    out << head << std::string(begin - head.size(), '\0');
    out.write(reinterpret_cast<const char *>(contents.data()),
              std::streamsize(4 * contents.size()));
  }
  ~ProbeFile() { std::remove(path.c_str()); }
  std::vector<float> read(int64_t first, int64_t size) const {
    std::vector<float> result(size);
    std::ifstream in(path, std::ios::binary);
    in.seekg(begin + 4 * first);
    in.read(reinterpret_cast<char *>(result.data()), 4 * size);
    return result;
  }

  const std::string path;

private:
  int64_t begin;
};

/// Returns the lines that a probe prints.
template <typename Probe>
std::string outputOf(std::vector<std::string> words, const Probe &probe) {
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  testing::internal::CaptureStdout();
  EXPECT_EQ(probe(static_cast<int>(arguments.size()), arguments.data()), 0);
  return testing::internal::GetCapturedStdout();
}

using TorchProbe = TorchTask;
TEST_F(TorchProbe, RecordsWithoutADevice) {
  const Tables tables;
  const DeviceGraph *const graphs[] = {&tables.graph};
  // A kernel that is launched here does nothing.
  emulation::setDriverKernel(image, "nothing", [](void **) { return [] {}; });
  kernelName = "nothing";
  const ProbeFile file("6 2 4 16 16 1\n6 2 16 16 1 16\n6 1 16 1\n6 0\n"
                       "4 1 1 1\n",
                       std::vector<float>(512));
  EXPECT_EQ(outputOf({"probe", "record", "combined", file.path, "1"},
                     [&](int argc, char **argv) {
                       return probeWithoutDevice(argc, argv, graphs, 1);
                     }),
            "allocation 256 0 4\nallocation 4288 1 2\nallocation 256 3 -1\n"
            "output 2 0 6 2 4 16 16 1\n");
  for (Container *left : std::set<Container *>(containers))
    removeContainer(left);
}

TEST_F(TorchProbe, RunsOnADevice) {
  Tables tables;
  const Probed probed[] = {{"mix", "F", &tables.task}};
  Layer layer(tables, stream);
  layer.buffers.seed = 0;
  layer.buffers.microbatch = 0;
  const int64_t scratch = 4 * count + tables.scratch;
  std::vector<float> contents = layer.x;
  contents.insert(contents.end(), layer.w.begin(), layer.w.end());
  const int64_t out = contents.size();
  contents.resize(contents.size() + count + 32 + scratch / 4);
  const ProbeFile file("inputs 0 256\nweights_in_dtype 0 1024\noutput 0 256\n"
                       "saved_for_weight_grad 0 128\nworkspace 0 " +
                           std::to_string(scratch) + "\n",
                       contents);
  auto probe = [&](int argc, char **argv) {
    return probeOnDevice(argc, argv, probed, 1, tables.body, layer.layer);
  };
  EXPECT_EQ(outputOf({"probe", "run", "mix", "F", file.path, "0.25"}, probe),
            "");
  expectClose(file.read(out, count), layer.expected(0), 1e-5, "the output");
  const std::string times =
      outputOf({"probe", "time", "mix", "F", file.path, "0.25", "3"}, probe);
  EXPECT_EQ(std::count(times.begin(), times.end(), '\n'), 3);
}

} // namespace
} // namespace rondo::torch
