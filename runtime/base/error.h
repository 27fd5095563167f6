//===- error.h - Errors of a run --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_ERROR_H
#define RONDO_RUNTIME_BASE_ERROR_H

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace rondo::runtime {

/// Exit codes of an emitted program.
enum class Exit : int {
  Fine = 0,
  /// Starting the run again would fail again: bad data, a bad checkpoint,
  /// inconsistent tables, too little memory, or a failed verification.
  Failure = 1,
  Usage = 2,
  /// A signal ended the run; its checkpoint is written.
  Interrupted = 4,
  /// Another process, a link or a device failed; the run may be retried.
  RunFailure = 75,
  /// This machine has no device of the kind the program needs.
  NoDevice = 77,
};

/// A message is one sentence with numbers, lower case, without a final period.
class Error : public std::runtime_error {
public:
  explicit Error(const std::string &message, Exit code = Exit::Failure)
      : std::runtime_error(message), code(code) {}
  Exit code;
};

/// An error of this process alone. Others may not have it, so this one prints
/// it, whatever the code.
class OwnError : public Error {
public:
  using Error::Error;
};

/// Thrown if another process of the run has failed. That process has reported
/// the error; its code is this process's exit code too.
struct PeerFailed {
  Exit code;
};

/// Thrown in every waiting rank after a call of Transport::abort().
struct Aborted {};

/// The exit code of a process that this exception ends. Only Error and
/// PeerFailed ask for a retry: other exceptions do not come from peers, links
/// or devices.
inline Exit codeOf(const std::exception_ptr &exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error &error) {
    return error.code;
  } catch (const PeerFailed &failure) {
    return failure.code;
  } catch (...) {
    return Exit::Failure;
  }
}

/// The text of an exception, for messages.
inline std::string reasonOf(const std::exception &exception) {
  if (dynamic_cast<const std::bad_alloc *>(&exception))
    return "out of memory";
  return exception.what();
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_ERROR_H
