// RUN: tool %s | FileCheck %s --check-prefix=NO
// NO-NOT: one
