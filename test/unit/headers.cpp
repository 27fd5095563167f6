// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Its precompiled headers are shared by the tests:
// cmake/CompileTime.cmake.
int main() {}
