//===- ErrorThrownBy.h - The errors of calls in tests -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_ERRORTHROWNBY_H
#define RONDO_TEST_UNIT_ERRORTHROWNBY_H

#include "runtime/base/error.h"

#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace rondo::runtime {

/// The message of the Error that `call` throws, which must have `code` if one
/// is given; "" if it throws none.
template <typename Call>
std::string errorThrownBy(const Call &call, std::optional<Exit> code = {}) {
  try {
    call();
  } catch (const Error &error) {
    if (code) {
      EXPECT_EQ(error.code, *code) << error.what();
    }
    return error.what();
  }
  return "";
}

} // namespace rondo::runtime

#endif // RONDO_TEST_UNIT_ERRORTHROWNBY_H
