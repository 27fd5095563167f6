//===- LinkMessages.cpp - Names of the messages of a link -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/LinkMessages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

using llvm::StringRef;

namespace rondo::json {

std::optional<int64_t> takeReceiver(StringRef &message) {
  if (!message.contains('>'))
    return std::nullopt;
  auto [task, digits] = message.split('>');
  message = task;
  const bool isNumber = !digits.empty() &&
                        llvm::all_of(digits, llvm::isDigit) &&
                        (digits.size() == 1 || digits.front() != '0');
  if (!isNumber)
    return -1;
  int64_t stage;
  return digits.getAsInteger(10, stage) ? std::numeric_limits<int64_t>::max()
                                        : stage;
}

llvm::SmallVector<int32_t> LinkMessages::receivers(Action task,
                                                   int32_t to) const {
  llvm::SmallVector<int32_t> stages;
  if (task.isTask())
    for (int32_t e :
         edges.outputs(static_cast<int32_t>(task.subject), task.kind()))
      if (problem.rankOf(problem.edges[e].to) == to &&
          problem.carries(problem.edges[e], task.index))
        stages.push_back(problem.replicas[problem.edges[e].to].stage);
  return stages;
}

TextFault LinkOrderReader::outOfOrder(const std::string &found) const {
  return TextFault(FaultKind::TextLinkOrder,
                   where + " has " + found + " where " +
                       actionName(tasks.back(), messages.problem) + ">" +
                       std::to_string(left.front()) +
                       " belongs: the messages of a task over one link follow "
                       "each other, in the order of the problem's edges");
}

std::optional<TextFault>
LinkOrderReader::take(Action task, std::optional<int64_t> receiver) {
  const std::string name = actionName(task, messages.problem) +
                           (receiver ? ">" + std::to_string(*receiver) : "");
  if (!left.empty()) {
    if (task != tasks.back() || receiver != left.front())
      return outOfOrder(name);
    left.erase(left.begin());
    return std::nullopt;
  }
  tasks.push_back(task);
  if (!receiver)
    return std::nullopt;
  left = messages.receivers(task, link.second);
  if (!llvm::is_contained(left, *receiver))
    return TextFault(
        FaultKind::TextLinkOrder,
        where + " has " + name + ", but no edge goes from stage " +
            std::to_string(messages.problem.replicas[task.subject].stage) +
            " to a stage " + std::to_string(*receiver) + " of rank " +
            std::to_string(link.second));
  if (left.front() != *receiver)
    return outOfOrder(name);
  left.erase(left.begin());
  return std::nullopt;
}

std::optional<TextFault> LinkOrderReader::finish() const {
  return left.empty() ? std::optional<TextFault>() : outOfOrder("its end");
}

} // namespace rondo::json
