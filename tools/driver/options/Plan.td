// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "tools/driver/options/Shared.td"

defm problems : Value<"problems", "FILE",
  "layers and devices to plan for (rondo-planning); one without a plan does not "
  "stop the rest">;
defm output : Value<"output", "FILE",
  "where to write one rondo-plan line per problem, in input order (default: "
  "standard output)">;
defm o : ShortOutput<"FILE">;
defm evaluator : Choice<"evaluator", "1f1b,spp,spp-full-duplex",
  "what an iteration's time is computed by (default 1f1b)">;
defm time_limit_ms : Value<"time-limit-ms", "N",
  "wall time per problem in ms; 0: no limit (default 1000, or no limit with "
  "--effort)",
  [Number]>;
defm effort : Value<"effort", "N",
  "work per problem, in 1,000 plans timed, 1 or more (default 1000)",
  [Positive]>;
defm seed : Value<"seed", "N", "seed of the random choices (default 0)",
  [Number]>;
defm threads : Value<"threads", "N",
  "problems planned at the same time (default 1)", [Positive]>;
def baselines : Switch<"baselines",
  "print the figures of published planners' plans beside each plan's, best "
  "first; plans are then only written to a given --output">;
