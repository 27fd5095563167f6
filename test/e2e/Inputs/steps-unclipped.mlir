// Appended to steps.mlir: a schedule without a norm, whose program steps stage 2 while stage 1 still computes.
pipe.schedule @unclipped of @step norm(none) {
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
pipe.program @unclipped_by_hand of @unclipped pipeline {
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
