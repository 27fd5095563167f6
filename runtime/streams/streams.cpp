//===- streams.cpp - Samples of declared streams --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/streams/streams.h"

#include "kinds/Counts.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/bodies/stream_values.h"
#include "runtime/checkpoints/safetensors.h"
#include "runtime/model/executable.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <sys/stat.h>

using rondo::countOf;
using namespace rondo::runtime;

namespace {

/// The dtypes of a file from which a stream of this type can be read.
const char *dtypesOf(StreamType type) {
  switch (type) {
  case StreamType::Fp32:
    return "F32, F16 or BF16";
  case StreamType::Int32:
    return "I32, I64, I16, I8, U32, U16, U8 or BOOL";
  case StreamType::Uint8:
    return "U8 or BOOL";
  }
  return "";
}

const char *nameOf(StreamType type) {
  static const char *const names[] = {"fp32", "int32", "uint8"};
  return names[static_cast<int>(type)];
}

bool isOneOf(const std::string &dtype, const std::set<std::string> &all) {
  return all.count(dtype) > 0;
}

bool stores(StreamType type, const std::string &dtype) {
  switch (type) {
  case StreamType::Fp32:
    return isOneOf(dtype, {"F32", "F16", "BF16"});
  case StreamType::Int32:
    return isOneOf(dtype,
                   {"I32", "I64", "I16", "I8", "U32", "U16", "U8", "BOOL"});
  case StreamType::Uint8:
    return isOneOf(dtype, {"U8", "BOOL"});
  }
  return false;
}

/// Number `i` of whole numbers stored as `dtype`.
int64_t wholeNumber(const std::string &dtype, const char *bytes, int64_t i) {
  const int64_t width = bytesOfDtype(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes + i * width, static_cast<size_t>(width));
  if (dtype[0] != 'I')
    return static_cast<int64_t>(bits);
  const int unused = static_cast<int>(64 - 8 * width);
  return static_cast<int64_t>(bits << unused) >> unused;
}

/// A file of streams, which stays open.
class StreamFile {
public:
  StreamFile(const std::string &path, const std::vector<StreamDesc> &streams);

  int64_t samples() const { return numSamples; }
  int64_t modifiedNs() const { return modified; }
  void read(int64_t row, const StreamDesc &stream, void *values) const;

private:
  void check(const StreamDesc &stream);
  [[noreturn]] void fail(const std::string &what) const {
    throw Error("data '" + file.path() + "': " + what);
  }

  /// Reading moves its position.
  mutable SafetensorsFile file;
  mutable std::mutex mutex;
  int64_t numSamples = -1, modified = 0;
};

class FileStreams : public StreamData {
public:
  FileStreams(const std::vector<std::string> &paths, double heldOut,
              const std::vector<StreamDesc> &streams);

  int64_t trainingRow(uint64_t seed, int64_t iteration,
                      int64_t sample) const override {
    return pick(seed, iteration, sample, trained);
  }
  int64_t heldOutRow(int64_t sample, int64_t samples) const override {
    const int64_t last = total - trained - 1;
    return trained + (samples > 1 ? last * sample / (samples - 1) : 0);
  }
  void read(int64_t row, const StreamDesc &stream, void *values) const override;
  bool hasHeldOut() const override { return trained < total; }
  DataIdentity identity() const override { return ownIdentity; }
  std::string describe() const override {
    return countOf(total, "sample") + " of " + countOf(numStreams, "stream") +
           " in " + countOf(files.size(), "file") + ", " +
           std::to_string(total - trained) + " held out";
  }

private:
  void identify(const std::vector<StreamDesc> &streams);

  std::vector<std::unique_ptr<StreamFile>> files;
  /// First row of each file, then the end of the last.
  std::vector<int64_t> begins;
  const size_t numStreams;
  int64_t total = 0, trained = 0;
  DataIdentity ownIdentity;
};

class GeneratedStreams : public StreamData {
public:
  int64_t trainingRow(uint64_t seed, int64_t iteration,
                      int64_t sample) const override {
    return pick(seed, iteration, sample, std::numeric_limits<int64_t>::max());
  }
  int64_t heldOutRow(int64_t sample, int64_t) const override {
    return trainingRow(0, -1, sample);
  }
  void read(int64_t row, const StreamDesc &stream,
            void *values) const override {
    drawRow(stream, static_cast<uint64_t>(row), values);
  }
  bool hasHeldOut() const override { return false; }
  DataIdentity identity() const override { return {}; }
  std::string describe() const override { return "generated samples"; }
};

} // namespace

StreamFile::StreamFile(const std::string &path,
                       const std::vector<StreamDesc> &streams)
    : file(path, "data") {
  for (const StreamDesc &stream : streams)
    check(stream);
  struct stat status{};
  if (stat(path.c_str(), &status) == 0)
    modified = std::max<int64_t>(0, status.st_mtim.tv_sec) * 1'000'000'000 +
               status.st_mtim.tv_nsec;
}

void StreamFile::check(const StreamDesc &stream) {
  const std::string name = "stream '" + std::string(stream.name) + "'";
  const auto &tensors = file.header().tensors;
  const auto found = tensors.find(stream.name);
  if (found == tensors.end()) {
    std::string known;
    for (const auto &[each, entry] : tensors)
      known += (known.empty() ? "'" : ", '") + each + "'";
    fail("it has no tensor for " + name +
         (known.empty() ? "; it has none at all" : "; it has " + known));
  }
  const SafetensorsEntry &entry = found->second;
  const std::vector<int64_t> row(stream.sizes, stream.sizes + stream.numDims);
  if (!stores(stream.type, entry.dtype) || entry.shape.empty() ||
      !std::equal(entry.shape.begin() + 1, entry.shape.end(), row.begin(),
                  row.end())) {
    std::string needed = "[samples";
    for (int64_t size : row)
      needed += ", " + std::to_string(size);
    fail(name + " is " + entry.dtype + " " + describeShape(entry.shape) +
         ", the model needs " + nameOf(stream.type) + " " + needed +
         "], stored as " + dtypesOf(stream.type));
  }
  if (numSamples >= 0 && entry.shape[0] != numSamples)
    fail(name + " has " + countOf(entry.shape[0], "sample") +
         ", the streams before it have " + std::to_string(numSamples));
  numSamples = entry.shape[0];
}

void StreamFile::read(int64_t row, const StreamDesc &stream,
                      void *values) const {
  const SafetensorsEntry &entry = file.header().tensors.at(stream.name);
  const int64_t count = rowElements(stream);
  const int64_t bytes = count * bytesOfDtype(entry.dtype);
  std::vector<char> stored(bytes);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    file.read(entry, row * bytes, stored.data(), bytes);
  }
  if (stream.type == StreamType::Fp32) {
    convertToFloats(entry.dtype, stored.data(), count,
                    static_cast<float *>(values));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = wholeNumber(entry.dtype, stored.data(), i);
    if (!allows(stream, value))
      fail("stream '" + std::string(stream.name) + "' has " +
           std::to_string(value) + " in sample " + std::to_string(row) +
           " at element " + std::to_string(i) + "; the model takes " +
           (stream.below > 0
                ? "0 to " + std::to_string(stream.below - 1)
                : "numbers of " + std::string(nameOf(stream.type))) +
           (stream.hasIgnored ? " and " + std::to_string(stream.ignored) : ""));
    if (stream.type == StreamType::Int32)
      static_cast<int32_t *>(values)[i] = static_cast<int32_t>(value);
    else
      static_cast<uint8_t *>(values)[i] = static_cast<uint8_t>(value);
  }
}

FileStreams::FileStreams(const std::vector<std::string> &paths, double heldOut,
                         const std::vector<StreamDesc> &streams)
    : numStreams(streams.size()) {
  for (const std::string &path : listDataFiles(paths)) {
    files.push_back(std::make_unique<StreamFile>(path, streams));
    begins.push_back(total);
    total += files.back()->samples();
  }
  begins.push_back(total);
  trained = total - static_cast<int64_t>(static_cast<double>(total) * heldOut);
  if (trained < 1 || (heldOut > 0 && trained == total))
    throw Error("the data have only " + countOf(total, "sample") + ", " +
                std::to_string(total - trained) +
                " of them for evaluation; training needs one and so does " +
                "evaluation: give more data or another --held-out");
  identify(streams);
}

/// Hashes the number of samples of each file, and samples of the rows.
void FileStreams::identify(const std::vector<StreamDesc> &streams) {
  for (const std::unique_ptr<StreamFile> &file : files) {
    ownIdentity.hash =
        mix(ownIdentity.hash + static_cast<uint64_t>(file->samples()) + 1);
    ownIdentity.modifiedNs =
        std::max(ownIdentity.modifiedNs, file->modifiedNs());
  }
  constexpr int64_t maxRows = 64;
  const int64_t rows = std::min(maxRows, total);
  std::vector<char> values;
  for (const StreamDesc &stream : streams) {
    ownIdentity.hash = mix(ownIdentity.hash + hashName(stream.name));
    values.resize(rowBytes(stream));
    for (int64_t i = 0; i < rows; ++i) {
      read((total - 1) * i / std::max<int64_t>(1, rows - 1), stream,
           values.data());
      // FNV-1a over bytes.
      for (char value : values)
        ownIdentity.hash =
            (ownIdentity.hash ^ static_cast<unsigned char>(value)) *
            0x100000001b3;
    }
  }
}

void FileStreams::read(int64_t row, const StreamDesc &stream,
                       void *values) const {
  const size_t f =
      std::upper_bound(begins.begin(), begins.end(), row) - begins.begin() - 1;
  files[f]->read(row - begins[f], stream, values);
}

std::unique_ptr<StreamData>
rondo::runtime::openStreams(const std::vector<std::string> &paths,
                            double heldOut,
                            const std::vector<StreamDesc> &streams) {
  return std::make_unique<FileStreams>(paths, heldOut, streams);
}

std::unique_ptr<StreamData> rondo::runtime::generateStreams() {
  return std::make_unique<GeneratedStreams>();
}

const StreamReading rondo::runtime::streamReading = {openStreams,
                                                     generateStreams};
