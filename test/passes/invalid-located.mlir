// An error about an order that a pass has written again is at the op that it
// was written from: at the first, if several have rolled into one.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics \
// RUN:   --pass-pipeline="builtin.module(pipe-resolve-stages,pipe-place-gathers,pipe-roll,pipe-verify-scheduled)"

pipe.cluster @two {
  // expected-note @+1 {{a chunk that is gathered, with its gradients, takes}}
  pipe.device @d0 <memory_bytes = 1300>
  pipe.device @d1
}
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 200, input_grad_ns = 200, weight_grad_ns = 200, activation_bytes = 200, weight_bytes = 256>
}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @mine of @step gathers<weights = 1, gradients = 1> {
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.forward @s0[1]
    // expected-error @+1 {{rank 0 holds 1544 bytes at 0B0, 244 more than its 1300}}
    pipe.backward @s0[0]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
}

// -----

pipe.cluster @two {
  // expected-note @+1 {{a chunk that is gathered, with its gradients, takes}}
  pipe.device @d0 <memory_bytes = 1200>
  pipe.device @d1
}
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 200, input_grad_ns = 200, weight_grad_ns = 200, activation_bytes = 200, weight_bytes = 256>
}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @mine of @step gathers<weights = 1, gradients = 1> {
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-error @+1 {{rank 0 holds 1288 bytes at 0F1, 88 more than its 1200}}
    pipe.forward @s0[1]
    pipe.backward @s0[0]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
}

// -----

// Ops that the pass adds have the location of their task.
pipe.cluster @two {
  // expected-note @+1 {{a chunk that is gathered, with its gradients, takes}}
  pipe.device @d0 <memory_bytes = 1000>
  pipe.device @d1
}
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 200, input_grad_ns = 200, weight_grad_ns = 200, activation_bytes = 200, weight_bytes = 256>
}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @mine of @step gathers<weights = 1, gradients = 1> {
  pipe.rank 0 {
    // expected-error @+1 {{rank 0 holds 1088 bytes at unshard 0 of stage 0, 88 more than its 1000}}
    pipe.forward @s0[0]
    pipe.forward @s0[1]
    pipe.backward @s0[0]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
}
