//===- Trace.cpp - Timelines for Chrome's and Perfetto's viewers ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/timeline/Pictures.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace rondo;
using namespace rondo::timeline;

namespace {

class Writer {
public:
  explicit Writer(llvm::raw_ostream &os) : json(os) {}

  void run(llvm::ArrayRef<Panel> panels) {
    json.object([&] {
      // Readers detect the format by the first key.
      json.attribute("format", "rondo-timeline/1");
      json.attributeArray("schedules", [&] {
        for (const Panel &panel : panels)
          writeShape(panel);
      });
      json.attributeArray("traceEvents", [&] {
        for (const Panel &panel : panels)
          writePanel(panel, panels.size() > 1);
      });
      json.attribute("displayTimeUnit", "ns");
    });
  }

private:
  /// Microseconds, exactly.
  void time(llvm::StringRef key, int64_t ns) {
    json.attributeBegin(key);
    json.rawValue([&](llvm::raw_ostream &os) {
      os << ns / 1000 << llvm::format(".%03d", int(ns % 1000));
    });
    json.attributeEnd();
  }

  void name(const char *what, int64_t pid, int64_t tid,
            const std::string &name) {
    json.object([&] {
      json.attribute("name", what);
      json.attribute("ph", "M");
      json.attribute("pid", pid);
      json.attribute("tid", tid);
      json.attributeObject("args", [&] { json.attribute("name", name); });
    });
  }

  void writeShape(const Panel &panel) {
    json.object([&] {
      json.attribute("title", panel.title);
      json.attribute("problem", panel.problem.name);
      json.attribute("ranks", panel.problem.numRanks());
      json.attribute("stages", panel.problem.numStages());
      json.attribute("iterations", panel.problem.iterations);
    });
  }

  void range(const std::string &name, const char *category, int64_t pid,
             int64_t tid, int64_t startNs, int64_t endNs,
             llvm::function_ref<void()> writeArguments) {
    json.object([&] {
      json.attribute("name", name);
      json.attribute("cat", category);
      json.attribute("ph", "X");
      json.attribute("pid", pid);
      json.attribute("tid", tid);
      time("ts", startNs);
      time("dur", endNs - startNs);
      json.attributeObject("args", writeArguments);
    });
  }

  /// The subject of the task and, if its rank was idle for a message, the rank
  /// that sent that.
  void writeTask(const Panel &panel, const TimelineTask &task) {
    const Replica &replica = panel.problem.replicas[task.action.subject];
    json.attribute("stage", replica.stage);
    json.attribute("replica", replica.index);
    json.attribute("kind", task.action.traits().code);
    if (task.action.isTask() || task.action.traits().isCopy())
      json.attribute("microbatch", int64_t(task.action.index));
    if (task.action.count > 1)
      json.attribute("microbatches", int64_t(task.action.count));
    if (task.lane != Lane::Compute)
      json.attribute("lane", task.lane == Lane::Collective ? "collective"
                             : task.lane == Lane::CopyOut  ? "copy-out"
                                                           : "copy-in");
    if (task.waitedFor != WaitedFor::Message)
      return;
    const Timeline &timeline = panel.timeline;
    json.attribute("waited_for_rank",
                   timeline.tasks[timeline.messages[task.waited].from].rank);
  }

  void flow(const char *phase, const std::string &name, int64_t pid,
            int64_t tid, int64_t ns) {
    json.object([&] {
      json.attribute("name", name);
      json.attribute("cat", "message");
      json.attribute("ph", phase);
      if (*phase == 'f')
        json.attribute("bp", "e");
      json.attribute("id", flows);
      json.attribute("pid", pid);
      json.attribute("tid", tid);
      time("ts", ns);
    });
  }

  void writePanel(const Panel &panel, bool isOneOfMany) {
    const Problem &problem = panel.problem;
    const Timeline &timeline = panel.timeline;
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
      const int64_t pid = ranks + rank;
      name("process_name", pid, 0,
           (isOneOfMany ? panel.title + ": rank " : "rank ") +
               std::to_string(rank));
      name("thread_name", pid, 0, "compute");
      name("thread_name", pid, 1, "communication");
    }
    for (const TimelineTask &task : timeline.tasks)
      range(actionName(task.action, problem), "computation", ranks + task.rank,
            0, task.startNs, task.endNs, [&] { writeTask(panel, task); });
    for (const TimelineMessage &message : timeline.messages) {
      const TimelineTask &from = timeline.tasks[message.from],
                         &to = timeline.tasks[message.to];
      const Edge &edge = problem.edges[message.edge];
      const std::string what =
          (edge.producer == ActionKind::Forward     ? "SEND_F"
           : edge.producer == ActionKind::Recompute ? "SEND_R"
                                                    : "SEND_B") +
          std::to_string(uint64_t(from.action.index));
      const std::string label =
          std::to_string(problem.replicas[edge.from].stage) + what;
      range(label, "communication", ranks + from.rank, 1, message.leaveNs,
            message.arriveNs, [&] {
              json.attribute("to", to.rank);
              json.attribute("bytes", edge.bytes);
            });
      flow("s", label, ranks + from.rank, 1, message.leaveNs);
      flow("f", label, ranks + to.rank, 0, to.startNs);
      ++flows;
    }
    ranks += problem.numRanks();
  }

  llvm::json::OStream json;
  /// Processes and flows so far.
  int64_t ranks = 0, flows = 0;
};

} // namespace

void timeline::writeTrace(llvm::raw_ostream &os, llvm::ArrayRef<Panel> panels) {
  Writer(os).run(panels);
  os << "\n";
}
