// Models of Llama's family: full and shortest forms.
// RUN: rondo-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: pipe.model @short llama<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> {
pipe.model @short llama<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1, kv_heads = 0,
                        head_width = 0, tied = false, norm_epsilon = 0.00001, rope_theta = 10000,
                        qkv_bias = false, head_norm = false> {
  // CHECK-NEXT: pipe.layer @embed_tokens embedding{{$}}
  pipe.layer @embed_tokens embedding
  // CHECK-NEXT: pipe.layer @model.layers.0 block{{$}}
  pipe.layer @model.layers.0 block
  // CHECK-NEXT: pipe.layer @lm_head head{{$}}
  pipe.layer @lm_head head
}

// CHECK-LABEL: pipe.model @full llama<
// CHECK-SAME: vocab = 8, sequence = 4, hidden = 6, heads = 4, kv_heads = 2, head_width = 2, ffn = 8, batch = 1, tied = true,
// CHECK-SAME: norm_epsilon = 9.9999999999999995E-7, rope_theta = 5.000000e+05,
// CHECK-SAME: rope_scaling = llama3<factor = 8.000000e+00, low_frequency = 1.000000e+00, high_frequency = 4.000000e+00, original_positions = 8192>,
// CHECK-SAME: qkv_bias = true, head_norm = true> {
pipe.model @full llama<vocab = 8, sequence = 4, hidden = 6, heads = 4, kv_heads = 2, head_width = 2, ffn = 8, batch = 1,
                       tied = true, norm_epsilon = 1.0e-6, rope_theta = 500000,
                       rope_scaling = llama3<factor = 8, low_frequency = 1.0, high_frequency = 4,
                                             original_positions = 8192>,
                       qkv_bias = true, head_norm = true> {
  pipe.layer @embed_tokens embedding
  pipe.layer @mlp custom<body = "mlp", output_bytes = 128>
  pipe.layer @lm_head head
}
