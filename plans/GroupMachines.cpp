//===- GroupMachines.cpp - A cluster as machines of groups ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/GroupMachines.h"

#include "planning/groups/Domains.h"
#include "schedule/model/Problem.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace rondo::pipe {

namespace {

Fault faultOf(const std::string &message) {
  Fault fault;
  fault.kind = FaultKind::Text;
  fault.parts.push_back(message);
  return fault;
}

/// The least part of a NIC that a device has, in bytes per microsecond; 0 if
/// there are none.
int64_t leastPartOfNic(ClusterOp cluster) {
  int64_t least = 0;
  for (NicOp nic : cluster.getNics()) {
    const auto devices = static_cast<int64_t>(nic.getDevices().size());
    const int64_t part =
        nic.getFigures().getBytesPerUs() / std::max<int64_t>(1, devices);
    least = least == 0 ? part : std::min(least, part);
  }
  return least;
}

} // namespace

Result<groups::Machines> groupMachines(ClusterOp cluster,
                                       const groups::DeviceSheet &sheet) {
  const SmallVector<DeviceOp, 0> devices = cluster.getDevices();
  DenseMap<StringAttr, int32_t> rankOf;
  groups::Machines machines;
  machines.device = sheet;
  for (auto [rank, device] : llvm::enumerate(devices)) {
    DeviceOp any = device;
    rankOf[any.getSymNameAttr()] = static_cast<int32_t>(rank);
    const int64_t memory = any.getMemoryBytes();
    if (memory == noMemoryCap)
      continue;
    if (rank > 0 && memory != machines.device.memoryBytes)
      return faultOf("device " + any.getSymName().str() + " has " +
                     std::to_string(memory) + " bytes of memory, others " +
                     std::to_string(machines.device.memoryBytes) +
                     "; groups need equal devices");
    machines.device.memoryBytes = memory;
  }
  const auto usual =
      cluster.getLink() ? cluster.getLink()->getBytesPerUs() : int64_t(0);
  DenseMap<std::pair<int32_t, int32_t>, int64_t> rates;
  for (LinkOp link : cluster.getBody().getOps<LinkOp>())
    rates[{rankOf.lookup(link.getFromAttr().getAttr()),
           rankOf.lookup(link.getToAttr().getAttr())}] =
        link.getFigures().getBytesPerUs();
  const groups::Domains domains = groups::domainsOf(
      static_cast<int32_t>(devices.size()), [&](int32_t from, int32_t to) {
        const auto found = rates.find({from, to});
        return found == rates.end() ? usual : found->second;
      });
  if (!domains.fault.empty())
    return faultOf(domains.fault);
  machines.domain = domains.size;
  machines.domains = domains.count;
  if (domains.size > 1)
    machines.device.linkBytesPerUs = domains.insideBytesPerUs;
  machines.device.networkBytesPerUs = domains.acrossBytesPerUs;
  if (const int64_t part = leastPartOfNic(cluster); part > 0)
    machines.device.networkBytesPerUs =
        std::min(machines.device.networkBytesPerUs, part);
  if (domains.count > 1 && machines.device.networkBytesPerUs == 0)
    return faultOf("links between " + std::to_string(domains.count) +
                   " domains state no bytes_per_us");
  return machines;
}

} // namespace rondo::pipe
