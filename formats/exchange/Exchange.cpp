//===- Exchange.cpp - The tables of formats -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/Exchange.h"

#include "formats/json/Value.h"

#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;

llvm::ArrayRef<Exporter> exchange::exporters() {
  static const std::vector<Exporter> table = {
#define EXPORTER(function) function(),
#include "formats/exchange/Formats.def"
  };
  return table;
}

llvm::ArrayRef<Importer> exchange::importers() {
  static const std::vector<Importer> table = {
#define IMPORTER(function) function(),
#include "formats/exchange/Formats.def"
  };
  return table;
}

llvm::ArrayRef<TorchVersion> exchange::torchVersions() {
  // OVERLAP_F_B came with 2.9, REDUCE_GRAD with 2.10; 2.15 needs a wait for
  // each send and each reduction.
  static constexpr TorchVersion table[] = {
      {"2.7", false, false, false}, {"2.8", false, false, false},
      {"2.9", true, false, false},  {"2.10", true, true, false},
      {"2.11", true, true, false},  {"2.12", true, true, false},
      {"2.13", true, true, false},  {"2.14", true, true, false},
      {"2.15", true, true, true}};
  return table;
}

const TorchVersion *exchange::findTorch(llvm::StringRef name) {
  for (const TorchVersion &version : torchVersions())
    if (name == version.name)
      return &version;
  return nullptr;
}

std::string exchange::namesOf(llvm::ArrayRef<Part> parts) {
  static constexpr const char *names[] = {"schedule", "program", "times",
                                          "layers"};
  std::string text;
  for (Part part : parts)
    text += (text.empty() ? "" : ", ") + std::string(names[int(part)]);
  return text;
}

Fault exchange::fail(const llvm::Twine &message) {
  return json::TextFault(message);
}

// A text's fault has no position of its own.
Fault exchange::failIn(int32_t stage, const llvm::Twine &message) {
  Fault fault = fail(message);
  fault.position = stage;
  return fault;
}

int32_t exchange::stageOf(const Fault &fault) {
  return int32_t(fault.position);
}
