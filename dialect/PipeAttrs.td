//===- PipeAttrs.td - Figures of the pipe dialect ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole numbers in nanoseconds and bytes. The ops that carry an attribute check
// signs and ranges, so that errors have a place.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_PIPEATTRS_TD
#define RONDO_DIALECT_PIPEATTRS_TD

include "dialect/PipeModelInterfaces.td"
include "dialect/PipeParameters.td"

def Pipe_ObjectiveParameter : Pipe_WordParameter<Pipe_Objective> {
  let defaultValue = "::rondo::pipe::Objective::Makespan";
}

def Pipe_OrdersParameter : Pipe_WordParameter<Pipe_Orders> {
  let defaultValue = "::rondo::pipe::Orders::WPerm";
}

def Pipe_DuplexParameter : Pipe_WordParameter<Pipe_Duplex> {
  let defaultValue = "::rondo::pipe::Duplex::Full";
}

def Pipe_LayerDataParameter : Pipe_WordParameter<Pipe_LayerData> {
  let defaultValue = "::rondo::pipe::LayerData::None";
}

def Pipe_ChannelsAttr : AttrDef<PipeDialect, "Channels"> {
  let mnemonic = "channels";
  let summary = "how messages are handed over";
  let description = [{
    Each directed pair of ranks is one in-order queue. `eager`: a send ends as
    soon as one of the receiver's slots is free. `rendezvous`: a send ends when
    its receive has been posted and the data have been transferred.
    `receive_slots` limits the receives that a channel may have posted and not
    yet consumed; 0: as many as fit in memory.
  }];
  let parameters = (ins EnumParameter<Pipe_Protocol>:$protocol,
      Pipe_OrElse<"0">:$receive_slots);
  let assemblyFormat =
      "`<` custom<Word>($protocol) (`,` `receive_slots` `=` $receive_slots^)? `>`";
}

def Pipe_LinkAttr : Pipe_StructAttr<"Link", "link_figures"> {
  let summary = "latency and bandwidth of a link";
  let description = [{
    A message occupies its link for ceil(1000 * bytes / bytes_per_us) ns and
    arrives `latency_ns` after that. `bytes_per_us` 0 or absent: no occupancy.
  }];
  let parameters = (ins Pipe_OrElse<"0">:$latency_ns,
      Pipe_OrElse<"0">:$bytes_per_us);
}

def Pipe_NicAttr : Pipe_StructAttr<"Nic", "nic_figures"> {
  let summary = "bandwidth of a NIC";
  let description = [{
    `bytes_per_us` is that of each direction, 1 or more. NICs with the same
    number as `server` are in one; without it, a NIC's devices are all that its
    server has.
  }];
  let parameters = (ins Pipe_Number:$bytes_per_us, Pipe_MaybeNumber:$server);
}

def Pipe_HostLinkAttr : Pipe_StructAttr<"HostLink", "host_link_figures"> {
  let summary = "figures of a link between devices and their host";
  let description = [{
    A copy takes latency_ns + ceil(1000 * bytes / bytes_per_us) ns.
    `bytes_per_us` 0 or absent: only the latency. `duplex`: with `full`, one copy
    in each direction runs at a time; with `half`, one copy in all.
  }];
  let parameters = (ins Pipe_OrElse<"0">:$latency_ns,
      Pipe_OrElse<"0">:$bytes_per_us, Pipe_DuplexParameter:$duplex);
}

def Pipe_HostLinkParameter : OptionalParameter<"HostLinkAttr"> {
  let parser = "parseFigures<HostLinkAttr>($_parser)";
  let printer = "$_self.print($_printer)";
}

def Pipe_DeviceAttr : Pipe_StructAttr<"Device", "device_figures"> {
  let summary = "memory and speed of a device";
  let description = [{
    `memory_bytes` defaults to no limit. `flops_per_us` 0 or absent: unknown.
    `peak_flops_per_us` is what the data sheet says, of which layers achieve a
    share; 0 or absent: unknown.

    `host_link` has the figures of copies between the device and its host, which
    stages with `offload` need. `host_memory_bytes` limits what the rank's copies
    leave on the host at any instant (default: no limit).

    ```mlir
    <memory_bytes = 80000000000, host_link = <latency_ns = 10000, bytes_per_us = 24000>>
    ```
  }];
  let parameters = (ins Pipe_MaybeNumber:$memory_bytes,
      Pipe_OrElse<"0">:$flops_per_us, Pipe_OrElse<"0">:$peak_flops_per_us,
      Pipe_HostLinkParameter:$host_link, Pipe_MaybeNumber:$host_memory_bytes);
}

def Pipe_GroupAttr : Pipe_StructAttr<"Group", "device_group"> {
  let summary = "the devices that a rank stands for";
  let description = [{
    Numbers of devices that share each layer (`tensor_parallel`), the tokens of a
    sample (`context_parallel`) and the samples (`data_parallel`); the rank has
    their product. `expert_parallel` of these share the experts of a layer. Each
    is 1 or more, and 1 by default.
  }];
  let parameters = (ins Pipe_OrElse<"1">:$tensor_parallel,
      Pipe_OrElse<"1">:$context_parallel, Pipe_OrElse<"1">:$expert_parallel,
      Pipe_OrElse<"1">:$data_parallel);
  let extraClassDeclaration = fieldsDeclaration # [{
    int64_t getNumDevices() const {
      return getTensorParallel() * getContextParallel() * getDataParallel();
    }
  }];
}

def Pipe_LayerCostsAttr : Pipe_StructAttr<"LayerCosts", "layer_costs"> {
  let summary = "measured times of a layer";
  let description = [{
    For tasks of the numbers of samples in `samples`, ascending: each time is a
    list by these, or a number if there is one. Without `samples`, the times are
    those of a micro-batch as the model states it.

    ```mlir
    costs<forward_ns = 400, input_grad_ns = 500, weight_grad_ns = 300>
    costs<samples = [1, 4], forward_ns = [400, 1000], input_grad_ns = [500, 1000], weight_grad_ns = [300, 900]>
    ```
  }];
  let parameters = (ins Pipe_SamplesParameter:$samples,
      Pipe_TimesParameter<"forwards_ns">:$forward_ns,
      Pipe_TimesParameter<"input_grads_ns">:$input_grad_ns,
      Pipe_TimesParameter<"weight_grads_ns">:$weight_grad_ns);
  let extraClassDeclaration = fieldsDeclaration # [{
    /// [task: F, I, W][size]: the times, in ns.
    std::array<::llvm::ArrayRef<int64_t>, 3> getTimes() const {
      return {getForwardNs(), getInputGradNs(), getWeightGradNs()};
    }
    /// Whether they hold only for a micro-batch as the model states it.
    bool areOfModelSize() const { return getSamples().empty(); }
  }];
}

def Pipe_RoleAttr : AttrDef<PipeDialect, "Role",
    [DeclareAttrInterfaceMethods<Pipe_LayerBodyAttrInterface>]> {
  let mnemonic = "role";
  let summary = "the role of a layer in its model's architecture";
  let description = [{
    `embedding`, `block` or `head`.
  }];
  let parameters = (ins EnumParameter<Pipe_LayerKind>:$role);
  let assemblyFormat = "`<` custom<Word>($role) `>`";
  let genVerifyDecl = 1;
}

def Pipe_SyntheticAttr : Pipe_StructAttr<"Synthetic", "synthetic",
    [DeclareAttrInterfaceMethods<Pipe_LayerBodyAttrInterface>]> {
  let summary = "times and sizes of a layer that computes nothing";
  let description = [{
    Bytes are for one micro-batch, except `weight_bytes`. `activation_bytes` are
    held from the start of F: `input_grad_frees_bytes` of them until I ends, the
    rest until W ends. `input_grad_keeps_bytes` are held from the start of I
    until W ends. If micro-batches differ, each figure but `weight_bytes` may be
    a list with one for each.

    ```mlir
    synthetic<forward_ns = [400, 100, 100], input_grad_ns = 500, weight_grad_ns = 300>
    ```
  }];
  let parameters = (ins Pipe_ByMicrobatch:$forward_ns,
      Pipe_ByMicrobatch:$input_grad_ns, Pipe_ByMicrobatch:$weight_grad_ns,
      Pipe_ByMicrobatchOrZero:$activation_bytes,
      Pipe_ByMicrobatchOrZero:$input_grad_frees_bytes,
      Pipe_ByMicrobatchOrZero:$output_bytes, Pipe_OrElse<"0">:$weight_bytes,
      Pipe_ByMicrobatchOrZero:$input_grad_keeps_bytes);
  let extraClassDeclaration = fieldsDeclaration # [{
    /// `costs[i]` are those of micro-batch i; all are the same if there is one.
    /// A figure that does not differ is written as one number.
    static SyntheticAttr get(::mlir::MLIRContext *context,
                             ::llvm::ArrayRef<SyntheticCosts> costs,
                             int64_t weightBytes);
    /// The figures that may be lists, with their keys.
    std::array<std::pair<const char *, ::llvm::ArrayRef<int64_t>>, 7>
    getLists() const;
    /// All figures for one micro-batch.
    SyntheticCosts of(int64_t microbatch) const;
  }];
}

def Pipe_StreamAttr : Pipe_StructAttr<"Stream", "data"> {
  let summary = "a part of each sample that a layer reads from the data";
  let description = [{
    The files of `--data` have a tensor of this name, one row of `sizes` for
    each sample; without `sizes` a row is one number. Numbers of `int32` and
    `uint8` are from 0 to `below` - 1, or `ignored`; without `below` any are
    allowed. Programs that generate their data draw them from these.

    ```mlir
    data<name = "images", dtype = fp32, sizes = [3, 32, 32]>
    data<name = "labels", dtype = int32, sizes = [16], below = 100, ignored = -100>
    ```
  }];
  let parameters = (ins Pipe_Text:$name, Pipe_WordParameter<Pipe_StreamType>:$dtype,
      Pipe_NumbersParameter:$sizes, Pipe_OrElse<"0">:$below,
      Pipe_MaybeNumber:$ignored);
}

def Pipe_SavedPartAttr : Pipe_StructAttr<"SavedPart", "part"> {
  let summary = "a named part of what F of a custom layer saves";
  let description = [{
    The body gets an address for each part. `bytes` is a number, or one for each
    of the layer's `samples`. A part is kept until the last task that reads it
    ends: with `read_by = input_grad` that is I, otherwise W. I neither reads nor
    writes a part with `read_by = weight_grad`. Names begin with a letter or `_`
    and have letters, digits, `_`, `.`, `-` and `$`.

    ```mlir
    part<name = "attn.qkv", bytes = 6144>
    part<name = "statistics", bytes = [64, 128], read_by = input_grad>
    ```
  }];
  let parameters = (ins Pipe_Text:$name, Pipe_Sizes:$bytes,
      Pipe_WordOrElse<Pipe_ReadBy, "::rondo::pipe::ReadBy::Both">:$read_by);
}

def Pipe_CustomAttr : Pipe_StructAttr<"Custom", "custom",
    [DeclareAttrInterfaceMethods<Pipe_LayerBodyAttrInterface>]> {
  let summary = "sizes of a layer whose body is in a library";
  let description = [{
    `body` names the body, an object of a library that `rondo compile` links.
    `parameters` are whole numbers that only the body interprets. Bytes are for
    one micro-batch, except those of the weights, which are fp32 and do not
    include copies in another type; gradients of trained ones are as large. When
    the program starts it compares all of them with the sizes that the body
    returns.
    `kept_for_weight_grad_bytes` are held from the start of I until W ends, and
    `backward_workspace_bytes` is the workspace of a body that computes I and W
    in one function. The last `output_without_grad_bytes` of the output, such as
    a mask, have no gradient.

    With `data = tokens` the layer reads the tokens of the data set, as an
    embedding does; with `data = targets` the targets, as a head does. In a
    model without sizes it reads the parts of each sample in `streams`.
    `loss = true`: the layer writes the loss. `forward_flops` and the like are
    used to estimate times that were not measured.

    Without `samples`, these sizes are for a micro-batch as the model states it.
    With it, they are for micro-batches of these numbers of samples, ascending:
    each is a list by these, or a number that holds for all. Plans then have
    micro-batches of any of these numbers. With `by_sample = true` replicas may
    also divide a micro-batch, into shares of these numbers: what a sample gives
    depends on no other sample, and inputs and output have the samples one after
    another.

    ```mlir
    custom<body = "mlp", samples = [1, 2, 4], by_sample = true, weight_bytes = 3200,
           saved_for_weight_grad_bytes = [1280, 2560, 5120], output_bytes = [512, 1024, 2048]>
    ```

    `saved` lists named parts of what F saves, in place of
    `saved_for_input_grad_bytes` and `saved_for_weight_grad_bytes`. A plan may let
    each of them leave its device.

    With `documents = true` its body takes rows of documents, of plans that list
    them: all sizes but those of the weights are then in proportion to tokens.

    `tensors` is how many the weights are divided into; 16 or fewer need not be
    stated. The last `frozen_weight_bytes` of the weights are not trained: they
    have neither gradients nor moments.
  }];
  let parameters = (ins Pipe_Text:$body,
      Pipe_NumbersParameter:$parameters,
      Pipe_SamplesParameter:$samples, Pipe_BoolParameter:$by_sample,
      Pipe_OrElse<"0">:$weight_bytes,
      Pipe_SizesParameter:$saved_for_input_grad_bytes,
      Pipe_SizesParameter:$saved_for_weight_grad_bytes,
      Pipe_SizesParameter:$kept_for_weight_grad_bytes,
      Pipe_SizesParameter:$output_bytes, Pipe_SizesParameter:$workspace_bytes,
      Pipe_SizesParameter:$backward_workspace_bytes,
      Pipe_SizesParameter:$output_without_grad_bytes,
      Pipe_LayerDataParameter:$data, Pipe_BoolParameter:$loss,
      Pipe_SizesParameter:$forward_flops, Pipe_SizesParameter:$input_grad_flops,
      Pipe_SizesParameter:$weight_grad_flops,
      Pipe_StreamsParameter:$streams, Pipe_OrElse<"0">:$tensors,
      Pipe_OrElse<"0">:$frozen_weight_bytes, Pipe_BoolParameter:$documents,
      Pipe_PartsParameter:$saved);
  let extraClassDeclaration = fieldsDeclaration # [{
    /// Lists by size, in the order of verification and of CustomSizes.
    std::array<std::pair<const char *, ::llvm::ArrayRef<int64_t>>, 10>
    getListsBySize() const;
    /// Number of sizes: one for each of `samples`, or 1 for the model's own.
    size_t getNumSizes() const {
      return std::max<size_t>(getSamples().size(), 1);
    }
    /// The sizes for `samples` samples; none if it does not state them. Without
    /// a list they are the same for all.
    std::optional<::rondo::runtime::CustomSizes>
    findSizes(int64_t samples) const;
    /// `1, 2 and 4 samples`.
    std::string describeSamples() const;
  }];
}

def Pipe_TargetAttr : AttrDef<PipeDialect, "Target"> {
  let mnemonic = "target";
  let summary = "devices and number type of an executable";
  let description = [{
    `<cuda, bf16>`: the devices, and the type of activations, messages and saved
    tensors. Master weights, main gradients and moments are always fp32.
    `cpu` takes `fp32` only. `resident = n` on `cuda`: sends, receives and
    collectives of a rank that may be in flight on its GPU at once, each of
    which keeps multiprocessors while it waits (default: 16, see rule L6).
  }];
  let parameters = (ins EnumParameter<Pipe_Target>:$kind,
      EnumParameter<Pipe_DType>:$dtype,
      Pipe_AtLeast<1, "resident", "16 may be in flight">:$resident);
  let assemblyFormat = "`<` custom<Word>($kind) `,` custom<Word>($dtype) "
      "(`,` `resident` `=` $resident^)? `>`";
}

def Pipe_TokensAttr : Pipe_StructAttr<"Tokens", "tokens"> {
  let summary = "limits of the batches that a program draws, in tokens";
  let description = [{
    A micro-batch is a row of at most `most` tokens. Each stage's rank has
    memory for the activations of `in_flight` tokens, which is at least `most`.
  }];
  let parameters = (ins Pipe_Number:$most, Pipe_Number:$in_flight);
}

def Pipe_StageCostsAttr : Pipe_StructAttr<"StageCosts", "stage_costs"> {
  let summary = "times and memory of a stage for one micro-batch";
  let description = [{
    Schedules are made for these figures and judged by them. `activation_bytes`
    are acquired when F starts; `input_grad_frees_bytes` of them are released
    when I ends, the rest when W ends. `output_bytes` is the size of the message
    to the next stage; the gradient that comes back is smaller by
    `output_without_grad_bytes`. `step_ns` is the time of the optimizer
    step, once per iteration (default 0).

    If the stage recomputes, that takes `recompute_ns`, and `recomputed_bytes` of
    the activations are acquired when it starts, instead of at F, which acquires
    `checkpoint_bytes` until it ends.

    `input_grad_keeps_bytes` are acquired when I starts and released when W ends.

    If the stage has `offload`, a `pipe.save` copies `offload_bytes` to the host
    (default: all that may leave).

    If micro-batches differ, each figure but `step_ns` may be a list with one for
    each micro-batch.
  }];
  let parameters = (ins Pipe_ByMicrobatch:$forward_ns,
      Pipe_ByMicrobatch:$input_grad_ns, Pipe_ByMicrobatch:$weight_grad_ns,
      Pipe_ByMicrobatch:$activation_bytes,
      Pipe_ByMicrobatch:$input_grad_frees_bytes,
      Pipe_ByMicrobatch:$output_bytes, Pipe_OrElse<"0">:$step_ns,
      Pipe_ByMicrobatchOrZero:$recompute_ns,
      Pipe_ByMicrobatchOrZero:$recomputed_bytes,
      Pipe_ByMicrobatchOrZero:$checkpoint_bytes,
      Pipe_ByMicrobatchOrZero:$input_grad_keeps_bytes,
      Pipe_ByMicrobatchOrZero:$output_without_grad_bytes,
      Pipe_ByMicrobatchOrNone:$offload_bytes);
  let extraClassDeclaration = fieldsDeclaration # [{
    /// `costs[i]` are those of micro-batch i; all are the same if there is one.
    /// A figure that does not differ is written as one number.
    static StageCostsAttr get(::mlir::MLIRContext *context,
                              ::llvm::ArrayRef<StageCosts> costs);
    /// The figures that may be lists, with their keys.
    std::array<std::pair<const char *, ::llvm::ArrayRef<int64_t>>, 12>
    getLists() const;
    /// All figures for one micro-batch.
    StageCosts of(int64_t microbatch) const;
  }];
}

def Pipe_BuffersAttr : Pipe_StructAttr<"Buffers", "buffers"> {
  let summary = "bytes of each buffer of a stage";
  let description = [{
    Weights, gradients, moments, control and workspace exist once; all others are
    for one micro-batch. 0: the stage has no such buffer. A stage lists them by
    replica or, if micro-batches differ, by micro-batch.
  }];
  let parameters = (ins Pipe_OrElse<"0">:$weights, Pipe_OrElse<"0">:$gradients,
      Pipe_OrElse<"0">:$moments, Pipe_OrElse<"0">:$weight_changes,
      Pipe_OrElse<"0">:$control, Pipe_OrElse<"0">:$data,
      Pipe_OrElse<"0">:$workspace,
      Pipe_OrElse<"0">:$input, Pipe_OrElse<"0">:$output,
      Pipe_OrElse<"0">:$output_grad, Pipe_OrElse<"0">:$input_grad,
      Pipe_OrElse<"0">:$saved_for_input_grad,
      Pipe_OrElse<"0">:$saved_for_weight_grad,
      Pipe_OrElse<"0">:$checkpoints,
      Pipe_OrElse<"0">:$recomputed_for_input_grad,
      Pipe_OrElse<"0">:$recomputed_for_weight_grad,
      Pipe_OrElse<"0">:$recomputed_input, Pipe_OrElse<"0">:$recomputed_output,
      Pipe_OrElse<"0">:$gathered_weights,
      Pipe_OrElse<"0">:$unreduced_gradients,
      Pipe_OrElse<"0">:$kept_for_weight_grad,
      Pipe_OrElse<"0">:$offloaded_for_input_grad,
      Pipe_OrElse<"0">:$offloaded_for_weight_grad,
      Pipe_OrElse<"0">:$loaded_for_input_grad,
      Pipe_OrElse<"0">:$loaded_for_weight_grad, Pipe_OrElse<"0">:$on_host);
  let extraClassDeclaration = fieldsDeclaration # [{
    /// Indexed by rondo::BufferKind.
    static BuffersAttr
    fromBytes(::mlir::MLIRContext *context,
              const std::array<int64_t, ::rondo::numBufferKinds> &bytes);
    std::array<int64_t, ::rondo::numBufferKinds> getBytes() const;
  }];
}

def Pipe_FamilyAttr : AttrDef<PipeDialect, "Family"> {
  let mnemonic = "family";
  let summary = "a rule that writes schedules, with its arguments";
  let description = [{
    `<"kfkb", k = 2>`: the published name, and whole numbers by name. The core
    has the table of families and their arguments. `auto`, where a family takes
    it (`<"blockwise", u = auto>`): the number that is best on the plan, which
    `pipe-generate-schedules` puts in its place. Every family takes `offload`,
    the word `all` or `fit`, and `offload_chunks`: copies to the host; and
    `order`, if micro-batches differ: `given`, `ascending`, `descending`,
    `long_short` or `best`.
  }];
  let parameters = (ins StringRefParameter<"the family's name">:$name,
      "::mlir::DictionaryAttr":$arguments);
  let assemblyFormat =
      "`<` $name `` custom<FamilyArguments>($arguments) `>`";
  let extraClassDeclaration = [{
    /// The numbers among the arguments, in the core's form.
    std::map<std::string, int64_t> getArgumentMap() const;
    /// The word of `offload`; empty if there is none.
    ::llvm::StringRef getOffload() const;
    /// The word of `order`; empty if there is none.
    ::llvm::StringRef getOrder() const;
  }];
}

def Pipe_VersionsAttr : AttrDef<PipeDialect, "Versions"> {
  let mnemonic = "versions";
  let summary = "which weights the tasks of a stage read";
  let description = [{
    The policy of a published system, such as `<"pipedream">`, or what F reads,
    what I, W and B read, and which activations these use, which says what R
    reads. `most_delay` limits how many updates late any of them may be (default:
    no limit; 0 for `synchronous`). docs/asynchronous.md says what the words mean.

    ```mlir
    versions<"pipemare">
    versions<"pipemare", most_delay = 2>
    versions<forward = live, backward = live>
    versions<forward = vertical, backward = committed, activations = recompute>
    ```
  }];
  let parameters = (ins EnumParameter<Pipe_ForwardWeights>:$forward,
      EnumParameter<Pipe_BackwardWeights>:$backward,
      EnumParameter<Pipe_BackwardActivations>:$activations,
      Pipe_Number:$most_delay);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static VersionsAttr get(::mlir::MLIRContext *context,
                            const ::rondo::VersionPolicy &policy);
    ::rondo::VersionPolicy getPolicy() const;
  }];
}

def Pipe_ClaimsAttr : Pipe_StructAttr<"Claims", "claims"> {
  let summary = "versions and delays of a schedule whose iterations overlap";
  let description = [{
    Lists by stage, each of which may be left out: the most versions of the weights
    that are kept at once, and by how many updates F, I, W and B, and R, are late at
    most. `norm_delay` is by how many iterations the norm of all gradients is late.
    `pipe-verify-scheduled` finds all of them from the order, and refuses others.

    ```mlir
    claims<copies = [2, 1], forward_delay = [1, 0], backward_delay = [1, 0]>
    claims<norm_delay = 1>
    ```
  }];
  let parameters = (ins Pipe_NumbersParameter:$copies,
      Pipe_NumbersParameter:$forward_delay,
      Pipe_NumbersParameter:$backward_delay,
      Pipe_NumbersParameter:$recompute_delay,
      Pipe_MaybeNumber:$norm_delay);
}

def Pipe_SearchAttr : Pipe_StructAttr<"Search", "search"> {
  let summary = "how to search for a schedule";
  let description = [{
    `objective`: `makespan`, the time of an iteration, or `span`, the longest
    time from first start to last end of a single rank. `effort` limits work, in
    units of 1,000 tasks placed or timed, 1 or more; by default it follows from
    the size of the plan. `time_limit_ms` limits wall time; 0: no limit; the
    default is 1000, or no limit with an `effort`. The same `seed` and `effort`
    give the same schedule unless time runs out first. `orders` says which orders
    of micro-batches that differ it may choose (default: `wperm`).
  }];
  let parameters = (ins Pipe_ObjectiveParameter:$objective,
      Pipe_MaybeNumber:$time_limit_ms, Pipe_MaybeNumber:$effort,
      Pipe_OrElse<"0">:$seed, Pipe_OrdersParameter:$orders);
}

def Pipe_FoundAttr : Pipe_StructAttr<"Found", "found"> {
  let summary = "result of a search";
  let description = [{
    For the costs and caps that the plan had at that time. `origin` is the part of
    the search that found it, or the family. No schedule has an objective below
    `lower_bound_ns`, by the argument `bound`; `proven_optimal` says that this
    schedule meets it. `stopped` says why the search ended. The names are those of
    rondo-schedule/1.
  }];
  let parameters = (ins Pipe_Text:$origin,
      Pipe_Number:$makespan_ns, Pipe_Number:$span_ns, Pipe_Number:$lower_bound_ns,
      Pipe_Text:$bound, Pipe_BoolParameter:$proven_optimal,
      Pipe_WordParameter<Pipe_SearchStop>:$stopped);
}

def Pipe_AdaptiveAttr : Pipe_StructAttr<"Adaptive", "adaptive"> {
  let summary = "how to choose the schedules that a program switches between";
  let description = [{
    `candidates` is the most that the executable has, 2 or more. `memory_bytes`
    limits the arena of each rank (default: what the devices have). `effort`
    limits the work of searches together, in units of 1,000 tasks placed or
    timed; `time_limit_ms` the wall time of everything; 0: no limit; the default
    is 5000, or no limit with an `effort`. The same `seed` and `effort` give the
    same schedules unless time runs out first.
  }];
  let parameters = (ins Pipe_OrElse<"::rondo::pipe::defaultCandidates">:$candidates,
      Pipe_MaybeNumber:$memory_bytes, Pipe_MaybeNumber:$time_limit_ms,
      Pipe_MaybeNumber:$effort, Pipe_OrElse<"0">:$seed);
}

def Pipe_PoolAttr : Pipe_StructAttr<"Pool", "pool_layout"> {
  let summary = "equal slots in a rank's arena";
  let parameters = (ins Pipe_Number:$offset, Pipe_Number:$slot_bytes,
      Pipe_Number:$slots);
}

#endif // RONDO_DIALECT_PIPEATTRS_TD
