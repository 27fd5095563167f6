//===- schedules.cpp - Which of its schedules an executable runs ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/schedules.h"

#include "kinds/Counts.h"
#include "kinds/EditDistance.h"

#include "runtime/base/error.h"
#include "runtime/execution/program_run.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

using rondo::countOf;
using rondo::nearestWord;
using namespace rondo::runtime;

std::vector<ScheduleTurn> rondo::runtime::parseTurns(const std::string &text) {
  std::vector<ScheduleTurn> turns;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    ScheduleTurn turn;
    turn.name = text.substr(begin, end - begin);
    begin = end + 1;
    // As in the language, or without its @.
    if (!turn.name.empty() && turn.name.front() == '@')
      turn.name.erase(0, 1);
    const size_t colon = turn.name.rfind(':');
    if (colon != std::string::npos) {
      const std::string count = turn.name.substr(colon + 1);
      char *rest = nullptr;
      errno = 0;
      turn.iterations = std::strtoll(count.c_str(), &rest, 10);
      if (count.empty() || *rest != '\0' || errno == ERANGE ||
          turn.iterations < 1 || turn.iterations > INT32_MAX)
        throw Error("--schedule needs a whole number of iterations after the "
                    "colon, from 1 to " +
                        std::to_string(INT32_MAX) + ", not '" + count +
                        "'; --help lists the flags",
                    Exit::Usage);
      turn.name.resize(colon);
    }
    if (turn.name.empty())
      throw Error("--schedule needs names separated by commas, not '" + text +
                      "'; --help lists the schedules",
                  Exit::Usage);
    turns.push_back(std::move(turn));
  }
  return turns;
}

std::vector<const ProgramDesc *>
rondo::runtime::pipelinesOf(const Executable &executable) {
  std::vector<const ProgramDesc *> pipelines;
  for (int32_t p = 0; p < executable.numPrograms; ++p)
    if (executable.programs[p].kind == ProgramKind::Pipeline)
      pipelines.push_back(&executable.programs[p]);
  return pipelines;
}

std::string rondo::runtime::describe(const ProgramDesc &program) {
  std::string text = std::string(program.name) + ": " +
                     countOf(program.microbatches, "micro-batch");
  if (program.samples > 0)
    text += " of " + countOf(program.samples, "sample");
  return text;
}

static const ProgramDesc &findPipeline(const Executable &executable,
                                       const std::string &name) {
  const std::vector<const ProgramDesc *> pipelines = pipelinesOf(executable);
  std::string names;
  std::vector<std::string> known;
  for (const ProgramDesc *program : pipelines) {
    if (program->name == name)
      return *program;
    names += (names.empty() ? "" : ", ") + std::string(program->name);
    known.push_back(program->name);
  }
  const std::string nearest = nearestWord(name, known);
  throw Error("unknown schedule '" + name + "'; " +
                  (nearest.empty() ? "" : "did you mean '" + nearest + "'? ") +
                  "this program has " + names,
              Exit::Usage);
}

Turns::Turns(const Executable &executable,
             const std::vector<ScheduleTurn> &wanted) {
  for (const ScheduleTurn &turn : wanted)
    turns.push_back({&findPipeline(executable, turn.name), turn.iterations});
  if (turns.empty())
    turns.push_back({&findProgram(executable, ProgramKind::Pipeline), 1});
  for (const Turn &turn : turns) {
    round += turn.iterations;
    if (std::find(used.begin(), used.end(), turn.program) == used.end())
      used.push_back(turn.program);
  }
}

const ProgramDesc &Turns::at(int64_t iteration) const {
  int64_t place = (iteration - 1) % round;
  size_t t = 0;
  while (place >= turns[t].iterations)
    place -= turns[t++].iterations;
  return *turns[t].program;
}

int64_t Turns::together(int64_t first, int64_t last,
                        std::initializer_list<int64_t> stops) const {
  const ProgramDesc &program = at(first);
  if (!program.overlap)
    return 1;
  int64_t end = first;
  auto isStop = [&](int64_t stop) { return stop > 0 && end % stop == 0; };
  while (end < last && !std::any_of(stops.begin(), stops.end(), isStop) &&
         &at(end + 1) == &program)
    ++end;
  return end - first + 1;
}

std::string Turns::text() const {
  std::string text;
  for (const Turn &turn : turns)
    text += (text.empty() ? "" : ",") + std::string(turn.program->name) +
            (turns.size() > 1 ? ":" + std::to_string(turn.iterations) : "");
  return text;
}
