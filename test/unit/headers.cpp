// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Its precompiled headers are what the tests share:
// cmake/PrecompiledHeaders.cmake.
int main() {}
