# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A text to train on, the same on every machine: sentences of words that are
# drawn with a linear congruence. Numbers stay below 2^53. -v lines=N makes it
# longer.
function draw(n) {
  state = state * 16807 % 2147483647
  return int(state / 64) % n
}
BEGIN {
  state = 1
  if (!lines)
    lines = 1500
  words = split("the a one stage rank forward backward gradient weight step " \
    "runs waits sends keeps before after while its next last small large", word, " ")
  for (line = 0; line < lines; ++line) {
    text = ""
    n = 4 + draw(6)
    for (i = 0; i < n; ++i)
      text = text (i ? " " : "") word[1 + draw(words)]
    print text "."
  }
}
