//===- Run.td - Options of the commands that read a run ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

defm output : Value<"output", "FILE",
  "where to write the rondo-layout (default: standard output)">;
defm o : ShortOutput<"FILE">;
defm cluster : Value<"cluster", "FILE",
  "the devices that the run is for (pipe.cluster)">;
defm device : Choice<"device", "h100,h200,b200,gb200,b300,gb300,a100",
  "the data sheet of the cluster's devices (default: the one with their memory "
  "and peak)">;
defm devices : Value<"devices", "N",
  "devices of the run, if the command line does not say (default: the "
  "cluster's)", [Positive]>;
defm vocab : Value<"vocab", "N",
  "tokens of the vocabulary, in place of the command line's", [Positive]>;
defm name : Value<"name", "NAME", "the run's name (default: run)">;
