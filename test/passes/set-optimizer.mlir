// The optimizer whose moments memory is planned for.
// RUN: rondo-opt %s --pipe-set-optimizer="optimizer=sgd" --pipe-resolve-stages | FileCheck %s --check-prefix=SGD
// RUN: rondo-opt %s --pipe-set-optimizer="optimizer=plain_sgd" --pipe-resolve-stages | FileCheck %s --check-prefix=PLAIN
// RUN: rondo-opt %s --pipe-set-optimizer="optimizer=adamw" --pipe-resolve-stages | FileCheck %s --check-prefix=ADAMW
// RUN: rondo-opt %s --pipe-resolve-stages > %t.mlir
// RUN: not rondo-opt %t.mlir --pipe-set-optimizer="optimizer=adamw" 2>&1 | FileCheck %s --check-prefix=SIZES

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 32, sequence = 8, hidden = 16, heads = 2, ffn = 16, batch = 1, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// SGD: microbatches(2) optimizer(sgd) {
// SGD-NEXT: buffers<weights = [[BYTES:[0-9]+]], gradients = [[BYTES]], moments = [[BYTES]],
// PLAIN: microbatches(2) optimizer(plain_sgd) {
// PLAIN-NEXT: buffers<weights = [[BYTES:[0-9]+]], gradients = [[BYTES]], control =
// ADAMW: microbatches(2) {
// ADAMW-NEXT: buffers<weights = 4736, gradients = 4736, moments = 9472,
// SIZES: error: stage @s0 has the moments of sgd; adamw has others: leave its buffers out
pipe.plan @step of @gpt on @lab microbatches(2) optimizer(sgd) {
  pipe.stage @s0 [@wte, @head] on 0
}
