// GPT-2 124M on micro-batches of 8,192 tokens, as one stage: samples, documents
// as long as samples, of an eighth of that, and of lengths that differ. With the
// second, attention has as many pairs of tokens as with samples, with the third
// an eighth, and with the last 63 %. A last one draws documents for each
// iteration.

pipe.cluster @one { pipe.device @gpu }

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

pipe.plan @samples of @gpt2 on @one microbatches(4) target<cuda, bf16> {
  pipe.stage @of_samples [@wte, @h0, @h1, @h2, @h3, @h4, @h5, @h6, @h7,
                       @h8, @h9, @h10, @h11, @ln_f] on 0
}
pipe.plan @long of @gpt2 on @one microbatches(4)
    documents [
      [1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024],
      [1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024],
      [1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024],
      [1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024]] target<cuda, bf16> {
  pipe.stage @of_long [@wte, @h0, @h1, @h2, @h3, @h4, @h5, @h6, @h7,
                       @h8, @h9, @h10, @h11, @ln_f] on 0
}
pipe.plan @short of @gpt2 on @one microbatches(4)
    documents [
      [128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128],
      [128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128],
      [128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128],
      [128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
       128, 128, 128, 128, 128, 128, 128, 128]] target<cuda, bf16> {
  pipe.stage @of_short [@wte, @h0, @h1, @h2, @h3, @h4, @h5, @h6, @h7,
                       @h8, @h9, @h10, @h11, @ln_f] on 0
}
pipe.plan @mixed of @gpt2 on @one microbatches(4)
    documents [
      [554, 54, 228, 292, 421, 442, 308, 130, 302, 641, 184, 104, 164, 701,
       133, 355, 142, 29, 162, 296, 84, 1024, 274, 167, 198, 619, 184],
      [50, 477, 703, 74, 129, 1024, 227, 233, 202, 244, 93, 80, 1024, 789,
       111, 118, 1024, 451, 67, 173, 854, 45],
      [1024, 48, 1024, 261, 1024, 790, 394, 771, 400, 628, 567, 183, 53, 309,
       230, 167, 222, 97],
      [58, 129, 195, 303, 275, 1024, 627, 1024, 188, 357, 326, 52, 308, 1024,
       168, 126, 904, 306, 798]] target<cuda, bf16> {
  pipe.stage @of_mixed [@wte, @h0, @h1, @h2, @h3, @h4, @h5, @h6, @h7,
                       @h8, @h9, @h10, @h11, @ln_f] on 0
}
pipe.plan @drawn of @gpt2 on @one microbatches(4) tokens<most = 8192, in_flight = 8192> target<cuda, bf16> {
  pipe.stage @of_drawn [@wte, @h0, @h1, @h2, @h3, @h4, @h5, @h6, @h7,
                       @h8, @h9, @h10, @h11, @ln_f] on 0
}
pipe.schedule @even of @samples family<"1f1b">
pipe.schedule @long_documents of @long family<"1f1b">
pipe.schedule @short_documents of @short family<"1f1b">
pipe.schedule @mixed_documents of @mixed family<"1f1b">
pipe.schedule @drawn_documents of @drawn family<"1f1b">
