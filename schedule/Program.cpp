//===- Program.cpp - A schedule with messages and memory --------*- C++ -*-===//

#include "schedule/Program.h"

using namespace rondo;

const char *rondo::bufferName(BufferKind kind) {
  constexpr const char *names[numBufferKinds] = {
      "weights",
      "gradients",
      "moments",
      "control",
      "data",
      "workspace",
      "input",
      "output",
      "output_grad",
      "input_grad",
      "saved_for_input_grad",
      "saved_for_weight_grad",
  };
  return names[static_cast<int>(kind)];
}

const char *rondo::ruleId(ProgramRule rule) {
  constexpr const char *ids[] = {"L1", "L2", "L3", "L4", "L5"};
  return ids[static_cast<int>(rule)];
}

std::string rondo::programActionName(Action action, const Problem &problem) {
  std::string number = std::to_string(action.stage);
  switch (action.kind()) {
  case ActionKind::Send:
  case ActionKind::Recv: {
    bool isSend = action.kind() == ActionKind::Send;
    std::string verb = isSend ? "send" : "recv";
    if (action.stage >= problem.edges.size())
      return verb + " of edge " + number;
    const Edge &edge = problem.edges[action.stage];
    return verb + " " +
           actionName(Action(edge.producer, edge.from, action.index)) +
           (isSend ? " to rank " : " from rank ") +
           std::to_string(problem.homeOf(isSend ? edge.to : edge.from).rank);
  }
  case ActionKind::AllReduce:
    return "all_reduce " + number;
  case ActionKind::Step:
    return "step of stage " + number;
  default:
    if (action.isTask())
      return actionName(action);
    return std::string(kindName(action.kind())) + " of stage " + number;
  }
}
