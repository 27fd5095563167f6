// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm output : Value<"output", "FILE",
  "where to write the pipe.cluster (default: standard output)">;
defm o : ShortOutput<"FILE">;
defm name : Value<"name", "NAME",
  "the cluster's name (default: what the file says, else cluster)">;
defm preset : Choice<"preset", "8xh100,8xh200,8xb200,72xgb200,8xb300,72xgb300,8xa100,pcie-a6000",
  "nodes by their data sheets, instead of a file">;
defm device : Choice<"device", "h100,h200,b200,gb200,b300,gb300,a100,a6000,a40,l40s,rtx4090",
  "the GPUs of a topology: memory, speed, NVLinks and PCIe by their data sheet "
  "(default: no limit of memory, unknown speed, NVLink 2 to 4 and PCIe 4.0)">;
defm nodes : Value<"nodes", "N",
  "equal nodes, of a preset or a topology (default 1)", [Positive]>;
def host_links : Switch<"host-links",
  "devices have a host_link by their data sheet, for stages with offload; those "
  "behind one PCIe switch of a topology (PIX, PXB) share a pipe.host_link">;
defm efficiency : Value<"efficiency", "SHARE",
  "the share of a data sheet's peak that layers achieve, from 0.001 to 1 "
  "(default 0.4)">;
defm rates : Value<"rates", "KIND=N,...",
  "bytes per microsecond of a topology's kinds of paths, such as "
  "NV=25000,PIX=31508; those of NV are for one link">;
defm latencies : Value<"latencies", "KIND=N,...",
  "nanoseconds of a topology's kinds of paths">;
defm network : Value<"network", "N",
  "bytes per microsecond between devices of two nodes (default: the preset's)",
  [Positive]>;
defm NICs : Value<"nics", "N",
  "NICs of a node, each of an equal part of its devices (default: the preset's); 0: every link is independent",
  [Number]>;
defm network_latency : Value<"network-latency", "N",
  "nanoseconds between devices of two nodes (default 20000)", [Number]>;
