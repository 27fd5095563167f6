//===- CountsTest.cpp - Plurals of the nouns of messages ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"

#include "gtest/gtest.h"

using namespace rondo;

namespace {

struct Noun {
  const char *one, *several;
};

// All that messages count; test/scripts/nouns.test finds any that is missing.
constexpr Noun nouns[] = {
    {"GPU", "GPUs"},
    {"batch", "batches"},
    {"block", "blocks"},
    {"buffer", "buffers"},
    {"byte", "bytes"},
    {"candidate", "candidates"},
    {"check", "checks"},
    {"round", "rounds"},
    {"nic", "nics"},
    {"cell", "cells"},
    {"chunk", "chunks"},
    {"column", "columns"},
    {"core", "cores"},
    {"device", "devices"},
    {"document", "documents"},
    {"domain", "domains"},
    {"expert", "experts"},
    {"head", "heads"},
    {"host link", "host links"},
    {"layout", "layouts"},
    {"pipeline rank", "pipeline ranks"},
    {"edge", "edges"},
    {"element", "elements"},
    {"entry", "entries"},
    {"file", "files"},
    {"forward", "forwards"},
    {"recomputation", "recomputations"},
    {"replica", "replicas"},
    {"input", "inputs"},
    {"iteration", "iterations"},
    {"layer", "layers"},
    {"link", "links"},
    {"list", "lists"},
    {"micro-batch", "micro-batches"},
    {"moment", "moments"},
    {"more such tensor", "more such tensors"},
    {"node", "nodes"},
    {"number", "numbers"},
    {"size", "sizes"},
    {"optimizer step", "optimizer steps"},
    {"other task", "other tasks"},
    {"pair", "pairs"},
    {"part", "parts"},
    {"shard", "shards"},
    {"plan", "plans"},
    {"problem", "problems"},
    {"range", "ranges"},
    {"rank", "ranks"},
    {"receive slot", "receive slots"},
    {"receive", "receives"},
    {"replica", "replicas"},
    {"sample", "samples"},
    {"schedule", "schedules"},
    {"send", "sends"},
    {"shard", "shards"},
    {"slot", "slots"},
    {"stage", "stages"},
    {"stream", "streams"},
    {"step", "steps"},
    {"task", "tasks"},
    {"tensor", "tensors"},
    {"thread", "threads"},
    {"time", "times"},
    {"token", "tokens"},
    {"update", "updates"},
    {"version", "versions"},
    {"weight", "weights"},
};

TEST(Counts, HaveTheirPlural) {
  for (const Noun &noun : nouns) {
    EXPECT_EQ(countOf(1, noun.one), "1 " + std::string(noun.one));
    for (int64_t count : {0, 2, 11, 101})
      EXPECT_EQ(countOf(count, noun.one),
                std::to_string(count) + " " + noun.several);
    EXPECT_EQ(nounFor(1, noun.one), noun.one);
    EXPECT_EQ(nounFor(2, noun.one), noun.several);
  }
}

TEST(Counts, FollowTheEndOfTheNoun) {
  EXPECT_EQ(pluralOf("branch"), "branches");
  EXPECT_EQ(pluralOf("flash"), "flashes");
  EXPECT_EQ(pluralOf("process"), "processes");
  EXPECT_EQ(pluralOf("box"), "boxes");
  EXPECT_EQ(pluralOf("copy"), "copies");
  EXPECT_EQ(pluralOf("delay"), "delays");
  EXPECT_EQ(pluralOf("key"), "keys");
}

} // namespace
