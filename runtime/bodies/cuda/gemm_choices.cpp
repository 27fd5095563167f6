//===- gemm_choices.cpp - Measured algorithms of products -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/gemm_choices.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

static constexpr size_t algorithmBytes = sizeof(cublasLtMatmulAlgo_t);

static const char *const advice = ": delete it or give another name";

static std::string hexOf(const cublasLtMatmulAlgo_t &algorithm) {
  unsigned char bytes[algorithmBytes];
  std::memcpy(bytes, &algorithm, algorithmBytes);
  std::string text;
  for (unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

static bool readHex(const std::string &text, cublasLtMatmulAlgo_t &algorithm) {
  unsigned char bytes[algorithmBytes];
  if (text.size() != 2 * algorithmBytes ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  for (size_t i = 0; i < algorithmBytes; ++i)
    bytes[i] = static_cast<unsigned char>(
        std::strtoul(text.substr(2 * i, 2).c_str(), nullptr, 16));
  std::memcpy(&algorithm, bytes, algorithmBytes);
  return true;
}

static bool readKey(const std::string &text, GemmKey &key) {
  std::istringstream in(text);
  std::string rest;
  for (int64_t &number : key)
    if (!(in >> number))
      return false;
  return !(in >> rest);
}

static std::vector<std::string> fieldsOf(const std::string &line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');)
    fields.push_back(field);
  return fields;
}

static std::string kindOf(const std::string &device, size_t version) {
  return device + " with cuBLASLt " + std::to_string(version);
}

GemmChoices::GemmChoices(const std::string &text, Options options)
    : options(std::move(options)) {
  read(text);
}

void GemmChoices::read(const std::string &text) {
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> fields = fieldsOf(line);
    GemmKey key;
    GemmChoice choice;
    char *end = nullptr, *endOfTime = nullptr;
    const size_t ofVersion =
        fields.size() == 5 ? std::strtoull(fields[1].c_str(), &end, 10) : 0;
    if (fields.size() == 5)
      choice.us = std::strtod(fields[4].c_str(), &endOfTime);
    if (fields.size() != 5 || fields[0].empty() || ofVersion == 0 || *end ||
        !readKey(fields[2], key) || !readHex(fields[3], choice.algorithm) ||
        !(choice.us > 0) || *endOfTime)
      throw Error("line " + std::to_string(number) + " of " + options.name +
                      " is not a GPU, a version, " +
                      std::to_string(key.size()) + " numbers, " +
                      std::to_string(algorithmBytes) +
                      " bytes in hexadecimal and a time" + advice,
                  Exit::Usage);
    if (device.empty()) {
      device = fields[0];
      version = ofVersion;
    } else if (device != fields[0] || version != ofVersion) {
      throw Error(options.name + " has products of " + kindOf(device, version) +
                      " and of " + kindOf(fields[0], ofVersion) + advice,
                  Exit::Usage);
    }
    choices.insert({key, choice});
  }
}

void GemmChoices::start(const std::string &ofDevice, size_t ofVersion) {
  std::lock_guard<std::mutex> lock(mutex);
  if (device.empty()) {
    device = ofDevice;
    version = ofVersion;
  } else if (device != ofDevice || version != ofVersion) {
    throw Error(options.name + " was written for " + kindOf(device, version) +
                    ", this is " + kindOf(ofDevice, ofVersion) + advice,
                Exit::Usage);
  }
}

cublasLtMatmulAlgo_t GemmChoices::choose(
    const GemmKey &key, const cublasLtMatmulAlgo_t &first,
    const std::function<bool(const cublasLtMatmulAlgo_t &)> &isUsable,
    const std::function<std::optional<GemmChoice>()> &measure) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = choices.find(key);
  if (found != choices.end()) {
    if (found->second.us > 0 && !isUsable(found->second.algorithm))
      throw Error("cuBLASLt refuses the algorithm that " + options.name +
                      " has for a product of " + std::to_string(key[0]) +
                      " x " + std::to_string(key[1]) + " x " +
                      std::to_string(key[2]) + advice,
                  Exit::Usage);
    return found->second.algorithm;
  }
  std::optional<GemmChoice> choice;
  if (options.mayMeasure)
    choice = measure();
  if (!choice)
    choice = GemmChoice{first, 0};
  choices.insert({key, *choice});
  if (choice->us > 0 && options.changed)
    options.changed(textOfAll());
  return choice->algorithm;
}

std::string GemmChoices::textOfAll() const {
  std::string text;
  for (const auto &[key, choice] : choices) {
    if (!(choice.us > 0))
      continue;
    text += device + '\t' + std::to_string(version) + '\t';
    for (size_t i = 0; i < key.size(); ++i)
      text += (i == 0 ? "" : " ") + std::to_string(key[i]);
    char time[40];
    std::snprintf(time, sizeof time, "%.3f", choice.us);
    text += '\t' + hexOf(choice.algorithm) + '\t' + time + '\n';
  }
  return text;
}

std::string GemmChoices::text() const {
  std::lock_guard<std::mutex> lock(mutex);
  return textOfAll();
}

void GemmChoices::add(const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  read(text);
}

void GemmChoices::stopMeasuring() {
  std::lock_guard<std::mutex> lock(mutex);
  options.mayMeasure = false;
}
