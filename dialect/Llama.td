//===- Llama.td - The sizes of a Llama ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_LLAMA_TD
#define RONDO_DIALECT_LLAMA_TD

include "dialect/PipeAttrs.td"

def Pipe_RopeScalingAttr : Pipe_StructAttr<"RopeScaling", "rope_scaling"> {
  let summary = "slower rotations for longer sequences";
  let description = [{
    As Llama 3.1 scales them, with the figures of Hugging Face's `rope_scaling` of
    type `llama3`: frequencies with wavelengths up to `original_positions` /
    `high_frequency` stay, those with wavelengths from `original_positions` /
    `low_frequency` are divided by `factor`, those between are interpolated.
  }];
  let parameters = (ins Pipe_Real:$factor, Pipe_Real:$low_frequency,
      Pipe_Real:$high_frequency, Pipe_Number:$original_positions);
}

/// `llama3<...>`
def Pipe_RopeScalingParameter : OptionalParameter<"RopeScalingAttr"> {
  let parser = "parseRopeScaling($_parser)";
  let printer = "$_printer << \"llama3\", $_self.print($_printer)";
}

def Pipe_LlamaAttr : Pipe_StructAttr<"Llama", "llama",
    [DeclareAttrInterfaceMethods<Pipe_ArchitectureAttrInterface>]> {
  let summary = "sizes and options of a Llama";
  let description = [{
    Models of Llama's family: Llama, Mistral, Qwen2 and Qwen3. `batch` is the
    number of samples of one micro-batch; `tied`: the head shares the weight of
    the token embedding. `kv_heads` 0 or absent: as many as `heads`; `head_width`
    0 or absent: `hidden` / `heads`. `qkv_bias`: q, k and v have biases (Qwen2);
    `head_norm`: each head's q and k are normalised before they are rotated
    (Qwen3).
  }];
  let parameters = (ins Pipe_Number:$vocab, Pipe_Number:$sequence,
      Pipe_Number:$hidden, Pipe_Number:$heads, Pipe_OrElse<"0">:$kv_heads,
      Pipe_OrElse<"0">:$head_width, Pipe_Number:$ffn, Pipe_Number:$batch,
      Pipe_BoolParameter:$tied, Pipe_RealOrElse<"1e-5">:$norm_epsilon,
      Pipe_RealOrElse<"10000.0">:$rope_theta,
      Pipe_RopeScalingParameter:$rope_scaling, Pipe_BoolParameter:$qkv_bias,
      Pipe_BoolParameter:$head_norm);
  let extraClassDeclaration = fieldsDeclaration # [{
    /// With the default.
    int64_t getKvHeadsOrDefault() const;
  }];
}

#endif // RONDO_DIALECT_LLAMA_TD
