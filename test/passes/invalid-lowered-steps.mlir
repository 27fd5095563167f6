// L5: where steps may be, and what they need. Each program but two breaks it in one place.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-lowered -split-input-file -verify-diagnostics

// Nothing is wrong here.
pipe.cluster @machine link<latency_ns = 2000> { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @free of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.backward @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
  }
}
pipe.program @by_hand of @free pipeline {
  pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s3]
  pipe.collective @c1 gradient_norm [@s0, @s1, @s2, @s3]
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.recv activation @s2[%i] pipe.forward @s3[%i] pipe.backward @s3[%i] pipe.send gradient @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @c0 pipe.await @c0
    pipe.issue @c1 pipe.await @c1
    pipe.step @s3
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.recv activation @s0[%i] pipe.forward @s1[%i] pipe.forward @s2[%i] pipe.send activation @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s3[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] pipe.send gradient @s1[%i] }
    pipe.issue @c1 pipe.await @c1
    pipe.step @s2
    pipe.step @s1
  }
}

// -----

// A step that clips by the norm comes before the norm.
pipe.cluster @machine link<latency_ns = 2000> { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @free of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.backward @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
  }
}
pipe.program @by_hand of @free pipeline {
  pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s3]
  pipe.collective @c1 gradient_norm [@s0, @s1, @s2, @s3]
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.recv activation @s2[%i] pipe.forward @s3[%i] pipe.backward @s3[%i] pipe.send gradient @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @c0 pipe.await @c0
    pipe.issue @c1 pipe.await @c1
    pipe.step @s3
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.recv activation @s0[%i] pipe.forward @s1[%i] pipe.forward @s2[%i] pipe.send activation @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s3[%i] pipe.backward @s2[%i] }
    // expected-error @below {{step of stage 2 at position 18 of rank 1 comes before await @c1 at position 26 of rank 1, whose result it reads [L5]}}
    pipe.step @s2
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] pipe.send gradient @s1[%i] }
    pipe.issue @c1
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.await @c1
    pipe.step @s1
  }
}

// -----

// Nothing is wrong here: without a norm, stage 2 steps as soon as its gradients are complete.
pipe.cluster @machine link<latency_ns = 2000> { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @free of @step norm(none) {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.backward @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
  }
}
pipe.program @by_hand of @free pipeline {
  pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s3]
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.recv activation @s2[%i] pipe.forward @s3[%i] pipe.backward @s3[%i] pipe.send gradient @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @c0 pipe.await @c0
    pipe.step @s3
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.recv activation @s0[%i] pipe.forward @s1[%i] pipe.forward @s2[%i] pipe.send activation @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s3[%i] pipe.backward @s2[%i] }
    pipe.step @s2
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] pipe.send gradient @s1[%i] }
    pipe.step @s1
  }
}

// -----

// A step comes before the last backward of its stage.
pipe.cluster @machine link<latency_ns = 2000> { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @free of @step norm(none) {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.backward @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
  }
}
pipe.program @by_hand of @free pipeline {
  pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s3]
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.recv activation @s2[%i] pipe.forward @s3[%i] pipe.backward @s3[%i] pipe.send gradient @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @c0 pipe.await @c0
    pipe.step @s3
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.recv activation @s0[%i] pipe.forward @s1[%i] pipe.forward @s2[%i] pipe.send activation @s2[%i] }
    // expected-error @below {{step of stage 2 at position 12 of rank 1 comes before 2B2 at position 18 of rank 1, whose gradient it reads [L5]}}
    pipe.step @s2
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.for %i = 0 to 3 { pipe.recv gradient @s3[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] pipe.send gradient @s1[%i] }
    pipe.step @s1
  }
}

// -----

// The norm is not awaited.
pipe.cluster @machine link<latency_ns = 2000> { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @free of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.backward @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
  }
}
pipe.program @by_hand of @free pipeline {
  pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s3]
  pipe.collective @c1 gradient_norm [@s0, @s1, @s2, @s3]
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.recv activation @s2[%i] pipe.forward @s3[%i] pipe.backward @s3[%i] pipe.send gradient @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @c0 pipe.await @c0
    pipe.issue @c1 pipe.await @c1
    pipe.step @s3
    pipe.step @s0
  }
  // expected-error @below {{await @c1 is missing on rank 1 [L5]}}
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.recv activation @s0[%i] pipe.forward @s1[%i] pipe.forward @s2[%i] pipe.send activation @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s3[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] pipe.send gradient @s1[%i] }
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.issue @c1
    pipe.step @s2
    pipe.step @s1
  }
}

// -----

// A stage does not step.
pipe.cluster @machine link<latency_ns = 2000> { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @free of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.backward @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
  }
}
pipe.program @by_hand of @free pipeline {
  pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s3]
  pipe.collective @c1 gradient_norm [@s0, @s1, @s2, @s3]
  // expected-error @below {{step of stage 3 is missing on rank 0 [L5]}}
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    // expected-note @below {{the conflicting operation, on rank 0, is here}}
    pipe.for %i = 0 to 3 { pipe.recv activation @s2[%i] pipe.forward @s3[%i] pipe.backward @s3[%i] pipe.send gradient @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @c0 pipe.await @c0
    pipe.issue @c1 pipe.await @c1
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.recv activation @s0[%i] pipe.forward @s1[%i] pipe.forward @s2[%i] pipe.send activation @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s3[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] pipe.send gradient @s1[%i] }
    pipe.issue @c1 pipe.await @c1
    pipe.step @s2
    pipe.step @s1
  }
}

// -----

// A stage steps twice.
pipe.cluster @machine link<latency_ns = 2000> { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @free of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.backward @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
  }
}
pipe.program @by_hand of @free pipeline {
  pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s3]
  pipe.collective @c1 gradient_norm [@s0, @s1, @s2, @s3]
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.recv activation @s2[%i] pipe.forward @s3[%i] pipe.backward @s3[%i] pipe.send gradient @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @c0 pipe.await @c0
    pipe.issue @c1 pipe.await @c1
    // expected-note @below {{the conflicting operation, on rank 0, is here}}
    pipe.step @s3
    // expected-error @below {{step of stage 3 at position 29 of rank 0 appears twice [L5]}}
    pipe.step @s3
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.recv activation @s0[%i] pipe.forward @s1[%i] pipe.forward @s2[%i] pipe.send activation @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s3[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] pipe.send gradient @s1[%i] }
    pipe.issue @c1 pipe.await @c1
    pipe.step @s2
    pipe.step @s1
  }
}

// -----

// The two copies of the shared weight are not summed.
pipe.cluster @machine link<latency_ns = 2000> { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @free of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.backward @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
  }
}
// expected-error @below {{the program has no tied_gradients of wte.weight over stages 0, 3, which training its plan needs [L5]}}
pipe.program @by_hand of @free pipeline {
  pipe.collective @c0 gradient_norm [@s0, @s1, @s2, @s3]
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.recv activation @s2[%i] pipe.forward @s3[%i] pipe.backward @s3[%i] pipe.send gradient @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @c0 pipe.await @c0
    pipe.step @s3
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.recv activation @s0[%i] pipe.forward @s1[%i] pipe.forward @s2[%i] pipe.send activation @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s3[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] pipe.send gradient @s1[%i] }
    pipe.issue @c0 pipe.await @c0
    pipe.step @s2
    pipe.step @s1
  }
}
