//===- OptionFault.h - Faults of a command line for people ------*- C++ -*-===//

#ifndef RONDO_TOOLS_DRIVER_OPTIONFAULT_H
#define RONDO_TOOLS_DRIVER_OPTIONFAULT_H

#include "tools/driver/Commands.h"

#include <string>

namespace rondo::driver {

/// What is wrong with options and their values, in one sentence about the first
/// fault; an empty string where nothing is. LLVM's parser would print its own
/// words.
std::string findArgumentFault(const Command &command,
                              llvm::ArrayRef<char *> arguments);

/// What LLVM's parser of command lines says of one for `command`, in our words:
/// one sentence about the first fault, which others may follow from.
std::string describeOptionFault(const Command &command, llvm::StringRef said);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_OPTIONFAULT_H
