//===- JsonReaderTest.cpp - Strings of JSON -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/trainer/json_reader.h"

#include "gtest/gtest.h"

using namespace rondo::runtime;

namespace {

TEST(JsonReader, TakesFourHexadecimalDigitsOfACharacter) {
  const std::string right = R"("a\u0041\u007a")";
  JsonReader reader(right, "file");
  EXPECT_EQ(reader.string(), "aAz");
  for (const char *wrong : {R"("\u+041")", R"("\u 041")", R"("\u-041")",
                            R"("\u0x41")", R"("\u41")", R"("\u00e4")"}) {
    const std::string text = wrong;
    EXPECT_THROW(JsonReader(text, "file").string(), Error) << wrong;
  }
}

} // namespace
