//===- rondo.cpp - The driver for users -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Commands.h"

int main(int argc, char **argv) { return rondo::driver::runDriver(argc, argv); }
