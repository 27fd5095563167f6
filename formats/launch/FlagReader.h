//===- FlagReader.h - Values of a command's flags ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_LAUNCH_FLAGREADER_H
#define RONDO_FORMATS_LAUNCH_FLAGREADER_H

#include "formats/launch/Command.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

namespace rondo::launch {

/// Reads flags by name. If a flag appears several times its last value counts,
/// as with Python's argparse. The first fault stays.
class FlagReader {
public:
  explicit FlagReader(const Command &command) : command(command) {}

  /// The flag; null if it does not appear. It counts as read.
  const Flag *find(llvm::StringRef name);
  /// A flag without a value.
  bool isSet(llvm::StringRef name);
  /// Whole numbers from `least` up to maxNumber; false if the flag does not
  /// appear.
  bool read(llvm::StringRef name, int64_t &value, int64_t least = 1);
  /// The position of the value in `choices`; `ifAbsent` without the flag. An
  /// empty choice stands for its absence.
  size_t choose(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> choices,
                size_t ifAbsent = 0);
  /// The one value of the flag; empty without the flag.
  std::string word(llvm::StringRef name);
  /// Decimal numbers that are not negative.
  bool read(llvm::StringRef name, double &value);

  /// The number of devices: `given`, or, if that is 0, the command's own
  /// (devicesOf()). 0 after a fault: the command does not state it.
  int64_t readDevices(int64_t given);

  /// `line 3: --name is 'value'; expected a whole number from 1 on`.
  void failAt(const Flag &flag, const llvm::Twine &expected);
  void fail(const llvm::Twine &message);
  /// `line 3: `, or nothing if the flag has no line.
  static std::string placeOf(const Flag &flag);
  bool hasFailed() const { return !message.empty(); }
  const std::string &fault() const { return message; }

  /// Flags that nothing asked for, each name once, in order.
  std::vector<const Flag *> rest() const;
  /// The name that was asked for and differs from the flag's in one or two
  /// letters; empty: none.
  std::string intended(const Flag &flag) const;

private:
  const Command &command;
  llvm::StringSet<> asked;
  std::string message;
};

} // namespace rondo::launch

#endif // RONDO_FORMATS_LAUNCH_FLAGREADER_H
