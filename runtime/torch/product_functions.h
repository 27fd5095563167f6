//===- product_functions.h - Products that graphs call ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TORCH_PRODUCT_FUNCTIONS_H
#define RONDO_RUNTIME_TORCH_PRODUCT_FUNCTIONS_H

/// Defines the functions of matrix products that compiled graphs call for
/// DEVICE, `cpu` or `cuda`, in terms of a function of the including file:
/// product(out, addend, a, b, beta, alpha) sets out = alpha a b + beta addend
/// (null: none) and returns the status of an operation. All have two
/// dimensions, or three with as many samples.
#define RONDO_PRODUCT_FUNCTIONS(DEVICE)                                        \
  extern "C" {                                                                 \
  int32_t aoti_torch_##DEVICE##_mm_out(Tensor *out, Tensor *a, Tensor *b) {    \
    return product(out, nullptr, a, b, 0, 1);                                  \
  }                                                                            \
  int32_t aoti_torch_##DEVICE##_bmm_out(Tensor *out, Tensor *a, Tensor *b) {   \
    return product(out, nullptr, a, b, 0, 1);                                  \
  }                                                                            \
  int32_t aoti_torch_##DEVICE##_addmm_out(Tensor *out, Tensor *addend,         \
                                          Tensor *a, Tensor *b, double beta,   \
                                          double alpha) {                      \
    return product(out, addend, a, b, beta, alpha);                            \
  }                                                                            \
  int32_t aoti_torch_##DEVICE##_baddbmm_out(Tensor *out, Tensor *addend,       \
                                            Tensor *a, Tensor *b, double beta, \
                                            double alpha) {                    \
    return product(out, addend, a, b, beta, alpha);                            \
  }                                                                            \
  }

#endif // RONDO_RUNTIME_TORCH_PRODUCT_FUNCTIONS_H
