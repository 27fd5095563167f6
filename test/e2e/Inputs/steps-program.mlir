// Appended to steps.mlir: the program of @free, written by hand.
pipe.program @by_hand of @free pipeline {
  pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s3]
  pipe.collective @c1 gradient_norm [@s0, @s1, @s2, @s3]
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    pipe.for %i = 0 to 3 {
      pipe.recv activation @s2[%i]
      pipe.forward @s3[%i]
      pipe.backward @s3[%i]
      pipe.send gradient @s3[%i]
    }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @c0
    pipe.await @c0
    pipe.issue @c1
    pipe.await @c1
    pipe.step @s3
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 {
      pipe.recv activation @s0[%i]
      pipe.forward @s1[%i]
      pipe.forward @s2[%i]
      pipe.send activation @s2[%i]
    }
    pipe.for %i = 0 to 3 { pipe.recv gradient @s3[%i] pipe.backward @s2[%i] }
    // Here the gradients of stage 2 are complete.
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] pipe.send gradient @s1[%i] }
    pipe.issue @c1
    pipe.await @c1
    pipe.step @s2
    pipe.step @s1
  }
}
