// The target that plans are compiled for; their previous targets are ignored.
// RUN: rondo-opt %s --pipe-set-target="target=cuda dtype=bf16" | FileCheck %s --check-prefix=BF16
// RUN: rondo-opt %s --pipe-set-target="target=cuda" | FileCheck %s --check-prefix=FP32
// RUN: rondo-opt %s --pipe-set-target="target=cpu" | FileCheck %s --check-prefix=CPU

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }

// BF16: pipe.plan @silent of @timed on @lab microbatches(8) target<cuda, bf16> {
// FP32: pipe.plan @silent of @timed on @lab microbatches(8) target<cuda, fp32> {
// CPU: pipe.plan @silent of @timed on @lab microbatches(8) {
pipe.plan @silent of @timed on @lab microbatches(8) { pipe.stage @s0 [@l0] on 0 }
// BF16: pipe.plan @says of @timed on @lab microbatches(8) target<cuda, bf16> {
// FP32: pipe.plan @says of @timed on @lab microbatches(8) target<cuda, fp32> {
// CPU: pipe.plan @says of @timed on @lab microbatches(8) {
pipe.plan @says of @timed on @lab microbatches(8) target<cuda, bf16> { pipe.stage @s0 [@l0] on 0 }
// The limit of launches in flight stays, on GPUs.
// BF16: pipe.plan @few of @timed on @lab microbatches(8) target<cuda, bf16, resident = 4> {
// FP32: pipe.plan @few of @timed on @lab microbatches(8) target<cuda, fp32, resident = 4> {
// CPU: pipe.plan @few of @timed on @lab microbatches(8) {
pipe.plan @few of @timed on @lab microbatches(8) target<cuda, bf16, resident = 4> { pipe.stage @s0 [@l0] on 0 }
