//===- progress.cpp - Prints what a run does ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/extras.h"

#include "kinds/Counts.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <unistd.h>
#include <utility>

using rondo::countOf;

using namespace rondo::runtime;

using namespace rondo;

std::string rondo::runtime::duration(int64_t ns) {
  char text[32];
  if (ns >= 1000000000)
    std::snprintf(text, sizeof text, "%.2f s", static_cast<double>(ns) * 1e-9);
  else if (ns >= 1000000)
    std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(ns) * 1e-6);
  else
    std::snprintf(text, sizeof text, "%.1f us", static_cast<double>(ns) * 1e-3);
  return text;
}

static std::string cores(int count) { return countOf(count, "core"); }

static std::string prediction(Trainer &trainer, const ProgramDesc &program) {
  std::string text =
      duration(program.predictedNs) + " with one device per rank";
  // Timed layers sleep, so they need no core of their own. A process does not
  // know which cores the others may use.
  if (needsCores(trainer.executable()) && trainer.world().isAlone())
    text += ", an estimated " +
            duration(boundOnCores(program, trainer.cores())) + " on " +
            cores(trainer.cores());
  return text;
}

/// Whether a line can be overwritten. Open MPI gives its first process a
/// terminal wherever its own output goes.
static bool isOnTerminal() {
  return isatty(1) != 0 && !std::getenv("OMPI_COMM_WORLD_RANK");
}

Progress::Progress(const Options &options, Trainer &trainer,
                   const std::vector<const ProgramDesc *> &programs)
    : options(options), trainer(trainer), programs(programs),
      hasLoss(trainer.hasLoss()), isFirst(trainer.world().isFirst()),
      isTerminal(isOnTerminal()),
      hasSeveral(pipelinesOf(trainer.executable()).size() > 1),
      times(trainer.executable().numPrograms),
      enqueueTimes(trainer.executable().numPrograms) {
  if (options.jsonLog.empty() || !isFirst)
    return;
  // The log's earlier iterations are part of the same run.
  const bool appends = !options.resume.empty();
  if (const int descriptor = openOwnFile(options.jsonLog, appends);
      descriptor >= 0)
    log = fdopen(descriptor, appends ? "a" : "w");
  if (!log)
    throw Error("cannot write log '" + options.jsonLog +
                "': " + std::strerror(errno));
}

Progress::~Progress() {
  endLine();
  if (log)
    std::fclose(log);
}

void Progress::endLine() {
  if (isLineOpen)
    std::printf("\n");
  isLineOpen = false;
  std::fflush(stdout);
}

/// The run goes on without its log if the disk is full.
void Progress::writeLog(const std::string &line) {
  if (!log)
    return;
  if (std::fprintf(log, "%s\n", line.c_str()) >= 0 && std::fflush(log) == 0)
    return;
  note("note: cannot write log '" + options.jsonLog +
       "': " + std::strerror(errno) + "; continuing without it");
  std::fclose(log);
  log = nullptr;
}

void Progress::note(const std::string &text) {
  if (!isFirst)
    return;
  endLine();
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

std::string Progress::of(const ProgramDesc &program) const {
  return hasSeveral ? " of '" + std::string(program.name) + "'" : "";
}

void Progress::begin() {
  const ProgramDesc &program = *programs.front();
  const int64_t allocated = trainer.allocatedBytes();
  if (options.quiet || !isFirst)
    return;
  const Executable &exe = trainer.executable();
  int64_t planned = 0, onHost = 0;
  for (int32_t r = 0; r < exe.numRanks; ++r) {
    planned += exe.arenaBytes[r];
    onHost += exe.hostArenaBytes ? exe.hostArenaBytes[r] : 0;
  }
  const World &world = trainer.world();
  std::printf("%s: %d stages, %d micro-batches, %d ranks as %s\n", exe.name,
              exe.numStages, program.microbatches, program.numRanks,
              world.isAlone()
                  ? ("threads on " + cores(trainer.cores())).c_str()
                  : ("processes started by " + world.startedBy).c_str());
  std::printf("memory: %lld bytes planned, %lld allocated\n",
              static_cast<long long>(planned),
              static_cast<long long>(allocated));
  if (exe.hostArenaBytes)
    std::printf("host memory: %lld bytes for copies of activations\n",
                static_cast<long long>(onHost));
  if (needsData(exe))
    std::printf("data: %s\n", trainer.data().describe().c_str());
  if (trainer.threadsOfRank() > 1)
    std::printf("threads: %d a rank\n", trainer.threadsOfRank());
  for (const ProgramDesc *each : programs) {
    if (hasSeveral)
      std::printf("schedule %s\n", describe(*each).c_str());
    if (each->predictedNs > 0)
      std::printf("predicted iteration%s%s: %s\n", of(*each).c_str(),
                  exe.extras.batches ? " of the largest batch" : "",
                  prediction(trainer, *each).c_str());
  }
  std::fflush(stdout);
}

/// `early, order 2 0 1`
static std::string batchText(const PlannedBatch &planned) {
  std::string text = std::string(nameOf(planned.source)) + ", order";
  for (int32_t row : planned.order)
    text += " " + std::to_string(row);
  return text;
}

static void add(const BatchRun &batch, int64_t tokens, JsonWriter &json) {
  const PlannedBatch &planned = batch.planned;
  json.member("tokens", tokens)
      .member("schedule", nameOf(planned.source))
      .key("order")
      .array();
  for (int32_t row : planned.order)
    json.value(row);
  json.end()
      .member("search_ns", static_cast<int64_t>(1e9 * batch.seconds))
      .member("wait_ns", batch.waitNs)
      .member("prepare_ns", batch.prepareNs)
      .member("predicted_ns", planned.program->batch().predictedNs);
}

void Progress::nextBatch(const BatchRun &next) { batch = &next; }

void Progress::iteration(int64_t number, int64_t last,
                         const ProgramDesc &program,
                         const IterationResult &result) {
  // Only compiled programs have a prediction to compare with.
  const bool isCompiled =
      &trainer.executable().programs[program.id] == &program;
  if (isCompiled || batch)
    times[program.id].push_back(result.ns);
  const BatchRun *const own = std::exchange(batch, nullptr);
  if (own && isFirst) {
    searchedBatches += own->planned.source == PlannedBatch::Source::Searched;
    predictedNs += own->planned.program->batch().predictedNs;
  }
  const int64_t tokens = trainer.tokensOf(own ? own->run->program() : program);
  if ((isCompiled || own) && result.enqueueNs >= 0)
    enqueueTimes[program.id].push_back(result.enqueueNs);
  double tokensPerSecond =
      static_cast<double>(tokens) * 1e9 / static_cast<double>(result.ns);
  if (log) {
    JsonWriter json;
    json.object().member("iteration", number);
    if (hasSeveral)
      json.member("schedule", program.name);
    if (own)
      add(*own, tokens, json);
    if (hasLoss && std::isfinite(result.loss))
      json.member("loss", result.loss, "%.9g");
    if (std::isfinite(result.norm))
      json.member("norm", result.norm, "%.9g");
    if (result.enqueueNs >= 0)
      json.member("enqueue_ns", result.enqueueNs);
    json.member("learning_rate", result.learningRate, "%.9g")
        .member("skipped", !result.isFinite)
        .member("ns", result.ns)
        .member("tokens_per_s", tokensPerSecond, "%.1f");
    writeLog(json.end().text());
  }
  if (options.quiet || !isFirst)
    return;
  char line[160];
  int length = std::snprintf(line, sizeof line, "iteration %lld/%lld",
                             static_cast<long long>(number),
                             static_cast<long long>(last));
  if (hasLoss)
    length += std::snprintf(line + length, sizeof line - length, "  loss %.4f",
                            result.loss);
  if (tokens > 0)
    length += std::snprintf(line + length, sizeof line - length,
                            "  %.0f tokens/s", tokensPerSecond);
  std::snprintf(line + length, sizeof line - length, "  %s",
                duration(result.ns).c_str());
  std::string text = line;
  if (own)
    text += "  " + batchText(own->planned);
  std::printf(isTerminal ? "\r\033[K%s" : "%s\n", text.c_str());
  std::fflush(stdout);
  isLineOpen = isTerminal;
}

void Progress::heldOut(int64_t number, double loss) {
  // JSON has no infinity or NaN.
  if (log && std::isfinite(loss)) {
    JsonWriter json;
    json.object().member("iteration", number);
    json.member("held_out_loss", loss, "%.9g");
    writeLog(json.end().text());
  }
  char line[80];
  std::snprintf(line, sizeof line, "iteration %lld  held-out loss %.4f",
                static_cast<long long>(number), loss);
  note(line);
}

static bool hasAttention(const LayerDesc &layer) {
  return layer.kind == LayerKind::GptBlock ||
         layer.kind == LayerKind::LlamaBlock;
}

/// The mean time of all batches, next to its prediction.
std::string Progress::describeBatches(const std::vector<int64_t> &ns) const {
  const auto count = static_cast<int64_t>(ns.size());
  return ", mean " +
         duration(std::accumulate(ns.begin(), ns.end(), int64_t(0)) / count) +
         " (predicted " + duration(predictedNs / count) +
         " with one device per rank; " + std::to_string(searchedBatches) +
         " of " + countOf(count, "schedule") + " by further searches)";
}

void Progress::end() {
  if (options.quiet || !isFirst)
    return;
  for (const ProgramDesc *program : programs) {
    const std::vector<int64_t> &ns = times[program->id];
    if (ns.empty())
      continue;
    std::string line = "measured iteration" + of(*program) + ": median " +
                       duration(median(ns)) + ", best " +
                       duration(*std::min_element(ns.begin(), ns.end()));
    if (trainer.executable().extras.batches)
      line += describeBatches(ns);
    else if (program->predictedNs > 0)
      line += " (predicted " + prediction(trainer, *program) + ")";
    note(line);
    if (enqueueTimes[program->id].empty())
      continue;
    const int64_t enqueue = median(enqueueTimes[program->id]);
    char share[32];
    std::snprintf(share, sizeof share, "%.2f",
                  100.0 * static_cast<double>(enqueue) /
                      static_cast<double>(median(ns)));
    note("host: median " + duration(enqueue) +
         " of processor time to enqueue an iteration, " + share + " % of it");
  }
  const Executable &exe = trainer.executable();
  const bool attends =
      std::any_of(exe.layers, exe.layers + exe.numLayers, hasAttention);
  std::string last;
  for (int32_t r = 0; attends && r < exe.numRanks; ++r) {
    if (!trainer.world().holds(r))
      continue;
    const std::string attention = trainer.state().device(r).attention();
    if (!attention.empty() && attention != last)
      note("attention: " + attention);
    last = attention;
  }
  if (const int64_t used = trainer.state().bytesInUse(); used >= 0)
    note("GPUs of this process: " + std::to_string(used) +
         " bytes in use, of which its arenas " +
         std::to_string(trainer.state().allocatedBytes()) +
         "; the rest is the driver, libraries, kernels and other programs");
}

void Progress::switched(int64_t number, const ProgramDesc &from,
                        const ProgramDesc &to, int64_t fromNs, int64_t toNs) {
  JsonWriter json;
  json.object().member("iteration", number).key("switch").object();
  json.member("from", from.name).member("to", to.name);
  writeLog(json.end().end().text());
  if (options.quiet)
    return;
  note("iteration " + std::to_string(number) + ": from now on '" + to.name +
       "', estimated at " + duration(toNs) + " an iteration; '" + from.name +
       "' at " + duration(fromNs));
}
