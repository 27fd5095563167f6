//===- FileKind.cpp - What a file is, by its content ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/FileKind.h"

#include "formats/Topology.h"
#include "formats/exchange/TorchCells.h"
#include "formats/json/Documents.h"
#include "formats/json/Fields.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"

using llvm::SmallVector;
using llvm::StringRef;

namespace rondo::formats {

namespace {

/// The most bytes of a header that the format of safetensors allows.
constexpr uint64_t maxHeaderBytes = 100000000;

bool isSafetensors(StringRef text) {
  if (text.size() < 10)
    return false;
  const uint64_t header = llvm::support::endian::read64le(text.data());
  return header >= 2 && header <= maxHeaderBytes && text[8] == '{' &&
         (text[9] == '"' || text[9] == '}' || text[9] == ' ');
}

/// The lines of a text that are not blank, trimmed.
SmallVector<StringRef, 0> linesOf(StringRef text) {
  SmallVector<StringRef, 0> lines;
  text.split(lines, '\n');
  for (StringRef &line : lines)
    line = line.trim();
  llvm::erase_if(lines, [](StringRef line) { return line.empty(); });
  return lines;
}

/// Whether the first line that is no comment begins with an op of the language
/// or a module.
bool isPlans(llvm::ArrayRef<StringRef> lines) {
  const auto *first = llvm::find_if(
      lines, [](StringRef line) { return !line.starts_with("//"); });
  if (first == lines.end())
    return false;
  StringRef line = *first;
  // The generic form has quotes.
  line.consume_front("\"");
  line.consume_front("builtin.");
  if (line.consume_front("module"))
    return line.empty() || StringRef(" {@\"").contains(line.front());
  return line.consume_front("pipe.") && !line.empty() &&
         llvm::isAlpha(line.front());
}

std::optional<FileKind> kindOfFormat(StringRef format) {
  static constexpr std::pair<const char *, FileKind> formats[] = {
      {"rondo-problem/", FileKind::Problem},
      {"rondo-schedule/", FileKind::Schedule},
      {"rondo-planning/", FileKind::Planning},
      {"rondo-cluster/", FileKind::Cluster},
      {"rondo-costs/", FileKind::Costs},
      {"rondo-layout/", FileKind::Layout},
      {"rondo-rates/", FileKind::Rates},
      {"rondo-trace/", FileKind::ProgramTrace},
      {"rondo-timeline/", FileKind::Timeline},
      {"rondo-failure/", FileKind::Failure}};
  for (const auto &[prefix, kind] : formats)
    if (format.starts_with(prefix))
      return kind;
  return std::nullopt;
}

/// Whether a list has the events of a trace.
bool hasEvents(json::Value list) {
  if (!list.isArray())
    return false;
  json::Elements walk(list);
  const std::optional<json::Value> first = walk.next();
  return !first || json::findMember(*first, "ph");
}

/// `text` is one JSON value.
std::optional<FileKind> kindOfJson(StringRef text) {
  const json::Value value(text);
  if (value.isArray())
    return hasEvents(value) && value.excerpt() != "[]"
               ? std::optional(FileKind::TorchTrace)
               : std::nullopt;
  if (!value.isObject())
    return std::nullopt;
  bool isConfig = false, isIndex = false, isTrace = false;
  std::optional<FileKind> own;
  json::Members walk(value);
  while (std::optional<json::Member> member = walk.next()) {
    const std::optional<std::string> word = member->value.string();
    if (member->key == "format" && word && !own)
      own = kindOfFormat(*word);
    isConfig |= (member->key == "model_type" && word) ||
                (member->key == "architectures" && member->value.isArray());
    isIndex |= member->key == "weight_map" && member->value.isObject();
    isTrace |= member->key == "traceEvents" && hasEvents(member->value);
  }
  return own        ? own
         : isTrace  ? std::optional(FileKind::TorchTrace)
         : isIndex  ? std::optional(FileKind::CheckpointIndex)
         : isConfig ? std::optional(FileKind::ModelConfig)
                    : std::nullopt;
}

/// The kind of one cell of PyTorch's CSV, without its numbers: `SEND_F` of
/// `0SEND_F3`; empty if it is no action.
StringRef wordOfCell(StringRef cell) {
  cell = cell.trim("\" \t\r");
  if (cell.consume_front("(")) {
    // A pair, `(0F1;1B0)OVERLAP_F_B`.
    const auto [first, second] = cell.split(';');
    return second.contains(")OVERLAP_F_B") ? wordOfCell(first) : StringRef();
  }
  const StringRef word = cell.drop_while(llvm::isDigit);
  if (word.size() == cell.size())
    return {};
  const StringRef name = word.rtrim("0123456789");
  // The import says what is wrong with small letters.
  for (int kind = 0; kind <= int(exchange::TorchKind::WaitReduceGrad); ++kind)
    if (name.equals_insensitive(exchange::wordOf(exchange::TorchKind(kind))))
      return name;
  return {};
}

/// Most cells of a CSV of PyTorch are actions, if not all. Other separators
/// than commas are mistakes of the file.
std::optional<FileKind> kindOfCsv(llvm::ArrayRef<StringRef> lines) {
  size_t cells = 0, actions = 0;
  bool hasOthers = false;
  for (StringRef line : lines) {
    SmallVector<StringRef> row;
    if (line.contains(',') || line.contains('('))
      line.split(row, ',');
    else
      llvm::SplitString(line, row, "; \t");
    for (StringRef cell : row) {
      cells += !cell.trim().empty();
      const StringRef word = wordOfCell(cell);
      actions += !word.empty();
      // Tasks are F, I, W and B.
      hasOthers |= word.size() > 1;
    }
  }
  if (actions == 0 || 2 * actions <= cells)
    return std::nullopt;
  return hasOthers ? FileKind::TorchComms : FileKind::TorchCsv;
}

/// A value of --pipeline-model-parallel-layout, perhaps in quotes.
bool isLayout(llvm::ArrayRef<StringRef> lines) {
  const std::string all = llvm::join(lines, "");
  const StringRef layout = StringRef(all).trim("\"' ");
  return layout.starts_with("E") && layout.contains('t') &&
         (layout.contains('|') || layout.ends_with("L")) &&
         layout.find_first_not_of("EtmL|*()0123456789, ") == StringRef::npos;
}

/// A configuration of torchtitan is TOML.
bool isTorchtitan(llvm::ArrayRef<StringRef> lines) {
  size_t sections = 0;
  bool hasPipeline = false;
  for (StringRef line : lines) {
    for (StringRef section :
         {"[job]", "[training]", "[parallelism]", "[experimental]", "[model]",
          "[optimizer]", "[lr_scheduler]", "[checkpoint]", "[metrics]",
          "[profiling]", "[activation_checkpoint]"})
      sections += line == section;
    hasPipeline |= line.starts_with("pipeline_parallel_") && line.contains('=');
  }
  return sections >= 2 || (sections == 1 && hasPipeline);
}

/// The value in quotes of a key of TOML; empty if there is none.
StringRef valueOf(StringRef key, StringRef text) {
  for (StringRef line : linesOf(text)) {
    if (!line.consume_front(key))
      continue;
    line = line.trim();
    if (line.consume_front("="))
      return line.split('#').first.trim().trim("\"'");
  }
  return {};
}

} // namespace

std::optional<FileKind> fileKindOf(StringRef text) {
  if (text.starts_with("\x1f\x8b"))
    return FileKind::Gzip;
  if (text.starts_with(StringRef("PK\x03\x04", 4)))
    return FileKind::Zip;
  if (isSafetensors(text))
    return FileKind::Safetensors;
  if (text.contains('\0'))
    return std::nullopt;
  text.consume_front("\xEF\xBB\xBF");
  const SmallVector<StringRef, 0> lines = linesOf(text);
  if (lines.empty() || isPlans(lines))
    return lines.empty() ? std::nullopt : std::optional(FileKind::Plans);
  if (StringRef("{[").contains(lines.front().front())) {
    if (!json::checkSyntax(text))
      return kindOfJson(text);
    // One object a line.
    if (lines.size() > 1 && !json::checkSyntax(lines.front()))
      return kindOfJson(lines.front());
    // Otherwise broken JSON, or TOML, which may begin with a section.
    return isTorchtitan(lines) ? std::optional(FileKind::Torchtitan)
                               : std::nullopt;
  }
  // A comment of a file of plans may have one of the others.
  if (llvm::any_of(lines,
                   [](StringRef line) { return line.starts_with("//"); }))
    return std::nullopt;
  if (isTopology(text))
    return FileKind::Topology;
  if (isTorchtitan(lines))
    return FileKind::Torchtitan;
  if (isLayout(lines))
    return FileKind::MegatronLayout;
  if (text.contains(" -- forward_compute_time="))
    return FileKind::GraphProfile;
  return kindOfCsv(lines);
}

StringRef describe(FileKind kind) {
  switch (kind) {
  case FileKind::Plans:
    return "a file of plans in Rondo's language";
  case FileKind::Problem:
    return "a rondo-problem";
  case FileKind::Schedule:
    return "a rondo-schedule";
  case FileKind::Planning:
    return "a rondo-planning problem";
  case FileKind::Cluster:
    return "a rondo-cluster";
  case FileKind::Costs:
    return "a rondo-costs file";
  case FileKind::Layout:
    return "a rondo-layout";
  case FileKind::Rates:
    return "a rondo-rates file";
  case FileKind::ProgramTrace:
    return "the trace of a program";
  case FileKind::Timeline:
    return "a timeline of `rondo show`";
  case FileKind::Failure:
    return "a file that a failed run left";
  case FileKind::TorchCsv:
    return "a schedule of PyTorch in CSV (compute_only)";
  case FileKind::TorchComms:
    return "a schedule of PyTorch in CSV with messages (compute_comms)";
  case FileKind::MegatronLayout:
    return "a layout of Megatron-LM (--pipeline-model-parallel-layout)";
  case FileKind::Torchtitan:
    return "a configuration of torchtitan in TOML";
  case FileKind::ModelConfig:
    return "a Hugging Face config.json";
  case FileKind::CheckpointIndex:
    return "the index of a checkpoint (model.safetensors.index.json)";
  case FileKind::Safetensors:
    return "a safetensors file, which has weights";
  case FileKind::Topology:
    return "the output of nvidia-smi topo -m";
  case FileKind::TorchTrace:
    return "a trace of PyTorch's profiler (Kineto)";
  case FileKind::GraphProfile:
    return "the graph.txt of PipeDream's profiler";
  case FileKind::Gzip:
    return "a file that gzip compressed";
  case FileKind::Zip:
    return "a zip archive, such as torch.save writes";
  }
  llvm_unreachable("unknown kind");
}

std::string nextStep(FileKind kind, StringRef file, StringRef text) {
  const bool isQuoted = file.contains(' ');
  const std::string shown = isQuoted ? ("'" + file + "'").str() : file.str();
  const StringRef path = shown;
  const auto reads = [&](StringRef import, StringRef options) {
    return ("`rondo import " + import + " " + path + " " + options +
            "` reads it")
        .str();
  };
  const auto configBeside = [&] {
    llvm::SmallString<128> config = llvm::sys::path::parent_path(file);
    llvm::sys::path::append(config, "config.json");
    const StringRef quote = config.str().contains(' ') ? "'" : "";
    return ("`rondo import model " + quote + config + quote +
            " -o model.mlir` reads the model's configuration next to it, and a "
            "program takes the weights by --init")
        .str();
  };
  switch (kind) {
  case FileKind::Plans:
    return "`rondo verify`, `rondo simulate` and others read it if its name "
           "ends in .mlir";
  case FileKind::Problem:
    return ("`rondo simulate " + path +
            "` reads it, and `rondo verify --problems " + path +
            " --schedules FILE` checks schedules of it")
        .str();
  case FileKind::Schedule:
    return ("`rondo verify --problems FILE --schedules " + path +
            "` checks it, `rondo show FILE --schedules " + path +
            "` draws it, and " +
            reads("rondo-schedule", "--problem FILE -o plan.mlir"))
        .str();
  case FileKind::Planning:
    return ("`rondo plan " + path + "` reads it").str();
  case FileKind::Cluster:
    return reads("cluster", "-o cluster.mlir");
  case FileKind::Costs:
    return ("`rondo simulate FILE.mlir --costs " + path + "` reads it").str();
  case FileKind::Layout:
    return ("`rondo plan groups " + path + "` says what it costs").str();
  case FileKind::Rates:
    return ("`rondo plan groups CONFIG CLUSTER --rates " + path + "` reads it")
        .str();
  case FileKind::ProgramTrace:
    return ("`rondo diff FILE.mlir " + path + "` compares it with a plan")
        .str();
  case FileKind::Timeline:
    return ("`rondo diff " + path + " TRACE` compares a measurement with it")
        .str();
  case FileKind::Failure:
    return ("`rondo blame " + path + "` reads it, with those of other ranks")
        .str();
  case FileKind::TorchCsv:
    return reads("torch-csv", "-o schedule.json") +
           "; -o plan.mlir writes plans of it";
  case FileKind::TorchComms:
    return reads("torch-csv-comms", "-o schedule.json") +
           "; -o plan.mlir writes plans of it";
  case FileKind::MegatronLayout:
    return reads("megatron-layout",
                 "--ranks N --microbatches M -o schedule.json") +
           "; -o plan.mlir writes plans of it";
  case FileKind::Torchtitan: {
    const StringRef csv = valueOf("pipeline_parallel_schedule_csv", text);
    if (csv.empty())
      return "no command reads it, and it names no schedule "
             "(pipeline_parallel_schedule_csv)";
    return ("`rondo import torch-csv " + csv +
            " -o schedule.json` reads the schedule that "
            "pipeline_parallel_schedule_csv names, and no command reads the "
            "rest")
        .str();
  }
  case FileKind::ModelConfig:
    return reads("model", "-o model.mlir");
  case FileKind::CheckpointIndex:
  case FileKind::Safetensors:
    return configBeside();
  case FileKind::Topology:
    return reads("cluster", "--device NAME -o cluster.mlir");
  case FileKind::TorchTrace:
    return reads("profile", "-o costs.json") +
           ", with the traces of the other ranks";
  case FileKind::GraphProfile:
    return reads("profile", "-o model.mlir");
  case FileKind::Gzip:
    return "run `gunzip` on a copy and give that";
  case FileKind::Zip:
    return "Rondo reads weights from safetensors files alone";
  }
  llvm_unreachable("unknown kind");
}

} // namespace rondo::formats
