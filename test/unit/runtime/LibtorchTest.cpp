//===- LibtorchTest.cpp - Calls of PyTorch's own library ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/torch/libtorch.h"
#include "runtime/torch/tensor.h"

#include "gtest/gtest.h"

using namespace rondo::torch;

namespace {

// A call that comes anyway fails as the start did, and makes no tensor.
TEST(Libtorch, SaysWhatToDoIfItIsNotThere) {
  const char *what = openLibtorch("/nowhere", uint64_t(2) << 56);
  ASSERT_NE(what, nullptr);
  const std::string expected = what;
  EXPECT_NE(expected.find("/nowhere/libtorch_cpu.so"), std::string::npos);
  EXPECT_NE(expected.find("set RONDO_LIBTORCH to the folder torch/lib"),
            std::string::npos);

  rondo::torch::Tensor tensor{};
  rondo::torch::Tensor *result = nullptr;
  LibtorchCall call("aoti_torch_cpu_cummax");
  EXPECT_EQ(call.as<int32_t (*)(void *)>(), nullptr);
  EXPECT_EQ(call.tensor(&tensor), nullptr);
  call.result(&result);
  EXPECT_EQ(call.finish(0), 1);
  EXPECT_EQ(lastFault(), expected);
  EXPECT_EQ(result, nullptr);
}

} // namespace
