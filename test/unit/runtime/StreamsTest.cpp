//===- StreamsTest.cpp - Samples of declared streams ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Training.h"

#include "runtime/base/error.h"
#include "runtime/bodies/stream_values.h"
#include "runtime/checkpoints/safetensors.h"
#include "runtime/streams/streams.h"

#include <set>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

const StreamDesc images = {"images", StreamType::Fp32, 1, {3}, 0, false, 0};
const StreamDesc labels = {"labels", StreamType::Int32, 0, {}, 10, true, -100};
const StreamDesc masks = {"masks", StreamType::Uint8, 1, {2}, 2, false, 0};

/// A safetensors file of tensors that are added one after another.
class Writer {
public:
  template <typename Number>
  Writer &add(const std::string &name, const std::string &dtype,
              const std::vector<int64_t> &shape,
              const std::vector<Number> &numbers) {
    SafetensorsEntry entry = {dtype, shape, static_cast<int64_t>(data.size()),
                              0};
    data.append(reinterpret_cast<const char *>(numbers.data()),
                numbers.size() * sizeof(Number));
    entry.end = static_cast<int64_t>(data.size());
    header.tensors[name] = entry;
    return *this;
  }
  std::string text() const {
    const std::string json = writeSafetensorsHeader(header);
    const uint64_t length = json.size();
    std::string all(reinterpret_cast<const char *>(&length), sizeof length);
    return all + json + data;
  }

private:
  SafetensorsHeader header;
  std::string data;
};

/// `count` samples whose numbers are their row.
Writer samples(int64_t count, float first = 0) {
  std::vector<float> pixels;
  std::vector<int64_t> classes;
  for (int64_t row = 0; row < count; ++row) {
    pixels.insert(pixels.end(), 3, first + static_cast<float>(row));
    classes.push_back(row % 10);
  }
  return Writer()
      .add("images", "F32", {count, 3}, pixels)
      .add("labels", "I64", {count}, classes);
}

std::string errorOf(const std::string &bytes,
                    const std::vector<StreamDesc> &streams,
                    double heldOut = 0) {
  TemporaryFile file;
  file.write(bytes);
  try {
    openStreams({file.path}, heldOut, streams);
  } catch (const Error &error) {
    std::string text = error.what();
    const size_t at = text.find(file.path);
    return at == std::string::npos ? text
                                   : text.replace(at, file.path.size(), "F");
  }
  return "no error";
}

TEST(Streams, ASampleIsOneRowOfAll) {
  TemporaryFile file;
  file.write(samples(100).text());
  const auto data = openStreams({file.path}, 0.1, {images, labels});
  std::set<int64_t> rows;
  for (int64_t sample = 0; sample < 50; ++sample) {
    const int64_t row = data->trainingRow(1, 2, sample);
    EXPECT_EQ(row, data->trainingRow(1, 2, sample));
    EXPECT_LT(row, 90);
    rows.insert(row);
    float pixels[3];
    int32_t label = -1;
    data->read(row, images, pixels);
    data->read(row, labels, &label);
    EXPECT_EQ(pixels[2], static_cast<float>(row));
    EXPECT_EQ(label, row % 10);
  }
  EXPECT_GT(rows.size(), 20u);
  EXPECT_NE(data->trainingRow(1, 2, 0), data->trainingRow(1, 3, 0));
  EXPECT_NE(data->trainingRow(1, 2, 0), data->trainingRow(2, 2, 0));
  EXPECT_TRUE(data->hasHeldOut());
  EXPECT_EQ(data->heldOutRow(0, 4), 90);
  EXPECT_EQ(data->heldOutRow(3, 4), 99);
  EXPECT_EQ(data->describe(),
            "100 samples of 2 streams in 1 file, 10 held out");
}

TEST(Streams, FilesFollowEachOther) {
  TemporaryFile a, b;
  a.write(samples(3).text());
  b.write(samples(4, 3).text());
  const auto data = openStreams({a.path, b.path}, 0, {images});
  for (int64_t row = 0; row < 7; ++row) {
    float pixels[3];
    data->read(row, images, pixels);
    EXPECT_EQ(pixels[0], static_cast<float>(row));
  }
  EXPECT_EQ(data->describe(), "7 samples of 1 stream in 2 files, 0 held out");
}

TEST(Streams, StoredTypesAreConverted) {
  const StreamDesc any = {"labels", StreamType::Int32, 0, {}, 0, false, 0};
  auto read = [&](const std::string &bytes, const StreamDesc &stream,
                  void *value) {
    TemporaryFile file;
    file.write(bytes);
    openStreams({file.path}, 0, {stream})->read(1, stream, value);
  };
  int32_t whole = 0;
  read(Writer().add<int8_t>("labels", "I8", {2}, {1, -3}).text(), any, &whole);
  EXPECT_EQ(whole, -3);
  read(Writer().add<int16_t>("labels", "I16", {2}, {1, -300}).text(), any,
       &whole);
  EXPECT_EQ(whole, -300);
  read(Writer().add<uint16_t>("labels", "U16", {2}, {1, 65535}).text(), any,
       &whole);
  EXPECT_EQ(whole, 65535);
  read(Writer().add<int64_t>("labels", "I64", {2}, {1, -100}).text(), any,
       &whole);
  EXPECT_EQ(whole, -100);
  float real[3];
  read(
      Writer()
          .add<uint16_t>("images", "BF16", {2, 3}, {0, 0, 0, 0x3f80, 0xc000, 0})
          .text(),
      images, real);
  EXPECT_EQ(real[0], 1);
  EXPECT_EQ(real[1], -2);
  uint8_t bits[2];
  read(Writer().add<uint8_t>("masks", "BOOL", {2, 2}, {0, 0, 1, 0}).text(),
       masks, bits);
  EXPECT_EQ(bits[0], 1);
  EXPECT_EQ(bits[1], 0);
}

TEST(Streams, WhatIsWrongWithAFile) {
  EXPECT_EQ(errorOf(samples(4).text(), {images, masks}),
            "data 'F': it has no tensor for stream 'masks'; it has 'images', "
            "'labels'");
  EXPECT_EQ(errorOf(Writer().text(), {images}),
            "data 'F': it has no tensor for stream 'images'; it has none at "
            "all");
  EXPECT_EQ(
      errorOf(Writer().add<float>("labels", "F32", {1}, {1}).text(), {labels}),
      "data 'F': stream 'labels' is F32 [1], the model needs int32 [samples], "
      "stored as I32, I64, I16, I8, U32, U16, U8 or BOOL");
  EXPECT_EQ(
      errorOf(Writer().add<float>("images", "F32", {3}, {1, 2, 3}).text(),
              {images}),
      "data 'F': stream 'images' is F32 [3], the model needs fp32 [samples, "
      "3], stored as F32, F16 or BF16");
  EXPECT_EQ(
      errorOf(Writer().add<float>("images", "F32", {}, {1}).text(), {images}),
      "data 'F': stream 'images' is F32 [], the model needs fp32 "
      "[samples, 3], stored as F32, F16 or BF16");
  EXPECT_EQ(errorOf(Writer()
                        .add<float>("images", "F32", {1, 3}, {1, 2, 3})
                        .add<int32_t>("labels", "I32", {2}, {1, 2})
                        .text(),
                    {images, labels}),
            "data 'F': stream 'labels' has 2 samples, the streams before it "
            "have 1");
  EXPECT_EQ(
      errorOf(Writer().add<int64_t>("labels", "I64", {3}, {-100, 9, 10}).text(),
              {labels}),
      "data 'F': stream 'labels' has 10 in sample 2 at element 0; the "
      "model takes 0 to 9 and -100");
  const StreamDesc any = {"labels", StreamType::Int32, 0, {}, 0, false, 0};
  EXPECT_EQ(errorOf(Writer()
                        .add<int64_t>("labels", "I64", {1}, {int64_t(1) << 31})
                        .text(),
                    {any}),
            "data 'F': stream 'labels' has 2147483648 in sample 0 at element "
            "0; the model takes numbers of int32");
  EXPECT_EQ(errorOf(samples(3).text(), {images}, 0.3),
            "the data have only 3 samples, 0 of them for evaluation; training "
            "needs one and so does evaluation: give more data or another "
            "--held-out");
}

TEST(Streams, IdentityFollowsFromTheContent) {
  auto identityOf = [](const Writer &writer) {
    TemporaryFile file;
    file.write(writer.text());
    return openStreams({file.path}, 0, {images, labels})->identity().hash;
  };
  EXPECT_EQ(identityOf(samples(30)), identityOf(samples(30)));
  EXPECT_NE(identityOf(samples(30)), identityOf(samples(31)));
  EXPECT_NE(identityOf(samples(30)), identityOf(samples(30, 1)));
}

TEST(Streams, DrawnNumbersAreAllowed) {
  const StreamDesc wide = {"wide", StreamType::Int32, 1, {200}, 7, true, -100};
  std::set<int32_t> seen;
  int32_t numbers[200], again[200];
  drawRow(wide, 5, numbers);
  drawRow(wide, 5, again);
  for (int32_t i = 0; i < 200; ++i) {
    EXPECT_TRUE(allows(wide, numbers[i])) << numbers[i];
    EXPECT_EQ(numbers[i], again[i]);
    seen.insert(numbers[i]);
  }
  EXPECT_EQ(seen.size(), 7u);
  drawRow(wide, 6, again);
  EXPECT_FALSE(std::equal(numbers, numbers + 200, again));
  float pixels[3];
  drawRow(images, 1, pixels);
  for (float pixel : pixels)
    EXPECT_TRUE(pixel >= -1 && pixel < 1) << pixel;
}

TEST(Streams, EachStreamOfALayerBeginsAtAMultipleOf64) {
  LayerDesc layer{};
  layer.kind = LayerKind::Custom;
  layer.batch = 5;
  layer.custom.numStreams = 3;
  layer.custom.streams[0] = images;
  layer.custom.streams[1] = labels;
  layer.custom.streams[2] = masks;
  EXPECT_EQ(streamOffset(layer, 1), 64);
  EXPECT_EQ(streamOffset(layer, 2), 128);
  EXPECT_EQ(layerSizes(layer).data, 192);
  EXPECT_TRUE(readsData(layer));
  const LayerDesc both[] = {layer, layer};
  EXPECT_EQ(streamsOf(both, 2).size(), 3u);
}

} // namespace
