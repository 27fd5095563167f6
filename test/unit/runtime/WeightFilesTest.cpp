//===- WeightFilesTest.cpp - Indices, and numbers of 16 bits --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/LfsPointer.h"
#include "runtime/checkpoints/safetensors.h"
#include "test/unit/ErrorThrownBy.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace rondo::runtime;

namespace {

std::vector<float> converted(const std::string &dtype,
                             const std::vector<uint16_t> &bits) {
  std::vector<float> values(bits.size());
  EXPECT_TRUE(convertToFloats(
      dtype, bits.data(), static_cast<int64_t>(bits.size()), values.data()));
  return values;
}

// Every finite number of binary16 is sign * fraction * 2^exponent.
TEST(Dtypes, EveryF16) {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<uint16_t>(i);
  const std::vector<float> values = converted("F16", bits);
  for (int i = 0; i < 1 << 16; ++i) {
    const int exponent = i >> 10 & 31, fraction = i & 1023;
    const double sign = i & 0x8000 ? -1 : 1;
    if (exponent == 31) {
      ASSERT_EQ(std::isnan(values[i]), fraction != 0) << i;
      ASSERT_EQ(std::isinf(values[i]), fraction == 0) << i;
      ASSERT_EQ(std::signbit(values[i]), sign < 0) << i;
      continue;
    }
    const double magnitude = exponent == 0
                                 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(values[i], sign * magnitude) << i;
    ASSERT_EQ(std::signbit(values[i]), sign < 0) << i;
  }
}

TEST(Dtypes, Bf16) {
  const std::vector<float> values =
      converted("BF16", {0x3f80, 0xc040, 0x0001, 0x8000, 0x7f80, 0x3dcd});
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], -3);
  EXPECT_EQ(values[2], std::ldexp(1.0f, -133));
  EXPECT_EQ(values[3], 0);
  EXPECT_TRUE(std::signbit(values[3]));
  EXPECT_EQ(values[4], std::numeric_limits<float>::infinity());
  EXPECT_EQ(values[5], 0.10009765625f);
}

TEST(Dtypes, F32AndOthers) {
  const float pi = 3.14159274f;
  float copy = 0;
  EXPECT_TRUE(convertToFloats("F32", &pi, 1, &copy));
  EXPECT_EQ(copy, pi);
  for (const char *dtype : {"F64", "I8", "F8_E4M3", ""})
    EXPECT_FALSE(convertToFloats(dtype, &pi, 1, &copy)) << dtype;
}

TEST(Index, SkipsWhatItDoesNotNeed) {
  const auto files = readSafetensorsIndex(
      R"( {"metadata": {"total_size": 1.5e+3, "é": ["\u00e9\"", {}, [], null,
          true, -0]}, "weight_map": {"a.b": "1.safetensors", "\u0063": "2"},
          "z": "\\" } )");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files.at("a.b"), "1.safetensors");
  EXPECT_EQ(files.at("c"), "2");
}

std::string errorOf(const std::string &json) {
  return errorThrownBy([&] { readSafetensorsIndex(json); });
}

TEST(Index, Faults) {
  const std::string none = "it has no weight_map, or an empty one: it is not "
                           "the index of safetensors files";
  EXPECT_EQ(errorOf("{}"), none);
  EXPECT_EQ(errorOf(R"({"weight_map":{}})"), none);
  EXPECT_EQ(errorOf(""), "byte 0: expected '{'");
  EXPECT_EQ(errorOf(R"({"weight_map":{"a":"f"}} x)"),
            "byte 25: more than one value");
  EXPECT_EQ(errorOf(R"({"weight_map":{"a":"f","a":"g"}})"),
            "byte 30: tensor 'a' appears twice");
  EXPECT_EQ(errorOf(R"({"weight_map":{"a":"f"},"weight_map":{}})"),
            "byte 37: weight_map appears twice");
  EXPECT_EQ(errorOf(R"({"weight_map":{"a":1}})"), "byte 19: expected '\"'");
  EXPECT_EQ(errorOf(R"({"m":,)"), "byte 5: expected a value");
  EXPECT_EQ(errorOf(R"({"m":"\)"), "byte 8: a string has no end");
  for (const char *file : {"", ".", "..", "/f", "a/f"})
    EXPECT_NE(
        errorOf("{\"weight_map\":{\"a\":\"" + std::string(file) + "\"}}")
            .find("which is not the name of a file in the folder of the index"),
        std::string::npos)
        << file;
  EXPECT_NE(errorOf(R"({"weight_map":{"a":"\u0000f"}})"), "");
  const std::string deep(100000, '[');
  EXPECT_EQ(errorOf("{\"m\":" + deep), "byte 38: values are more than 32 deep");
}

TEST(LfsPointers, AreTextsOfThreeLines) {
  const std::string begin = "version https://git-lfs.github.com/spec/v1",
                    oid = "\noid sha256:4d7a",
                    next = ", not the file; run `git lfs pull` in its "
                           "repository";
  const std::string ofBytes =
      "it is a Git LFS pointer to a file of 12345 bytes" + next;
  EXPECT_EQ(rondo::whyLfsPointer(begin + oid + "\nsize 12345\n"), ofBytes);
  EXPECT_EQ(rondo::whyLfsPointer(begin + "\r" + oid + "\r\nsize 12345\r\n"),
            ofBytes);
  EXPECT_EQ(
      rondo::whyLfsPointer(begin + "\next-0-a sha256:1" + oid + "\nsize 12345"),
      ofBytes);
  for (const char *end : {"", "\nsize", "\nsize many\n"})
    EXPECT_EQ(rondo::whyLfsPointer(begin + oid + end),
              "it is a Git LFS pointer to a file" + next);
  // A page about pointers, and a text that is too long to be one.
  EXPECT_EQ(rondo::whyLfsPointer(begin + "\n"), "");
  EXPECT_EQ(rondo::whyLfsPointer(" " + begin + oid), "");
  const std::string whole = begin + oid + "\nsize 12345\n";
  EXPECT_NE(rondo::whyLfsPointer(whole + std::string(1023 - whole.size(), ' ')),
            "");
  EXPECT_EQ(rondo::whyLfsPointer(whole + std::string(1024 - whole.size(), ' ')),
            "");
  EXPECT_EQ(rondo::whyLfsPointer(""), "");
}

} // namespace
