//===- safetensors.cpp - The safetensors file format ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/safetensors.h"

#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "runtime/trainer/json_reader.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

using namespace rondo::runtime;

std::string rondo::runtime::describeShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string rondo::runtime::jsonString(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// `"a":"b","c":"d"`, with `between` after each comma.
static std::string membersOf(const std::map<std::string, std::string> &strings,
                             const char *between) {
  std::string json;
  for (const auto &[key, value] : strings)
    json += (json.empty() ? "" : std::string(",") + between) + jsonString(key) +
            ":" + jsonString(value);
  return json;
}

std::string
rondo::runtime::writeSafetensorsHeader(const SafetensorsHeader &header) {
  std::string json =
      "{\"__metadata__\":{" + membersOf(header.metadata, "") + "}";
  const char *comma = "";
  for (const auto &[name, entry] : header.tensors) {
    json += "," + jsonString(name) + ":{\"dtype\":" + jsonString(entry.dtype) +
            ",\"shape\":[";
    comma = "";
    for (int64_t size : entry.shape) {
      json += comma + std::to_string(size);
      comma = ",";
    }
    json += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," +
            std::to_string(entry.end) + "]}";
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  return json;
}

int64_t rondo::runtime::bytesOfDtype(const std::string &dtype) {
  static const std::pair<const char *, int64_t> sizes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};
  for (auto [name, bytes] : sizes)
    if (dtype == name)
      return bytes;
  return 0;
}

bool rondo::runtime::convertToFloats(const std::string &dtype, const void *from,
                                     int64_t count, float *to) {
  if (dtype == "F32") {
    std::memcpy(to, from, count * sizeof(float));
    return true;
  }
  const bool isF16 = dtype == "F16";
  if (!isF16 && dtype != "BF16")
    return false;
  const char *bytes = static_cast<const char *>(from);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes + 2 * i, sizeof bits);
    to[i] = isF16 ? fromF16(bits) : fromBf16(bits);
  }
  return true;
}

static void checkEntry(const std::string &name, const SafetensorsEntry &entry,
                       int64_t dataBytes) {
  auto fail = [&](const std::string &what) {
    throw Error("tensor '" + name + "' " + what);
  };
  int64_t bytes = bytesOfDtype(entry.dtype);
  if (bytes == 0)
    fail("has the unknown dtype '" + entry.dtype + "'");
  for (int64_t size : entry.shape) {
    if (size > 0 && bytes > (int64_t(1) << 60) / size)
      fail("has a shape of more than 2^60 bytes");
    bytes *= size;
  }
  if (entry.begin > entry.end || entry.end - entry.begin != bytes)
    fail("takes bytes " + std::to_string(entry.begin) + " to " +
         std::to_string(entry.end) + ", its shape needs " +
         std::to_string(bytes));
  if (entry.end > dataBytes)
    fail("ends at byte " + std::to_string(entry.end) +
         " of the data, the file has " + std::to_string(dataBytes) +
         ": it is truncated");
}

SafetensorsHeader rondo::runtime::readSafetensorsHeader(const std::string &json,
                                                        int64_t dataBytes) {
  SafetensorsHeader header;
  JsonReader reader(json, "header, ");
  reader.object([&](const std::string &name) {
    if (name == "__metadata__") {
      reader.object([&](const std::string &key) {
        if (!header.metadata.emplace(key, reader.string()).second)
          reader.fail("metadata '" + key + "' appears twice");
      });
      return;
    }
    SafetensorsEntry entry;
    int fields = 0;
    reader.object([&](const std::string &key) {
      ++fields;
      if (key == "dtype") {
        entry.dtype = reader.string();
      } else if (key == "shape") {
        entry.shape = reader.integers();
      } else if (key == "data_offsets") {
        std::vector<int64_t> offsets = reader.integers();
        if (offsets.size() != 2)
          reader.fail("data_offsets of '" + name + "' are not two numbers");
        entry.begin = offsets[0];
        entry.end = offsets[1];
      } else {
        reader.fail("tensor '" + name + "' has the unknown field '" + key +
                    "'");
      }
    });
    if (fields != 3)
      reader.fail("tensor '" + name +
                  "' needs dtype, shape and data_offsets once each");
    if (!header.tensors.emplace(name, std::move(entry)).second)
      reader.fail("tensor '" + name + "' appears twice");
  });
  reader.end();

  std::vector<std::pair<int64_t, const std::string *>> begins;
  for (const auto &[name, entry] : header.tensors) {
    checkEntry(name, entry, dataBytes);
    if (entry.end > entry.begin)
      begins.push_back({entry.begin, &name});
  }
  std::sort(begins.begin(), begins.end());
  int64_t end = 0;
  for (auto [begin, name] : begins) {
    if (begin != end)
      throw Error("tensor '" + *name + "' begins at byte " +
                  std::to_string(begin) + " of the data, the one before ends " +
                  "at byte " + std::to_string(end));
    end = header.tensors[*name].end;
  }
  if (end != dataBytes)
    throw Error("the tensors end at byte " + std::to_string(end) +
                " of the data, the file has " + std::to_string(dataBytes));
  return header;
}

std::string rondo::runtime::writeSafetensorsIndex(
    const std::map<std::string, std::string> &metadata, int64_t totalBytes,
    const std::map<std::string, std::string> &fileOf) {
  return "{\"metadata\":{\"total_size\":" + std::to_string(totalBytes) +
         (metadata.empty() ? "" : ",") + membersOf(metadata, "") +
         "},\n\"weight_map\":{\n" + membersOf(fileOf, "\n") + "\n}}\n";
}

std::map<std::string, std::string>
rondo::runtime::readSafetensorsIndex(const std::string &json) {
  std::map<std::string, std::string> fileOf;
  JsonReader reader(json);
  bool hasMap = false;
  reader.object([&](const std::string &key) {
    if (key != "weight_map")
      return reader.skip();
    if (hasMap)
      reader.fail("weight_map appears twice");
    hasMap = true;
    reader.object([&](const std::string &name) {
      const std::string file = reader.string();
      if (file.empty() || file == "." || file == ".." ||
          file.find('/') != std::string::npos ||
          file.find('\0') != std::string::npos)
        reader.fail("tensor '" + name + "' is in '" + file +
                    "', which is not the name of a file beside the index");
      if (!fileOf.emplace(name, file).second)
        reader.fail("tensor '" + name + "' appears twice");
    });
  });
  reader.end();
  if (fileOf.empty())
    throw Error("it has no weight_map, or an empty one: it is not the index of "
                "safetensors files");
  return fileOf;
}
