//===- PipeSourceOps.td - Clusters and models --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPESOURCEOPS_TD
#define RONDO_DIALECT_PIPESOURCEOPS_TD

include "dialect/PipeAttrs.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Pipe_Names<string things>
    : TypedArrayAttrBase<FlatSymbolRefAttr, "names of " # things>;

def Pipe_ClusterOp : Pipe_Op<"cluster", [Symbol, SymbolTable, NoTerminator,
    SingleBlock, NoRegionArguments]> {
  let summary = "devices and the links between them";
  let description = [{
    The k-th `pipe.device` is rank k. `channels` says how messages are handed
    over (default: `rendezvous` without a limit on receive slots); `link` has the
    figures of every pair of ranks without a `pipe.link` of its own (default: no
    latency, no occupancy).

    A cluster has at least one device. Names of devices and NICs are unique. A
    directed pair has at most one link, and a device has none to itself. A device
    is on at most one `pipe.nic` and at most one `pipe.host_link`.

    ```mlir
    pipe.cluster @lab channels<rendezvous, receive_slots = 2> link<latency_ns = 500> {
      pipe.device @cpu0 <memory_bytes = 268435456, flops_per_us = 40000>
      pipe.device @cpu1
      pipe.link @cpu0 -> @cpu1 <latency_ns = 5000, bytes_per_us = 45000>
      pipe.nic @eth0 [@cpu0] <bytes_per_us = 12500>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      OptionalAttr<Pipe_ChannelsAttr>:$channels,
      OptionalAttr<Pipe_LinkAttr>:$link);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = Pipe_InOrder<"channels, link, {...}", [{
    $sym_name (`channels` `` $channels^)? (`link` `` $link^)?
    attr-dict-with-keyword $body
  }]>.format;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The devices by rank.
    ::llvm::SmallVector<DeviceOp, 0> getDevices();
    /// In the order in which they stand.
    ::llvm::SmallVector<NicOp, 0> getNics();
    ::llvm::SmallVector<HostLinkOp, 0> getHostLinks();
  }];
}

def Pipe_DeviceOp : Pipe_Op<"device", [Symbol, HasParent<"ClusterOp">]> {
  let summary = "one device of a cluster, a rank";
  let description = [{
    `memory_bytes` is a limit that schedules and programs keep at every instant
    (default: no limit). It includes weights, gradients, optimizer state, data and
    workspace; what they leave is for activations and messages. `flops_per_us` is
    used to estimate times that were not measured. A plan's share of
    `peak_flops_per_us` is its model FLOPs utilization.

    With a `group` the rank stands for several equal devices, and its figures are
    those of one. What they do inside the rank is a cost: plans state the times
    and bytes of its stages, and programs cannot be made of them.

    ```mlir
    pipe.device @cpu0 <memory_bytes = 268435456, flops_per_us = 40000>
    pipe.device @g0 <memory_bytes = 80000000000> group<tensor_parallel = 4, data_parallel = 2>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      OptionalAttr<Pipe_DeviceAttr>:$figures,
      OptionalAttr<Pipe_GroupAttr>:$group);
  let assemblyFormat = Pipe_InOrder<"group",
      "$sym_name `` custom<DeviceFigures>($figures) (`group` `` $group^)? attr-dict">.format;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// noMemoryCap if unlimited.
    int64_t getMemoryBytes();
    /// 0 if unknown.
    int64_t getFlopsPerUs();
    /// 0 if unknown.
    int64_t getPeakFlopsPerUs();
    /// Null if it has none.
    HostLinkAttr getHostLink();
    /// noMemoryCap if unlimited.
    int64_t getHostMemoryBytes();
  }];
}

def Pipe_LinkOp : Pipe_Op<"link", [HasParent<"ClusterOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "figures of one directed pair of devices";
  let description = [{
    Overrides the cluster's `link` for messages from the first device to the
    second. The other direction is another link.

    ```mlir
    pipe.link @cpu0 -> @cpu1 <latency_ns = 5000, bytes_per_us = 45000>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$from, FlatSymbolRefAttr:$to,
      Pipe_LinkAttr:$figures);
  let assemblyFormat =
      Pipe_InOrder<"", "$from `->` $to $figures attr-dict">.format;
  let hasVerifier = 1;
}

def Pipe_NicOp : Pipe_Op<"nic", [Symbol, HasParent<"ClusterOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a NIC that devices share";
  let description = [{
    Messages between the listed devices and those of other servers cross the
    NIC: one at a time in each direction, at `bytes_per_us` if that is less than
    the rate of their link. What passes between two devices of one NIC, or of
    NICs with the same `server`, crosses none. Of the messages that are ready
    for a NIC, the one that was ready first goes first.

    ```mlir
    pipe.nic @eth0 [@gpu0, @gpu1] <bytes_per_us = 12500>
    pipe.nic @ib0 [@gpu2] <bytes_per_us = 50000, server = 1>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      Pipe_Names<"devices">:$devices, Pipe_NicAttr:$figures);
  let assemblyFormat =
      Pipe_InOrder<"", "$sym_name $devices $figures attr-dict">.format;
  let hasVerifier = 1;
}

def Pipe_HostLinkOp : Pipe_Op<"host_link", [HasParent<"ClusterOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a link to the host that devices share";
  let description = [{
    Copies of the listed devices cross the link: one at a time in each direction
    (with `duplex = half` one in all), at `bytes_per_us` if that is less than the
    rate of the device's own `host_link`. The copy that was ready first goes
    first. The latency is that of the device's `host_link`.

    ```mlir
    pipe.host_link [@gpu0, @gpu1] <bytes_per_us = 24000>
    ```
  }];
  let arguments = (ins Pipe_Names<"devices">:$devices,
      Pipe_HostLinkAttr:$figures);
  let assemblyFormat =
      Pipe_InOrder<"", "$devices $figures attr-dict">.format;
  let hasVerifier = 1;
}

def Pipe_ModelOp : Pipe_Op<"model", [Symbol, SymbolTable, NoTerminator,
    SingleBlock, NoRegionArguments]> {
  let summary = "layers in the order in which data pass through them";
  let description = [{
    A model has an architecture, with its sizes in `gpt` or `llama` and an
    `embedding`, `block`s and a `head` as layers, or its layers are `synthetic`.
    All may have `custom` layers. In a GPT or a Llama the first layer reads
    tokens, and only the last one reads targets. In a model of `custom` layers
    alone, `samples` is the number of samples of a micro-batch, for which the
    layers state their sizes; with it, layers may read `streams`. Names of a
    block's tensors begin with the layer's name: layers `@model.layers.0` and so
    on give a Llama's tensors the names that Hugging Face's have.

    ```mlir
    pipe.model @gpt gpt<vocab = 256, sequence = 64, hidden = 128, heads = 4,
                        ffn = 512, batch = 4, tied = true> {
      pipe.layer @wte embedding
      pipe.layer @h0 block
      pipe.layer @lm_head head
    }
    pipe.model @llama llama<vocab = 256, sequence = 64, hidden = 128, heads = 4,
                            kv_heads = 2, ffn = 352, batch = 4> {
      pipe.layer @wte embedding
      pipe.layer @model.layers.0 block
      pipe.layer @lm_head head
    }
    pipe.model @digits samples(8) {
      pipe.layer @classify custom<body = "classify", loss = true,
          streams = [data<name = "images", dtype = fp32, sizes = [8, 8]>,
                     data<name = "labels", dtype = int32, below = 10>]>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      OptionalAttr<Pipe_ArchitectureAttrInterface>:$architecture,
      OptionalAttr<I64Attr>:$samples);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = Pipe_InOrder<"gpt or llama, samples, {...}", [{
    $sym_name `` custom<Architecture>($architecture)
    (`samples` `(` $samples^ `)`)? attr-dict-with-keyword $body
  }]>.format;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The layers in model order.
    ::llvm::SmallVector<LayerOp, 0> getLayers();
    /// The sizes of its architecture; none if its layers state their own.
    std::optional<ModelSizes> getSizes();
    /// Samples of a micro-batch as the model states them; 0 if it does not.
    int64_t getStatedSamples();
    /// The first layer that states its sizes for the model's batch alone, so
    /// that no micro-batch has another number of samples; null if there is none.
    /// Timed layers alone state what all samples take, however many these are.
    LayerOp findLayerOfOneSize();
    /// The first custom layer that does not state its sizes for this number of
    /// samples, among those that state several; null if there is none.
    LayerOp findLayerWithoutSize(int64_t samples);
  }];
}

def Pipe_LayerOp : Pipe_Op<"layer", [Symbol, HasParent<"ModelOp">]> {
  let summary = "one layer of a model";
  let description = [{
    `embedding` (tokens, in a GPT also positions), `block` (pre-norm attention and
    MLP) and `head` (final norm, linear, cross-entropy) take their sizes from the
    model, and are those of a GPT or of a Llama by the model's attribute.
    `synthetic` states its own times and sizes, `custom` its sizes and the name
    of a body in a library (see [add-a-body.md](../add-a-body.md)). `costs` are
    measured times; without them, times are estimated from the layer's
    floating-point operations.

    ```mlir
    pipe.layer @h0 block costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 900>
    pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2>
    pipe.layer @mlp custom<body = "mlp", parameters = [64, 256], weight_bytes = 131072, output_bytes = 8192>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      Pipe_LayerBodyAttrInterface:$body,
      OptionalAttr<Pipe_LayerCostsAttr>:$costs);
  let assemblyFormat = Pipe_InOrder<"costs", [{
    $sym_name custom<LayerBody>($body) (`costs` `` $costs^)? attr-dict
  }]>.format;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    LayerKind getKind() { return getBody().getKind(); }
    /// The part of the data set that the layer reads.
    LayerData getData() { return getBody().getDataRead(); }
    /// Whether it writes the loss.
    bool hasLoss() { return getBody().hasLoss(); }
    /// Attribute of a synthetic layer; null for other layers.
    SyntheticAttr getSyntheticAttr() {
      return ::llvm::dyn_cast<SyntheticAttr>(getBody());
    }
    /// Attribute of a custom layer; null for other layers.
    CustomAttr getCustomAttr() {
      return ::llvm::dyn_cast<CustomAttr>(getBody());
    }
  }];
}

#endif // RONDO_DIALECT_PIPESOURCEOPS_TD
