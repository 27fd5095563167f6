//===- copy_streams.cpp - Copies to the host and back, in streams ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/cuda/copy_streams.h"

#include "runtime/base/error.h"
#include "runtime/device/cuda/graph.h"
#include "runtime/device/host_link.h"
#include "runtime/execution/cuda/copy_turns.h"

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

CopyStreams::CopyStreams(const RankContext &context, const Messages &messages)
    : context(context), device(static_cast<CudaDevice &>(context.device())),
      list((device.gpu().select(), context), messages),
      laneOf(list.copies().size()), ends(list.nodes().size()),
      recordedIn(list.nodes().size()), stamps(list.copies().size()) {
  for (const std::vector<int32_t> &copies : list.lanes()) {
    lanes.push_back(std::make_unique<Lane>());
    for (int32_t copy : copies)
      laneOf[copy] = lanes.back().get();
  }
  for (const CopyList::Node &node : list.nodes())
    for (int32_t awaited : node.awaited)
      if (!ends[awaited])
        ends[awaited] = std::make_unique<Event>();
}

CopyStreams::~CopyStreams() { cudaSetDevice(device.gpu().ordinal); }

//===----------------------------------------------------------------------===//
// An iteration.
//===----------------------------------------------------------------------===//

void CopyStreams::begin(bool traces) {
  ++iteration;
  isTraced = traces;
  begun.record(device.compute().handle);
  for (const std::unique_ptr<Lane> &lane : lanes) {
    lane->enqueued = 0;
    begun.holdBack(lane->stream.get());
  }
}

void CopyStreams::holdBack(cudaStream_t stream, int32_t node) {
  for (int32_t awaited : list.nodes()[node].awaited) {
    // An event without a point in this iteration would hold back nothing.
    if (recordedIn[awaited] != iteration)
      throw Error("the program of rank " + std::to_string(context.rank) +
                  " runs " + list.nameOf(node) + ", which awaits " +
                  list.nameOf(awaited) + ", before it");
    ends[awaited]->holdBack(stream);
  }
}

void CopyStreams::record(int32_t node, cudaStream_t stream) {
  if (!ends[node])
    return;
  ends[node]->record(stream);
  recordedIn[node] = iteration;
}

bool CopyStreams::await(ActionKind kind, int64_t replica, int64_t microbatch) {
  const int32_t node = list.findNode(kind, replica, microbatch);
  if (node < 0 || list.nodes()[node].awaited.empty())
    return false;
  holdBack(device.compute().handle, node);
  return true;
}

void CopyStreams::ended(ActionKind kind, int64_t replica, int64_t microbatch) {
  if (const int32_t node = list.findNode(kind, replica, microbatch); node >= 0)
    record(node, device.compute().handle);
}

void CopyStreams::reach(ActionKind kind, int64_t replica, int64_t microbatch) {
  const int32_t number = list.findCopy(kind, replica, microbatch);
  const CopyList::Copy &copy = list.copies()[number];
  Lane &lane = *laneOf[number];
  const cudaStream_t stream = lane.stream.get();
  holdBack(stream, copy.node);
  if (isTraced)
    stamps[number].start = device.stampOn(stream);
  enqueueCopy(copy, context.state.isPoisoned(), stream);
  if (isTraced)
    stamps[number].end = device.stampOn(stream);
  record(copy.node, stream);
  ++lane.enqueued;
}

void rondo::runtime::cuda::enqueueCopy(const CopyList::Copy &copy,
                                       bool isPoisoned, cudaStream_t stream) {
  for (int part = 0; part < 2; ++part) {
    const int64_t bytes = copy.bytes[part];
    if (bytes == 0)
      continue;
    RONDO_CUDA(cudaMemcpyAsync(
        copy.to(part), copy.from(part), static_cast<size_t>(bytes),
        copy.isSave ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, stream));
    // A task that reads a slot after its SAVE gets NaNs. A kernel can write to
    // the host's memory in a recorded iteration, too.
    if (isPoisoned)
      setMemory({stream, nullptr}, copy.from(part), 0xff, bytes);
  }
}

void CopyStreams::finish(std::vector<TraceEvent> &trace, int64_t number) {
  for (size_t l = 0; l < lanes.size(); ++l) {
    Lane &lane = *lanes[l];
    if (lane.enqueued != list.lanes()[l].size())
      throw Error("the program of rank " + std::to_string(context.rank) +
                  " runs " + std::to_string(lane.enqueued) + " of the " +
                  std::to_string(list.lanes()[l].size()) + " copies of a lane");
    lane.tail.record(lane.stream.get());
    lane.tail.holdBack(device.compute().handle);
  }
  for (size_t c = 0; isTraced && c < stamps.size(); ++c)
    trace.push_back(
        list.eventOf(list.copies()[c], number, stamps[c].start, stamps[c].end));
}

static std::unique_ptr<CopyRunner>
make(const RankContext &context, const Messages &messages, HostLinks *links) {
  if (ordersCopies(context.program))
    return std::make_unique<CopyTurns>(context, messages, links);
  return std::make_unique<CopyStreams>(context, messages);
}

/// Links of GPUs cannot be imposed.
static std::shared_ptr<HostLinks> connectLinks(const Executable &executable,
                                               const World &world,
                                               bool areImposed) {
  if (areImposed)
    throw Error("'" + std::string(executable.name) +
                    "' copies to the host over the links of its GPUs, which "
                    "cannot be imposed: leave --impose-host-links out, or "
                    "compile it with --target cpu",
                Exit::Usage);
  return connectHostLinks(executable, world, areImposed);
}

const CopySupport rondo::runtime::activationCopiesOfGpus = {make, connectLinks,
                                                            writeHostLink};
