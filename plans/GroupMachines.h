//===- GroupMachines.h - A cluster as machines of groups --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_GROUPMACHINES_H
#define RONDO_PLANS_GROUPMACHINES_H

#include "dialect/Pipe.h"
#include "planning/groups/Constants.h"
#include "schedule/model/Fault.h"

namespace rondo::pipe {

/// The machines of a cluster of devices of this sheet: its links say which
/// devices are in one domain and what is between domains, of which NICs give
/// each device its part. Memory is the cluster's, if it states one. The fault
/// is one sentence, with the numbers.
Result<groups::Machines> groupMachines(ClusterOp cluster,
                                       const groups::DeviceSheet &sheet);

} // namespace rondo::pipe

#endif // RONDO_PLANS_GROUPMACHINES_H
