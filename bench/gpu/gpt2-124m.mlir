// GPT-2 124M at sequence 1024, for bench/gpu: as one stage, and as four on four
// ranks, which one GPU can run looped back.

pipe.cluster @one { pipe.device @gpu }
pipe.cluster @four { pipe.device @gpu0  pipe.device @gpu1  pipe.device @gpu2  pipe.device @gpu3 }

pipe.model @gpt2 gpt<vocab = 50257, sequence = 1024, hidden = 768, heads = 12,
                     ffn = 3072, batch = 8, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @h4 block
  pipe.layer @h5 block
  pipe.layer @h6 block
  pipe.layer @h7 block
  pipe.layer @h8 block
  pipe.layer @h9 block
  pipe.layer @h10 block
  pipe.layer @h11 block
  pipe.layer @ln_f head
}

pipe.plan @step1 of @gpt2 on @one microbatches(8) target<cuda, bf16> {
  pipe.stage @s0 [@wte, @h0, @h1, @h2, @h3, @h4, @h5, @h6, @h7, @h8, @h9, @h10,
                  @h11, @ln_f] on 0
}
pipe.plan @step4 of @gpt2 on @four microbatches(8) target<cuda, bf16> {
  pipe.stage @s0 [@wte, @h0, @h1, @h2] on 0
  pipe.stage @s1 [@h3, @h4, @h5] on 1
  pipe.stage @s2 [@h6, @h7, @h8] on 2
  pipe.stage @s3 [@h9, @h10, @h11, @ln_f] on 3
}

pipe.schedule @one_stage of @step1 family<"1f1b">
pipe.schedule @four_stages of @step4 family<"1f1b">
