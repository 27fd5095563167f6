//===- EmitLayers.cpp - The table of layers of an executable --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/EmitTables.h"
#include "codegen/TableText.h"
#include "runtime/model/layer_sizes.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallString.h"

using namespace rondo;
using namespace rondo::codegen;
using llvm::StringRef;

/// `{1, 2}`, without the zeros after the last input.
static std::string inputsText(const runtime::LayerDesc &layer) {
  std::string text = "{";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(
      llvm::ArrayRef(layer.inputBytes).take_front(layer.numInputs), os);
  os << "}";
  return text;
}

/// The last field of a Llama's layer.
static std::string llamaText(const runtime::LlamaDesc &llama) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << ",\n     {" << llama.kvHeads << ", " << llama.headWidth << ", "
     << realText(llama.normEpsilon) << ", " << realText(llama.ropeTheta)
     << ", {";
  const runtime::RopeScaling &scaling = llama.ropeScaling;
  if (scaling.factor != 0)
    os << realText(scaling.factor) << ", "
       << realText(scaling.lowFrequencyFactor) << ", "
       << realText(scaling.highFrequencyFactor) << ", "
       << scaling.originalPositions;
  os << "}, " << (llama.qkvBias ? "true" : "false") << ", "
     << (llama.headNorm ? "true" : "false") << "}";
  return text;
}

/// The sizes of a custom layer that states several.
static std::string sizesText(const runtime::CustomDesc &custom) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << ", " << custom.numSizes << ", {";
  llvm::interleave(
      llvm::ArrayRef(custom.sizes).take_front(custom.numSizes), os,
      [&](const runtime::CustomSizes &sizes) {
        os << "\n      {" << sizes.samples << ", " << sizes.savedForInputGrad
           << ", " << sizes.savedForWeightGrad << ", "
           << sizes.keptForWeightGrad << ", " << sizes.output << ", "
           << sizes.outputWithoutGrad << ", " << sizes.workspace << ", "
           << sizes.backwardWorkspace << ", {" << sizes.flops.forward << ", "
           << sizes.flops.inputGrad << ", " << sizes.flops.weightGrad << "}}";
      },
      ",");
  os << "}";
  return text;
}

static llvm::ArrayRef<runtime::SavedPart>
partsOf(const runtime::LayerDesc &layer) {
  return llvm::ArrayRef(layer.custom.parts).take_front(layer.custom.numParts);
}

/// The parts of what a custom layer saves; `table` has their bytes by size.
static std::string savedText(const runtime::LayerDesc &layer,
                             const std::string &table) {
  static const char *const readers[] = {"Both", "InputGrad", "WeightGrad"};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << ", " << layer.custom.numParts << ", {";
  int64_t place = 0;
  llvm::interleave(
      partsOf(layer), os,
      [&](const runtime::SavedPart &part) {
        os << "\n      {" << quoted(part.name)
           << ", ReadBy::" << readers[static_cast<int>(part.readBy)] << ", "
           << part.bytes << ", " << part.numBytes << ", " << table << " + "
           << place << "}";
        place += part.numBytes;
      },
      ",");
  os << "}";
  return text;
}

/// The last fields of a custom layer, which most do not have.
static std::string partsText(const runtime::LayerDesc &layer,
                             const std::string &savedTable) {
  const runtime::CustomDesc &custom = layer.custom;
  std::string text;
  llvm::raw_string_ostream os(text);
  const bool hasTail = custom.takesDocuments || custom.numParts > 0,
             hasLists = hasTail || custom.numStreams > 0 || custom.numSizes > 0;
  if (custom.numTensors == 0 && custom.frozenBytes == 0 && !hasLists)
    return text;
  os << ", " << custom.numTensors << ", " << custom.frozenBytes << ", "
     << custom.numStreams;
  if (!hasLists)
    return text;
  static const char *const types[] = {"Fp32", "Int32", "Uint8"};
  os << ", {";
  llvm::interleave(
      llvm::ArrayRef(custom.streams).take_front(custom.numStreams), os,
      [&](const runtime::StreamDesc &stream) {
        os << "\n      {" << quoted(stream.name)
           << ", StreamType::" << types[static_cast<int>(stream.type)] << ", "
           << stream.numDims << ", {";
        llvm::interleaveComma(
            llvm::ArrayRef(stream.sizes).take_front(stream.numDims), os);
        os << "}, " << stream.below << ", "
           << (stream.hasIgnored ? "true" : "false") << ", " << stream.ignored
           << "}";
      },
      ",");
  os << "}";
  if (custom.numSizes > 0 || hasTail)
    os << sizesText(custom);
  if (hasTail)
    os << ", 0, " << (custom.takesDocuments ? "true" : "false");
  if (custom.numParts > 0)
    os << savedText(layer, savedTable);
  return text;
}

/// The last fields of a layer that is custom, a Llama's, keeps something from I
/// to W, may copy what it saves, computes rows of documents, or does not run on
/// the CPU.
static std::string lastFields(const runtime::LayerDesc &layer, size_t number,
                              int32_t sizes) {
  const bool isCpu = layer.target == runtime::Target::Cpu;
  const bool isCustom = layer.kind == runtime::LayerKind::Custom;
  std::string text;
  llvm::raw_string_ostream os(text);
  const bool isOfLlama = isLlama(layer);
  const int64_t kept = layer.inputGradKeepsBytes;
  const bool hasTail = kept != 0 || layer.offloads || layer.rowTokens != 0;
  std::string tail = std::to_string(kept);
  if (layer.offloads || layer.rowTokens != 0)
    tail += ", " + std::to_string(layer.offloads) + "u";
  if (layer.rowTokens != 0)
    tail += ", " + std::to_string(layer.rowTokens);
  if (isCpu && !isCustom && !isOfLlama && !hasTail)
    return text;
  os << ",\n     Target::" << (isCpu ? "Cpu" : "Cuda")
     << ", DType::" << (layer.dtype == runtime::DType::Bf16 ? "Bf16" : "Fp32");
  if (isOfLlama)
    os << ",\n     {}" << llamaText(layer.llama);
  if (!isCustom) {
    if (hasTail)
      os << (isOfLlama ? ", " : ", {}, {}, ") << tail;
    return text;
  }
  static const char *const data[] = {"None", "Tokens", "Targets"};
  const runtime::CustomDesc &custom = layer.custom;
  os << ",\n     {" << quoted(custom.name) << ", &rondo_body_" << custom.name
     << ", " << custom.numParameters << ", ";
  if (custom.numParameters > 0)
    os << tableName("parameters", sizes) << "_" << number;
  else
    os << "nullptr";
  os << ", " << custom.workspaceBytes << ", " << custom.backwardWorkspaceBytes
     << ",\n      LayerData::" << data[static_cast<int>(custom.data)] << ", "
     << (custom.hasLoss ? "true" : "false") << ", {" << custom.flops.forward
     << ", " << custom.flops.inputGrad << ", " << custom.flops.weightGrad
     << "}";
  const std::string parts = partsText(layer, tableName("saved", sizes) + "_" +
                                                 std::to_string(number));
  const llvm::ArrayRef<int64_t> inputs =
      llvm::ArrayRef(custom.inputWithoutGradBytes).take_front(layer.numInputs);
  if (!parts.empty() || custom.outputWithoutGradBytes != 0 ||
      llvm::any_of(inputs, [](int64_t bytes) { return bytes != 0; })) {
    os << ", " << custom.outputWithoutGradBytes << ", {";
    llvm::interleaveComma(inputs, os);
    os << "}";
  }
  os << parts << "}";
  if (hasTail)
    os << ", {}, " << tail;
  return text;
}

std::string
rondo::codegen::bodyDeclarations(llvm::ArrayRef<runtime::LayerDesc> layers) {
  llvm::SetVector<StringRef> bodies;
  for (const runtime::LayerDesc &layer : layers)
    if (layer.kind == runtime::LayerKind::Custom)
      bodies.insert(layer.custom.name);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (StringRef body : bodies)
    os << "extern \"C\" const rondo_body rondo_body_" << body << ";\n";
  return text;
}

std::string
rondo::codegen::layerTable(llvm::ArrayRef<runtime::LayerDesc> layers,
                           int32_t sizes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto parametersOf = [](const runtime::LayerDesc &layer) {
    return llvm::ArrayRef(layer.custom.parameters, layer.custom.numParameters);
  };
  for (auto [k, layer] : llvm::enumerate(layers))
    if (!parametersOf(layer).empty())
      writeArray(os, "int64_t",
                 tableName("parameters", sizes) + "_" + std::to_string(k),
                 parametersOf(layer));
  for (auto [k, layer] : llvm::enumerate(layers)) {
    std::vector<int64_t> bytes;
    for (const runtime::SavedPart &part : partsOf(layer))
      bytes.insert(bytes.end(), part.bytesBySize,
                   part.bytesBySize + part.numBytes);
    if (!bytes.empty())
      writeArray(os, "int64_t",
                 tableName("saved", sizes) + "_" + std::to_string(k),
                 llvm::ArrayRef(bytes));
  }
  os << "// name, kind, vocab, sequence, hidden, heads, ffn, batch, tied,\n"
        "// recomputes, then of timed layers: ns of F, I and W; bytes of "
        "activations, of\n"
        "// what I frees, inputs, bytes of each, of output and weights.\n";
  bool isCpu = layers.empty() || layers[0].target == runtime::Target::Cpu;
  const bool isOfLlama = llvm::any_of(layers, runtime::isLlama);
  if (!isCpu || isOfLlama)
    os << "// Last, the target and what activations are stored in.\n";
  if (isOfLlama)
    os << "// Then of a Llama: heads of k and v, width of a head, epsilon of "
          "norms, theta\n// and scaling of rotations, biases of q, k and v, "
          "norms of heads.\n";
  os << "constexpr LayerDesc " << tableName("layers", sizes) << "[] = {\n";
  for (auto [k, l] : llvm::enumerate(layers))
    os << "    {" << quoted(l.name) << ", "
       << "LayerKind::" << rowOf(l.kind).name << ", " << l.vocab << ", "
       << l.sequence << ", " << l.hidden << ", " << l.heads << ", " << l.ffn
       << ", " << l.batch << ", " << (l.tied ? "true" : "false") << ",\n     "
       << (l.recomputes ? "true" : "false") << ", " << l.forwardNs << ", "
       << l.inputGradNs << ", " << l.weightGradNs << ", " << l.activationBytes
       << ", " << l.inputGradFreesBytes << ", " << l.numInputs << ", "
       << inputsText(l) << ", " << l.outputBytes << ", " << l.weightBytes
       << lastFields(l, k, sizes) << "},\n";
  os << "};\n";
  return text;
}
