// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"
include "tools/driver/options/Searching.td"

defm family : Value<"family", "NAME",
  "only this family, such as 1f1b or kfkb:k=2; may be repeated; with auto, a "
  "table of what it chooses from (default: all)", [Family, Repeatable]>;
defm output : Value<"output", "FILE",
  "also draw time over memory: .svg, or .html, which needs no network">;
defm o : ShortOutput<"FILE">;
def all_ranks : Switch<"all-ranks",
  "show the peak memory of every rank, not only of the fullest">;
def queues : Switch<"queues",
  "also show with which queues of messages each schedule ends, and when: those "
  "of PyTorch, DeepSpeed and Megatron Core, of gloo, of NCCL">;
def json : Switch<"json",
  "print one rondo-schedule line per schedule and nothing else">;
def csv : Switch<"csv",
  "print one line of figures per schedule, with a header">;
