//===- gemm_choices.h - Measured algorithms of products ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bits of a product depend on its algorithm, so all ranks of a process
// share their choices, and a file carries them to the next run.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_GEMM_CHOICES_H
#define RONDO_RUNTIME_BODIES_CUDA_GEMM_CHOICES_H

#include "runtime/base/error.h"

#include <array>
#include <cstdint>
#include <cublasLt.h>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace rondo::runtime::cuda {

/// Everything that the library's answer depends on: extents, strides, types,
/// the epilogue and the size of the workspace.
using GemmKey = std::array<int64_t, 12>;

struct GemmChoice {
  cublasLtMatmulAlgo_t algorithm;
  /// Time of the product, us; 0: not measured.
  double us = 0;
};

/// The choices of all products on GPUs of one kind. Functions may be called
/// from several threads.
///
/// As text, a line is a product, with tabs between the GPU's name, the
/// library's version, the numbers of the key, the bytes of the algorithm in
/// hexadecimal, and its time in us. The library documents its algorithms as
/// bytes that may be stored for the same version of it.
class GemmChoices {
public:
  struct Options {
    /// Name of the text in errors: "--tune 'FILE'".
    std::string name;
    /// Whether products that the text lacks are measured.
    bool mayMeasure = true;
    /// Gets the whole text after each product that was measured; may be empty.
    std::function<void(const std::string &text)> changed;
  };

  /// `text` has the choices of earlier runs, or nothing. Throws Error if it has
  /// a line of another form.
  GemmChoices(const std::string &text, Options options);

  /// Names the GPU and the library that the choices are for. Throws Error if
  /// they are for others.
  void start(const std::string &device, size_t version);

  /// The choice for a product. A choice of the text must be usable, or this
  /// throws Error. If there is none, `measure` makes it; without a choice of
  /// its own, or without leave to measure, it is `first` from then on, which
  /// the text does not get. Only one product is measured at a time, and
  /// `measure` must not wait for other ranks.
  cublasLtMatmulAlgo_t
  choose(const GemmKey &key, const cublasLtMatmulAlgo_t &first,
         const std::function<bool(const cublasLtMatmulAlgo_t &)> &isUsable,
         const std::function<std::optional<GemmChoice>()> &measure);

  /// Choices of the text and measured ones, in the order of their keys.
  std::string text() const;
  /// Adds what another process has measured and this one lacks.
  void add(const std::string &text);
  /// From here on nothing is measured: measuring waits for the whole GPU.
  void stopMeasuring();

private:
  void read(const std::string &text);
  std::string textOfAll() const;

  mutable std::mutex mutex;
  Options options;
  /// Empty: not known yet.
  std::string device;
  size_t version = 0;
  std::map<GemmKey, GemmChoice> choices;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_GEMM_CHOICES_H
