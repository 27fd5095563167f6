//===- Html.cpp - Timelines as one page -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/timeline/Pictures.h"

#include "llvm/Support/JSON.h"

#include <algorithm>
#include <set>

#include "formats/timeline/Viewer.inc"

using namespace rondo;
using namespace rondo::timeline;

namespace {

constexpr int32_t maxShades = 7;

/// Text of a script element, which `</script>` would end.
std::string inScript(llvm::StringRef json) {
  std::string text;
  text.reserve(json.size());
  for (char c : json)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

class Data {
public:
  explicit Data(llvm::raw_ostream &os) : json(os) {}

  void run(llvm::ArrayRef<Panel> panels) {
    std::set<ActionKind> used;
    for (const Panel &panel : panels)
      for (const TimelineTask &task : panel.timeline.tasks)
        used.insert(task.action.kind());
    kinds.assign(used.begin(), used.end());
    json.object([&] {
      json.attributeArray("kinds", [&] {
        for (ActionKind kind : kinds)
          writeKind(kind);
      });
      json.attributeArray("panels", [&] {
        for (const Panel &panel : panels)
          json.object([&] { writePanel(panel); });
      });
    });
  }

private:
  void writeKind(ActionKind kind) {
    std::string words = traitsOf(kind).keyword;
    std::replace(words.begin(), words.end(), '_', ' ');
    json.object([&] {
      json.attribute("code", traitsOf(kind).code);
      json.attribute("words", words);
      json.attributeArray("colors", [&] {
        for (int32_t chunk = 0; chunk < maxShades; ++chunk)
          json.value(colorOf(kind, chunk));
      });
    });
  }

  int64_t numberOf(ActionKind kind) const {
    return std::find(kinds.begin(), kinds.end(), kind) - kinds.begin();
  }

  /// Whole numbers without a blank, which most of the page is.
  template <typename Write> void numbers(llvm::StringRef key, Write write) {
    json.attributeBegin(key);
    json.rawValue([&](llvm::raw_ostream &os) {
      os << '[';
      bool isFirst = true;
      write([&](int64_t number) {
        if (!isFirst)
          os << ',';
        isFirst = false;
        os << number;
      });
      os << ']';
    });
    json.attributeEnd();
  }

  /// A row per task: replica, kind, index, start as a gap to the end of the
  /// task in front, length, and what it waited for: 0 nothing, above a task by
  /// its distance, below a message by its number from -1.
  void writeTasks(const Timeline &timeline) {
    numbers("tasks", [&](auto add) {
      for (size_t rank = 0; rank + 1 < timeline.rankBegin.size(); ++rank) {
        int64_t before = 0;
        for (int64_t i = timeline.rankBegin[rank];
             i < timeline.rankBegin[rank + 1]; ++i) {
          const TimelineTask &task = timeline.tasks[i];
          add(int64_t(task.action.subject));
          add(numberOf(task.action.kind()));
          add(int64_t(task.action.index));
          add(task.startNs - before);
          add(task.endNs - task.startNs);
          add(task.waitedFor == WaitedFor::Task      ? i - task.waited
              : task.waitedFor == WaitedFor::Message ? -1 - task.waited
                                                     : 0);
          before = task.endNs;
        }
      }
    });
  }

  void writePanel(const Panel &panel) {
    const Problem &problem = panel.problem;
    const Timeline &timeline = panel.timeline;
    const std::vector<int32_t> chunks = chunksOf(problem);
    json.attribute("title", panel.title);
    json.attributeArray("notes", [&] {
      for (const std::string &note : panel.notes)
        json.value(note);
    });
    json.attribute("makespan", timeline.makespanNs);
    json.attribute("ranks", problem.numRanks());
    json.attribute("memoryScale", memoryScaleOf(panel));
    json.attributeArray("caps", [&] {
      for (int64_t cap : problem.memoryCaps)
        cap == noMemoryCap ? json.value(nullptr) : json.value(cap);
    });
    // A row per replica: its stage and chunk.
    json.attributeArray("replicas", [&] {
      for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
        json.array([&] {
          json.value(problem.replicas[replica].stage);
          json.value(chunks[replica]);
        });
    });
    // A row per replica and kind: bytes that it takes and frees.
    json.attributeArray("bytes", [&] {
      for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
        json.array([&] {
          for (ActionKind kind : kinds)
            json.array([&] {
              json.value(problem.cost(replica, kind).acquireBytes);
              json.value(problem.cost(replica, kind).releaseBytes);
            });
        });
    });
    numbers("stagesOfRank", [&](auto add) {
      for (int32_t count : stagesOfRanks(problem))
        add(count);
    });
    numbers("rankBegin", [&](auto add) {
      for (int64_t begin : timeline.rankBegin)
        add(begin);
    });
    writeTasks(timeline);
    // A row per message: both tasks, its wait for its link, the time it
    // takes.
    numbers("messages", [&](auto add) {
      for (const TimelineMessage &message : timeline.messages) {
        add(message.from);
        add(message.to);
        add(message.leaveNs - timeline.tasks[message.from].endNs);
        add(message.arriveNs - message.leaveNs);
      }
    });
  }

  llvm::json::OStream json;
  /// The panels of the page, in order.
  std::vector<ActionKind> kinds;
};

} // namespace

void timeline::writeHtml(llvm::raw_ostream &os, llvm::ArrayRef<Panel> panels) {
  std::string data;
  llvm::raw_string_ostream dataOs(data);
  Data(dataOs).run(panels);
  const std::string title =
      panels.empty() ? "" : escaped(panels.front().problem.name);
  os << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n"
     << "<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n"
     << "<link rel=\"icon\" href=\"data:,\">\n<title>" << title
     << ": schedule over time</title>\n<style>\n"
     << viewerCss << "</style>\n</head>\n<body>\n<header>\n<h1>" << title
     << "</h1>\n"
     << R"(<button id="show-path" aria-pressed="false" title="key c">critical path</button>
<button id="show-messages" aria-pressed="false" title="key m">messages</button>
<button id="show-memory" aria-pressed="true" title="key b">memory</button>
<button id="fit" title="key 0">whole iteration</button>
<button id="theme" aria-pressed="false" title="key d">dark</button>
<div id="legend" aria-label="kinds of tasks"></div>
</header>
<main id="view"><canvas tabindex="0" role="img" aria-label="tasks of each rank over time"></canvas><div id="hint" role="status"></div></main>
<footer>wheel, + and -: zoom; drag and arrows: move; 0: whole iteration; c: critical path; m: messages; b: memory; d: dark</footer>
<script>
const rondoTimelines = )"
     << inScript(data) << ";\n</script>\n<script>\n"
     << viewerJs << "</script>\n<script>\n"
     << viewerControlsJs << "</script>\n</body>\n</html>\n";
}
