//===- tuner.h - Choices that a run measures --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BACKEND_TUNER_H
#define RONDO_RUNTIME_BACKEND_TUNER_H

#include <functional>
#include <string>

namespace rondo::runtime {

/// What a backend may choose by measuring, as text that carries it to the next
/// run.
class ChoiceTuner {
public:
  virtual ~ChoiceTuner() = default;
  /// Everything chosen so far.
  virtual std::string text() const = 0;
  /// Adds what another process has chosen and this one has not. Throws Error if
  /// it is of another kind of device.
  virtual void add(const std::string &text) = 0;
};

/// How a run starts to choose.
struct TuningParams {
  /// What errors call the text: "--tune 'FILE'".
  std::string name;
  /// The choices of earlier runs; empty: none.
  std::string text;
  /// Whether to choose what the text lacks.
  bool mayMeasure = true;
  /// Gets the text after each new choice; may be empty.
  std::function<void(const std::string &text)> changed;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BACKEND_TUNER_H
