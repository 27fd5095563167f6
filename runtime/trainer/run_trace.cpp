//===- run_trace.cpp - The trace of a training ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/where-time-goes.md describes the file.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/progress.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>
#include <type_traits>
#include <utility>

using namespace rondo;
using namespace rondo::runtime;

RunTrace::RunTrace(const Executable &executable,
                   const std::vector<const ProgramDesc *> &programs)
    : exe(executable) {
  for (const ProgramDesc *program : programs)
    traces.resize(std::max<size_t>(traces.size(), program->numRanks));
  for (int32_t p = 0; p < exe.numPrograms; ++p) {
    names.emplace_back(exe.programs[p].name);
    ids.push_back(p);
  }
}

const ProgramDesc &RunTrace::programOf(const TraceEvent &event) const {
  return exe.programs[ids[static_cast<size_t>(event.program)]];
}

/// A found program has the id of a compiled one and a name of its own, which no
/// other has.
int32_t RunTrace::numberOf(const ProgramDesc &program) {
  if (names[program.id] == program.name)
    return program.id;
  const auto found =
      std::find(names.begin() + exe.numPrograms, names.end(), program.name);
  const auto number = static_cast<int32_t>(found - names.begin());
  if (found == names.end()) {
    names.emplace_back(program.name);
    ids.push_back(program.id);
  }
  return number;
}

/// Also of a program that is gone when the trace is written.
static int64_t messageBytes(const ProgramDesc &program,
                            const TraceEvent &event) {
  if (event.edge < 0)
    return 0;
  const int64_t microbatch =
      event.messageMicrobatch >= 0 ? event.messageMicrobatch : event.microbatch;
  return (program.uneven
              ? program.uneven->sizes[sizeOf(program, microbatch)].edges
              : program.edges)[event.edge]
      .bytes;
}

void RunTrace::take(ProgramRun &run) {
  for (int32_t r : run.heldRanks()) {
    std::vector<TraceEvent> &fresh = run.rank(r).trace;
    if (fresh.empty())
      continue;
    const int32_t number = numberOf(run.program());
    for (TraceEvent &event : fresh) {
      event.program = number;
      event.bytes = messageBytes(run.program(), event);
    }
    traces[r].insert(traces[r].end(), fresh.begin(), fresh.end());
    fresh.clear();
  }
}

/// Brings the events of all ranks to process 0, on its clock.
void RunTrace::collect(const World &world) {
  if (world.isAlone())
    return;
  static_assert(std::is_trivially_copyable_v<TraceEvent>);
  const std::string key = "the trace of rank ";
  if (!world.isFirst()) {
    std::vector<TraceEvent> &mine = traces[world.process];
    const int64_t offsetNs = world.store->clockOffsetNs();
    for (TraceEvent &event : mine) {
      event.startNs += offsetNs;
      event.endNs += offsetNs;
    }
    world.store->give(key + std::to_string(world.process),
                      std::string(reinterpret_cast<const char *>(mine.data()),
                                  mine.size() * sizeof(TraceEvent)));
    return;
  }
  for (int32_t r = 1; r < world.processes; ++r) {
    std::string bytes = world.store->take(key + std::to_string(r));
    traces[r].resize(bytes.size() / sizeof(TraceEvent));
    if (!traces[r].empty())
      std::memcpy(traces[r].data(), bytes.data(),
                  traces[r].size() * sizeof(TraceEvent));
  }
}

namespace {

/// Threads of a rank in the file.
enum Thread { computing, communicating, running, copyingOut, copyingIn };

class Writer {
public:
  Writer(const Executable &exe, const RunTrace &trace)
      : exe(exe), trace(trace) {}

  std::string run();

private:
  const ProgramDesc &programOf(const TraceEvent &event) const {
    return trace.programOf(event);
  }
  const EdgeDesc &edgeOf(const TraceEvent &event) const {
    return programOf(event).edges[event.edge];
  }
  int32_t rankOf(const TraceEvent &event, int32_t replica) const {
    return programOf(event).rankOfReplica[replica];
  }
  std::string messageName(const TraceEvent &event) const {
    const EdgeDesc &edge = edgeOf(event);
    return nameOf(edge.message, exe.replicas[edge.from].stage,
                  event.messageMicrobatch);
  }
  /// Identifies a message.
  using Key = std::tuple<int64_t, int32_t, int32_t>;
  static Key keyOf(const TraceEvent &event) {
    return {event.iteration, event.edge, event.messageMicrobatch};
  }

  void begin(const std::string &name, const char *category, const char *phase,
             int32_t rank, int thread, int64_t ns);
  void range(const std::string &name, const char *category, int32_t rank,
             Thread thread, const TraceEvent &event);
  template <typename Value> void argument(const char *key, const Value &value) {
    if (std::exchange(isFirstArgument, false))
      json.key("args").object();
    json.member(key, value);
  }
  void end();
  void nameThreads(int32_t rank);
  void writeAction(int32_t rank, const TraceEvent &event);
  void writeWait(int32_t rank, const TraceEvent &event);
  void writeMessage(const TraceEvent &event);

  const Executable &exe;
  const RunTrace &trace;
  /// When messages were handed over.
  std::map<Key, int64_t> sentNs;
  int64_t zeroNs = INT64_MAX, messages = 0;
  JsonWriter json;
  bool isFirstArgument = true;
};

void Writer::begin(const std::string &name, const char *category,
                   const char *phase, int32_t rank, int thread, int64_t ns) {
  json.line().object().member("name", name).member("cat", category);
  json.member("ph", phase).member("pid", rank).member("tid", thread);
  json.member("ts", static_cast<double>(ns - zeroNs) * 1e-3, "%.3f");
  isFirstArgument = true;
}

void Writer::range(const std::string &name, const char *category, int32_t rank,
                   Thread thread, const TraceEvent &event) {
  begin(name, category, "X", rank, thread, event.startNs);
  json.member("dur", static_cast<double>(event.endNs - event.startNs) * 1e-3,
              "%.3f");
  argument("iteration", event.iteration);
}

void Writer::end() {
  if (!isFirstArgument)
    json.end();
  json.end();
}

void Writer::nameThreads(int32_t rank) {
  auto add = [&](const char *what, int thread, const std::string &name) {
    begin(what, "", "M", rank, thread, zeroNs);
    argument("name", name);
    end();
  };
  add("process_name", 0, "rank " + std::to_string(rank));
  add("thread_name", computing, "tasks and waits");
  add("thread_name", communicating, "messages and collectives");
  add("thread_name", running, "runs");
  if (std::any_of(exe.programs, exe.programs + exe.numPrograms,
                  [](const ProgramDesc &program) { return program.copies; })) {
    add("thread_name", copyingOut, "copies to the host");
    add("thread_name", copyingIn, "copies from the host");
  }
}

void Writer::writeAction(int32_t rank, const TraceEvent &event) {
  const ActionTraits &traits = traitsOf(event.kind);
  const bool isAwait = event.kind == ActionKind::Await,
             isMessage = traits.subject == Subject::Edge;
  range(actionName(event.kind, event.message, event.number, event.microbatch),
        isAwait                                             ? "wait"
        : isMessage                                         ? "message"
        : traits.isCopy()                                   ? "copy"
        : traits.isTask() || event.kind == ActionKind::Step ? "task"
                                                            : "collective",
        rank,
        event.kind == ActionKind::Save                  ? copyingOut
        : event.kind == ActionKind::Load                ? copyingIn
        : traits.subject == Subject::Replica || isAwait ? computing
                                                        : communicating,
        event);
  if (traits.subject == Subject::Collective) {
    argument(isAwait ? "for" : "kind",
             traitsOf(programOf(event).collectives[event.number].kind).keyword);
    argument("collective", event.number);
    return end();
  }
  argument("stage", event.number);
  if (traits.index != IndexMeaning::Step)
    argument(traits.movesState() ? "unit" : "microbatch", event.microbatch);
  if (isMessage) {
    const EdgeDesc &edge = edgeOf(event);
    argument("bytes", event.bytes);
    if (event.kind == ActionKind::Send)
      argument("to", rankOf(event, edge.to));
    else
      argument("from", rankOf(event, edge.from));
  } else {
    argument("kind", traits.code);
    argument("replica", exe.replicas[event.replica].index);
  }
  end();
}

void Writer::writeWait(int32_t rank, const TraceEvent &event) {
  const bool isArrival = event.what == Traced::Arrival;
  const EdgeDesc &edge = edgeOf(event);
  range((isArrival ? "wait for " : "wait to have sent ") + messageName(event),
        "wait", rank, computing, event);
  argument("for", isArrival ? "message" : "release");
  argument("rank", rankOf(event, isArrival ? edge.from : edge.to));
  argument("task", actionName(event.kind, event.message, event.number,
                              event.microbatch));
  end();
}

/// From the hand-over to the end of the receiver's wait. In phases of their
/// own, since messages overlap.
void Writer::writeMessage(const TraceEvent &event) {
  const auto sent = sentNs.find(keyOf(event));
  if (sent == sentNs.end())
    return;
  const EdgeDesc &edge = edgeOf(event);
  const int32_t to = rankOf(event, edge.to);
  const std::string id = "m" + std::to_string(messages++);
  begin(messageName(event), "message", "b", to, communicating,
        std::min(sent->second, event.endNs));
  json.member("id", id);
  argument("iteration", event.iteration);
  argument("stage", exe.replicas[edge.from].stage);
  argument("microbatch", event.messageMicrobatch);
  argument("bytes", event.bytes);
  argument("from", rankOf(event, edge.from));
  argument("to", to);
  end();
  begin(messageName(event), "message", "e", to, communicating, event.endNs);
  json.member("id", id);
  end();
}

std::string Writer::run() {
  const std::vector<std::vector<TraceEvent>> &traces = trace.events();
  for (const std::vector<TraceEvent> &events : traces)
    for (const TraceEvent &event : events) {
      zeroNs = std::min(zeroNs, event.startNs);
      if (event.what == Traced::Action && event.kind == ActionKind::Send)
        sentNs[keyOf(event)] = event.startNs;
    }
  json.object()
      .member("format", "rondo-trace/1")
      .member("executable", exe.name);
  json.member("ranks", static_cast<int64_t>(traces.size()));
  json.key("stages").array();
  for (int32_t s = 0; s < exe.numStages; ++s)
    json.value(exe.stages[s].name);
  json.end().line().key("traceEvents").array();
  for (size_t r = 0; r < traces.size(); ++r) {
    const auto rank = static_cast<int32_t>(r);
    if (!traces[r].empty())
      nameThreads(rank);
    for (const TraceEvent &event : traces[r])
      switch (event.what) {
      case Traced::Action:
        writeAction(rank, event);
        break;
      case Traced::Arrival:
        writeMessage(event);
        [[fallthrough]];
      case Traced::Release:
        writeWait(rank, event);
        break;
      case Traced::Run:
        range("run " + trace.nameOf(event), "run", rank, running, event);
        argument("schedule", trace.nameOf(event));
        argument("iterations", event.microbatch);
        argument("microbatches", programOf(event).microbatches);
        end();
        break;
      }
  }
  json.line().end().member("displayTimeUnit", "ns");
  return json.end().text() + "\n";
}

} // namespace

void RunTrace::write(const std::string &path, const World &world) {
  collect(world);
  if (!world.isFirst())
    return;
  writeTextFile(path, "'" + path + "'", Writer(exe, *this).run());
}
