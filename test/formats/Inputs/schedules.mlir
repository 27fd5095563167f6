pipe.schedule @a of @"two stages" family<"gpipe">
pipe.schedule @b of @"two stages" family<"kfkb", k = 3>
pipe.schedule @c of @"two stages" family<"zb-h1">
pipe.schedule @d of @"two stages" {
  pipe.rank 0 {
    pipe.for %i = 0 to 4 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 { pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
  pipe.link_order 0 -> 1 { pipe.for %i = 0 to 4 { pipe.forward @s0[%i] } }
}
pipe.schedule @e of @one family<"1f1b">
}
