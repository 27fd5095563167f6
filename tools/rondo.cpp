//===- rondo.cpp - The driver for people ----------------------------------===//

#include "tools/driver/Commands.h"

int main(int argc, char **argv) { return rondo::driver::runDriver(argc, argv); }
