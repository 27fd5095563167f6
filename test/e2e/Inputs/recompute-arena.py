# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What recomputation must save of each rank's arena, compared with what it saves.

    recompute-arena.py KEPT RECOMPUTED

Both are lowered programs of one plan, without and with full recomputation, in
which each stage has a rank of its own and runs at most W micro-batches ahead
(1F1B: ranks - rank). Without, a stage holds W times what it saves. With, it
holds that once, while it recomputes; its workspace has room for what F of the
largest layer saves in vain; and its input stays W times instead of once, beside
one that has come. Prints what each rank saves; exits with 1 if the arenas say
something else.
"""

import re
import sys

SAVED = ("saved_for_input_grad", "saved_for_weight_grad")


def read(path):
    with open(path) as file:
        text = file.read()
    program = text[text.index("pipeline arena"):]
    arena = [int(n) for n in re.search(r"arena \[([^\]]*)\]", program).group(1).split(",")]
    stages = []
    for line in re.findall(r"pipe\.stage .*", text):
        stages.append({key: int(value) for key, value in re.findall(r"(\w+) = (\d+)", line[line.index("buffers<"):])})
    slots = []
    for rank in range(len(arena)):
        slots.append({int(size): int(count) for size, count in re.findall(
            rf"pipe\.pool @p\d+ on {rank} <offset = \d+, slot_bytes = (\d+), slots = (\d+)>", program)})
    return arena, stages, slots


kept_arena, kept, kept_slots = read(sys.argv[1])
again_arena, again, again_slots = read(sys.argv[2])
for rank, (before, after) in enumerate(zip(kept, again)):
    ahead = len(kept) - rank
    saved = sum(before.get(key, 0) for key in SAVED)
    assert saved == sum(after.get("recomputed" + key[len("saved"):], 0) for key in SAVED), (before, after)
    unkept = after["workspace"] - before["workspace"]
    message = after.get("input", after["output"] if "output" in after else 0)
    messages = (again_slots[rank].get(message, 0) - kept_slots[rank].get(message, 0)) * message
    expected = (ahead - 1) * saved - unkept - messages
    if kept_arena[rank] - again_arena[rank] != expected:
        sys.exit(f"rank {rank} saves {kept_arena[rank] - again_arena[rank]} bytes, not {expected}")
    print(f"rank {rank} saves {expected} bytes: {ahead - 1} x {saved} - {unkept} - {messages}")
