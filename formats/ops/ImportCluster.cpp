//===- ImportCluster.cpp - Devices and links to the language --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ops/Imports.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace rondo;

OwningOpRef<ModuleOp>
rondo::formats::importCluster(const json::Cluster &cluster,
                              MLIRContext *context) {
  context->loadDialect<pipe::PipeDialect>();
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto figures = [&](const rondo::Link &link) {
    return pipe::LinkAttr::get(context, link.latencyNs, link.bytesPerUs);
  };
  const bool hasLink =
      cluster.link.latencyNs != 0 || cluster.link.bytesPerUs != 0;
  auto op = pipe::ClusterOp::create(
      builder, loc, builder.getStringAttr(cluster.name), pipe::ChannelsAttr(),
      hasLink ? figures(cluster.link) : pipe::LinkAttr());
  builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());
  auto isDefault = [](const json::ClusterDevice &device) {
    return device.memoryBytes == noMemoryCap && device.flopsPerUs == 0 &&
           device.peakFlopsPerUs == 0 && !device.hostLink;
  };
  auto hostLinkOf = [&](const json::ClusterDevice &device) {
    return device.hostLink
               ? pipe::HostLinkAttr::get(context, device.hostLink->latencyNs,
                                         device.hostLink->bytesPerUs,
                                         device.hostLink->isHalf
                                             ? pipe::Duplex::Half
                                             : pipe::Duplex::Full)
               : pipe::HostLinkAttr();
  };
  auto limit = [](int64_t bytes) {
    return bytes == noMemoryCap ? std::nullopt : std::optional(bytes);
  };
  for (const json::ClusterDevice &device : cluster.devices)
    pipe::DeviceOp::create(
        builder, loc, builder.getStringAttr(device.name),
        isDefault(device)
            ? pipe::DeviceAttr()
            : pipe::DeviceAttr::get(context, limit(device.memoryBytes),
                                    device.flopsPerUs, device.peakFlopsPerUs,
                                    hostLinkOf(device),
                                    /*host_memory_bytes=*/std::nullopt),
        pipe::GroupAttr());
  auto nameOf = [&](int32_t rank) {
    return FlatSymbolRefAttr::get(context, cluster.devices[rank].name);
  };
  for (const auto &[pair, link] : cluster.links)
    pipe::LinkOp::create(builder, loc, nameOf(pair.first), nameOf(pair.second),
                         figures(link));
  for (const json::ClusterNic &nic : cluster.nics) {
    SmallVector<Attribute> devices;
    for (int32_t rank : nic.devices)
      devices.push_back(nameOf(rank));
    pipe::NicOp::create(
        builder, loc, builder.getStringAttr(nic.name),
        builder.getArrayAttr(devices),
        pipe::NicAttr::get(context, nic.bytesPerUs,
                           nic.server < 0
                               ? std::nullopt
                               : std::optional<int64_t>(nic.server)));
  }
  for (const json::ClusterHostLink &link : cluster.hostLinks) {
    SmallVector<Attribute> devices;
    for (int32_t rank : link.devices)
      devices.push_back(nameOf(rank));
    const std::optional<HostLink> &own =
        cluster.devices[link.devices.front()].hostLink;
    pipe::HostLinkOp::create(builder, loc, builder.getArrayAttr(devices),
                             pipe::HostLinkAttr::get(context, /*latencyNs=*/0,
                                                     own ? own->bytesPerUs : 0,
                                                     pipe::Duplex::Full));
  }
  if (failed(mlir::verify(*module)))
    return nullptr;
  return module;
}
