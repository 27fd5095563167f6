//===- LinkMessages.h - Names of the messages of a link ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A link order of the core names tasks: all that a task sends over the link
// goes there, in the order of the edges. rondo-schedule/2 names each message,
// `0F3>2`, by its task and the stage that needs it, where a task sends several.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_LINKMESSAGES_H
#define RONDO_FORMATS_JSON_LINKMESSAGES_H

#include "formats/json/Value.h"
#include "schedule/model/EdgeTable.h"

#include "llvm/ADT/SmallVector.h"

namespace rondo::json {

/// Does not own the problem.
class LinkMessages {
public:
  explicit LinkMessages(const Problem &problem)
      : problem(problem), edges(problem) {}

  /// The stages on rank `to` that need a message of the task, in the order in
  /// which the task sends.
  llvm::SmallVector<int32_t> receivers(Action task, int32_t to) const;

  const Problem &problem;

private:
  EdgeTable edges;
};

/// Reads the messages of one link in turn, as the tasks that send them.
class LinkOrderReader {
public:
  /// `where` names the list in messages.
  LinkOrderReader(const LinkMessages &messages,
                  std::pair<int32_t, int32_t> link, std::string where)
      : messages(messages), link(link), where(std::move(where)) {}

  /// Takes a message that names the stage that needs it, or, without one, all
  /// messages of the task.
  std::optional<TextFault> take(Action task, std::optional<int64_t> receiver);
  /// Reports messages of the last task that are missing.
  std::optional<TextFault> finish() const;

  /// Each task once.
  std::vector<Action> tasks;

private:
  TextFault outOfOrder(const std::string &found) const;

  const LinkMessages &messages;
  std::pair<int32_t, int32_t> link;
  std::string where;
  /// Receivers of the last task whose message has not been named yet.
  llvm::SmallVector<int32_t> left;
};

/// Takes `>2` off the end of `message`. The number is above every stage's if it
/// is too large, and -1 if it is none.
std::optional<int64_t> takeReceiver(llvm::StringRef &message);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_LINKMESSAGES_H
