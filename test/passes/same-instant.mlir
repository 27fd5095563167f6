// No slot is reused at the instant at which its send ends. Without latency, a send
// may end just when its rank starts the next action, and that action may be what
// lets another rank end the send. So the output of 0F1, which starts when the send
// of 0F0 ends, lies in another slot than that of 0F0; likewise the gradients of 1B2
// and 1B3.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --pipe-verify-lowered | FileCheck %s
// CHECK: pipe.program @main_lowered of @main pipeline arena
// CHECK: pipe.pool [[RANK0:@p[0-9]+]] on 0 <{{.*}}, slot_bytes = 64, slots = 3>
// CHECK: pipe.pool [[RANK1:@p[0-9]+]] on 1 <{{.*}}, slot_bytes = 64, slots = 4>
// CHECK: pipe.place output @s0 in [[RANK0]] [0, 1]{{$}}
// CHECK: pipe.place output_grad @s0 in [[RANK0]] [2]{{$}}
// CHECK: pipe.place input @s1 in [[RANK1]] [0, 0, 2, 0, 3]{{$}}
// CHECK: pipe.place input_grad @s1 in [[RANK1]] [1, 1, 1, 2]{{$}}

pipe.cluster @c channels<rendezvous> {
  pipe.device @d0
  pipe.device @d1
}
pipe.model @m {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 0, weight_grad_ns = 0, output_bytes = 64, weight_bytes = 256>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 0, output_bytes = 64>
}
pipe.plan @p of @m on @c microbatches(5) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @main of @p {
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.forward @s0[1]
    pipe.forward @s0[2]
    pipe.forward @s0[3]
    pipe.input_grad @s0[0]
    pipe.weight_grad @s0[0]
    pipe.forward @s0[4]
    pipe.backward @s0[1]
    pipe.input_grad @s0[2]
    pipe.weight_grad @s0[2]
    pipe.backward @s0[3]
    pipe.input_grad @s0[4]
    pipe.weight_grad @s0[4]
  }
  pipe.rank 1 {
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    pipe.forward @s1[1]
    pipe.input_grad @s1[1]
    pipe.forward @s1[2]
    pipe.forward @s1[3]
    pipe.forward @s1[4]
    pipe.weight_grad @s1[1]
    pipe.backward @s1[2]
    pipe.backward @s1[3]
    pipe.backward @s1[4]
  }
}
