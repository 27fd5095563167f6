//===- PipePlanOps.td - A model cut into stages ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPEPLANOPS_TD
#define RONDO_DIALECT_PIPEPLANOPS_TD

include "dialect/PipeShardAttrs.td"
include "dialect/PipeSourceOps.td"

def Pipe_PlanOp : Pipe_Op<"plan", [Symbol, SymbolTable, NoTerminator,
    SingleBlock, NoRegionArguments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a model cut into stages on the ranks of a cluster";
  let description = [{
    Stages are listed in pipeline order: each feeds the next, or the later ones
    that name it in `from`. `microbatches` is their number in one iteration.
    `samples` is the number of samples in each (default: the model's `batch`);
    measured costs of layers are then scaled in proportion. Timed layers state
    what all samples take, however many these are. `target` is what the
    plan is compiled for (default: `cpu` in fp32); buffer sizes depend on it.
    `optimizer` is what memory is planned for: `adamw` (the default) keeps two
    moments of each weight, `sgd` one, `plain_sgd`, which has no momentum, none.

    With `documents`, each micro-batch is a row of documents of these numbers of
    tokens, one after another without padding. No document is longer than the
    model's `sequence`. Costs, buffers and messages follow from them, so they
    differ by micro-batch.

    With `tokens`, a program draws documents from data and finds a schedule for
    each batch. A micro-batch is a row of at most `most` tokens, whose documents
    are cut at the model's `sequence`; ranks have memory for the activations of
    `in_flight` tokens in each stage. The plan is that of the largest batch:
    every row has `most` tokens in documents as long as `sequence`.

    ```mlir
    pipe.plan @step of @gpt on @lab microbatches(8) optimizer(sgd) {
      pipe.stage @s0 [@wte, @h0] on 0
      pipe.stage @s1 [@lm_head] on 1
    }
    pipe.plan @packed of @gpt on @lab microbatches(3)
        documents [[60, 20], [64], [10, 12, 30]] {
      pipe.stage @s0 [@wte, @h0] on 0
      pipe.stage @s1 [@lm_head] on 1
    }
    pipe.plan @drawn of @gpt on @lab microbatches(4) tokens<most = 64, in_flight = 128> {
      pipe.stage @s0 [@wte, @h0] on 0
      pipe.stage @s1 [@lm_head] on 1
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$model,
      FlatSymbolRefAttr:$cluster, I64Prop:$microbatches,
      OptionalAttr<I64Attr>:$samples,
      OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr,
          "lengths of documents by micro-batch">>:$documents,
      OptionalAttr<Pipe_TokensAttr>:$tokens,
      OptionalAttr<Pipe_TargetAttr>:$target,
      DefaultValuedProp<EnumProp<Pipe_Optimizer>, "Optimizer::AdamW">:$optimizer);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = Pipe_InOrder<"of, on, microbatches, samples, documents or tokens, target, optimizer, {...}", [{
    $sym_name `of` $model `on` $cluster `microbatches` `(` $microbatches `)`
    (`samples` `(` $samples^ `)`)? (`documents` custom<Documents>($documents)^)? (`tokens` `` $tokens^)?
    (`target` `` $target^)? (`optimizer` `(` custom<Word>($optimizer)^ `)`)?
    attr-dict-with-keyword $body
  }], ["of", "on", "microbatches"]>.format;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Indexed by stage: the stages that feed it, in order. They come before it.
    std::vector<std::vector<int32_t>> getInputs();
    /// Whether each stage feeds only the next.
    bool isChain();
    /// The stages in pipeline order.
    ::llvm::SmallVector<StageOp, 0> getStages();
    /// Null if there is none of that name; the verifier has then reported it.
    ModelOp lookupModel();
    ClusterOp lookupCluster();
    /// Ordered by stage and then by replica, as the core numbers them.
    ::rondo::Replicas getReplicas();
    /// Samples per micro-batch; 0 if the model has only timed layers and the
    /// plan does not state it. A row of documents is one sample.
    int64_t getSamplesOfMicrobatch();
    /// Whether micro-batches are rows of documents: those that the plan lists,
    /// or any within its limits.
    bool hasDocuments() { return getDocumentsAttr() || getTokensAttr(); }
    /// The most tokens of a document that batches within limits have.
    int64_t getMostOfDocument();
    /// The lengths of a micro-batch's documents, of the largest batch if the
    /// plan states limits; empty if it has samples. The model must be known.
    ::llvm::ArrayRef<int64_t> getDocumentsOf(int64_t microbatch);
    /// Their sum; 0 if it has samples.
    int64_t getTokensOf(int64_t microbatch);
    /// The first micro-batch with the most tokens.
    int64_t getLargestMicrobatch();
    /// Whether figures or documents are listed by micro-batch.
    bool isUneven();
    /// `target`, or `cpu` and `fp32` if it is absent.
    Target getTargetKind();
    DType getDType();
    /// Sends, receives and collectives of a rank that may be in flight at once;
    /// 0: any number.
    int32_t getResident();
  }];
}

def Pipe_StageOp : Pipe_Op<"stage", [Symbol, HasParent<"PlanOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "consecutive layers on one or several ranks";
  let description = [{
    `on` lists the ranks that have a replica of the stage. With several ranks, each of which has
    the layers' weights, every replica takes an equal share of the samples of each
    micro-batch, or the number after its rank; the shares follow each other in
    the order of the list. With `round_robin`, the replicas take whole micro-batches in
    turn instead: of r replicas, the first takes micro-batches 0, r, 2r and so on.
    `buffers` are then listed by replica, while `costs` are for all samples on the
    first of the ranks. If micro-batches differ, replicas are `round_robin`, and
    `buffers` may be listed by replica and, within each, by micro-batch.

    With `sharded`, each replica keeps a shard of the weights, gradients and
    optimizer state instead of all of them.

    `recompute` keeps no activations of the stage, or of the layers that it
    lists, from F to the backward: a `pipe.recompute` runs their forward again
    before it. It begins with the stage's input, which stays until then, or with
    `recompute across` with what the `pipe.recompute` of the stages that feed it
    have made; these recompute all of their layers. A segment of such stages
    keeps the input of its first stage alone.

    `offload` lets a schedule copy the activations of the stage, or of the layers
    that it lists, to the host (`pipe.save`) and back (`pipe.load`), for any of
    its micro-batches. Its devices have a `host_link`. `@h0.qkv` in the list is a
    part of what layer `@h0` saves: every layer has `saved_for_input_grad` and
    `saved_for_weight_grad`, those of a GPT or a Llama have parts of these.
    `before` is the task that needs them again: `input_grad` (the default);
    `weight_grad`, of what W alone reads; or, if the stage recomputes,
    `recompute`, of the checkpoints with which R begins. Layers that are
    recomputed keep nothing else that could leave.

    `from` lists the stages that feed this one, in the order in which its first
    layer takes them (default: the stage before); `from []` is a source. Several
    stages on one rank are its chunks. Schedules and memory plans are made from
    `costs` and `buffers`; `pipe-resolve-stages` fills them in if they are
    missing.

    ```mlir
    pipe.stage @s1 [@lm_head] on 1
        costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1,
              activation_bytes = 2, input_grad_frees_bytes = 1, output_bytes = 0>
        buffers<weights = 64, gradients = 64, moments = 128>
    pipe.stage @join [@sum] on 2 from [@left, @right]
    pipe.stage @light [@h1, @h2] on 2 recompute
    pipe.stage @lighter [@h3, @h4] on 2 recompute [@h3]
    pipe.stage @lightest [@h5, @h6] on 3 recompute across from [@light]
    pipe.stage @away [@h5, @h6] on 3 offload
    pipe.stage @partly [@h7, @h8] on 3 offload [@h7, @h8.qkv]
    pipe.stage @late [@h7, @h8] on 3 offload before(weight_grad)
    pipe.stage @both [@h7, @h8] on 3 recompute offload before(recompute)
    pipe.stage @wide [@h0] on [2, 3]
    pipe.stage @uneven [@h0] on [2: 6, 3: 2]
    pipe.stage @round_robin [@h0] on [2, 3] round_robin
    pipe.stage @shards [@h0] on [2, 3] sharded<weights>
    pipe.stage @groups [@h0] on [2, 3, 4, 5] sharded<weights, shards = 2>
    pipe.stage @zero_1 [@h0] on [2, 3] sharded<moments>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      Pipe_Names<"layers">:$layers,
      DenseI64ArrayAttr:$ranks, OptionalAttr<DenseI64ArrayAttr>:$shares,
      UnitAttr:$round_robin, OptionalAttr<Pipe_ShardedAttr>:$sharded,
      OptionalAttr<Pipe_Names<"layers">>:$recompute, UnitAttr:$across,
      OptionalAttr<Pipe_Names<"layers">>:$offload,
      DefaultValuedProp<EnumProp<Pipe_LoadBefore>,
          "LoadBefore::InputGrad">:$before,
      OptionalAttr<Pipe_Names<"stages">>:$inputs,
      OptionalAttr<Pipe_StageCostsAttr>:$costs,
      OptionalAttr<TypedArrayAttrBase<Pipe_BuffersAttr,
                                      "buffers by replica">>:$buffers);
  // A stage that is round-robin is not sharded, but for its moments.
  let assemblyFormat = Pipe_InOrder<"on, round_robin or sharded, recompute, offload, before, from, costs, buffers", [{
    $sym_name custom<Names>($layers) `on` custom<Replicas>($ranks, $shares)
    `` custom<RoundRobin>($round_robin) (`sharded` `` $sharded^)? (`recompute` `` custom<Recompute>($recompute, $across)^)? (`offload` `` custom<Offload>($offload)^)?
    (`before` `(` custom<Word>($before)^ `)`)? (`from` custom<Names>($inputs)^)? (`costs` `` $costs^)?
    (`buffers` `` custom<BuffersByReplica>($buffers)^)? attr-dict
  }], ["on"]>.format;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Rank of each replica, and the samples that it takes of a micro-batch of
    /// `samples`.
    std::vector<::rondo::Share> sharesOf(int64_t samples);
    /// Replicas that have the state once together: 1 where it is not sharded,
    /// or where only the moments are.
    int64_t getShards();
    /// Replicas that have the moments once together, and all else each: 1
    /// unless the stage shards its moments alone.
    int64_t getMomentShards();
    bool shardsMomentsAlone();
    /// Appends the stage with its replicas.
    void addTo(::rondo::Replicas &replicas, int64_t samples);
    /// Whether a layer of that name is recomputed.
    bool recomputes(::mlir::StringAttr layer);
    /// Whether a copy takes what a layer of that name saves.
    bool offloads(::mlir::StringAttr layer);
    /// Indexed by replica; empty if the stage does not state them. If
    /// micro-batches differ, the most bytes of any.
    std::vector<::rondo::ReplicaBuffers> buffersByReplica();
    /// Indexed by replica and, within each, by micro-batch, if these differ;
    /// otherwise empty.
    std::vector<::rondo::ReplicaBuffers> buffersByMicrobatch();
    void setBuffersByReplica(::llvm::ArrayRef<BuffersAttr> buffers);
    /// `rank 2`, `ranks 2 and 3`.
    std::string describeRanks();
  }];
}

#endif // RONDO_DIALECT_PIPEPLANOPS_TD
