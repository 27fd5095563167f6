//===- JsonReaderTest.cpp - JSON that is read and written -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/base/json.h"

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

TEST(JsonWriter, WritesValuesOfAllKinds) {
  JsonWriter json;
  json.object().member("name", "a").member("count", 3).member("is", true);
  json.member("loss", 0.25, "%.3f").key("empty").array().end();
  json.key("list").array().value(int64_t(-1)).object().end().value("b").end();
  EXPECT_EQ(json.end().text(),
            R"({"name":"a","count":3,"is":true,)"
            R"("loss":0.250,"empty":[],"list":[-1,{},"b"]})");
}

/// Line breaks stand after a comma, as `rondo blame` and people read files.
TEST(JsonWriter, BreaksLinesBetweenElements) {
  JsonWriter json;
  json.object().key("list").array();
  for (int32_t i : {1, 2})
    json.line().value(i);
  EXPECT_EQ(json.line().end().end().text(), "{\"list\":[\n1,\n2\n]}");
}

TEST(JsonWriter, EscapesWhatAStringMayNotHave) {
  const std::string text = "a\"\\\n\x01 \xc3\xa4";
  JsonWriter json;
  json.object().member(text, text);
  EXPECT_EQ(json.end().text(), "{\"a\\\"\\\\\\u000a\\u0001 \xc3\xa4\":"
                               "\"a\\\"\\\\\\u000a\\u0001 \xc3\xa4\"}");
}

} // namespace
