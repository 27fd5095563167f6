// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Named parts of what F of a custom layer saves: places, addresses, checks.

#include "SimpleBody.h"

#include "runtime/bodies/custom.h"
#include "runtime/bodies/gradient_check.h"
#include "runtime/model/documents.h"
#include "runtime/model/share.h"
#include "test/unit/ErrorThrownBy.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace rondo::runtime::listed_parts {
namespace {

constexpr int64_t width = simpleWidth;
enum { Input, Slope, Product };

/// The error that the body makes.
enum class Mistake { None, WritesPastThePart, ReadsInI, WritesInI };
Mistake mistake;
std::vector<void *> addresses;
bool isWhole;
int32_t numSaved = 3;

/// y = (w * x)^2, where both tasks read the product and I the slope.
const char *sizes(const rondo_layer *layer, rondo_sizes *out) {
  const int64_t bytes = 4 * width * layer->batch;
  out->weight_bytes = 4 * width;
  out->output_bytes = bytes;
  out->kept_for_weight_grad_bytes = bytes;
  out->num_saved = numSaved;
  out->saved[Input] = {"x", bytes, RONDO_READ_BY_WEIGHT_GRAD};
  out->saved[Slope] = {"slope", bytes, RONDO_READ_BY_INPUT_GRAD};
  out->saved[Product] = {"product", bytes, RONDO_READ_BY_BOTH};
  return nullptr;
}
void remember(const rondo_task *task) {
  addresses.assign(task->saved, task->saved + 3);
  isWhole = task->saved_for_input_grad || task->saved_for_weight_grad;
}
const char *forward(const rondo_layer *layer, const rondo_task *task) {
  remember(task);
  const int64_t count = width * layer->batch;
  for (int64_t i = 0; i < count && task->output; ++i) {
    const float x = floats(task->inputs[0])[i],
                product = floats(task->weights)[i % width] * x;
    floats(task->saved[Input])[i] = x;
    floats(task->saved[Slope])[i] = 2 * floats(task->weights)[i % width];
    floats(task->saved[Product])[i] = product;
    floats(task->output)[i] = product * product;
  }
  if (mistake == Mistake::WritesPastThePart)
    floats(task->saved[Slope])[count] = 1;
  return nullptr;
}
const char *inputGrad(const rondo_layer *layer, const rondo_task *task) {
  remember(task);
  for (int64_t i = 0; i < width * layer->batch && task->output_grad; ++i) {
    const float grad = floats(task->output_grad)[i],
                product = floats(task->saved[Product])[i];
    floats(task->kept_for_weight_grad)[i] = grad;
    floats(task->input_grads[0])[i] =
        grad * product * floats(task->saved[Slope])[i];
    if (mistake == Mistake::ReadsInI)
      floats(task->input_grads[0])[i] += 0 * floats(task->saved[Input])[i];
    if (mistake == Mistake::WritesInI)
      floats(task->saved[Input])[i] = 0;
  }
  return nullptr;
}
const char *weightGrad(const rondo_layer *layer, const rondo_task *task) {
  remember(task);
  for (int64_t i = 0; i < width * layer->batch && task->gradients; ++i)
    floats(task->gradients)[i % width] += 2 * floats(task->saved[Product])[i] *
                                          floats(task->saved[Input])[i] *
                                          floats(task->kept_for_weight_grad)[i];
  return nullptr;
}

class ListedPart : public testing::Test {
protected:
  ListedPart() {
    mistake = Mistake::None;
    numSaved = 3;
    layer.name = "square";
    layer.kind = LayerKind::Custom;
    layer.batch = 2;
    layer.numInputs = 1;
    layer.inputBytes[0] = layer.outputBytes = layer.inputGradKeepsBytes = 128;
    layer.inputGradFreesBytes = 128;
    layer.activationBytes = 384;
    layer.weightBytes = 64;
    layer.custom.name = "square";
    layer.custom.body = &body;
    layer.custom.numParts = 3;
    layer.custom.parts[Input] = {"x", ReadBy::WeightGrad, 128, 2, bytes};
    layer.custom.parts[Slope] = {"slope", ReadBy::InputGrad, 128, 2, bytes};
    layer.custom.parts[Product] = {"product", ReadBy::Both, 128, 2, bytes};
    layer.custom.numSizes = 2;
    layer.custom.sizes[0] = {1, 64, 128, 64, 64, 0, 0, 0, {0, 0, 0}};
    layer.custom.sizes[1] = {2, 128, 256, 128, 128, 0, 0, 0, {0, 0, 0}};
  }

  std::string error() {
    return errorThrownBy([this] { checkCustomLayer(layer); });
  }
  /// The addresses that a task gets of parts that lie in these buffers.
  std::vector<void *> placesIn(CustomTask task) {
    LayerArgs args{};
    args.savedForInputGrad = forI;
    args.savedForWeightGrad = forW;
    args.awayForInputGrad = awayForI;
    args.awayForWeightGrad = awayForW;
    runCustom(layer, args, task, nullptr);
    EXPECT_FALSE(isWhole);
    return addresses;
  }
  std::string faultWith(Mistake made) {
    mistake = made;
    return checkGradients(layer, tasksOf(layer, cpuBody(layer.kind)), 3).fault;
  }

  static constexpr int64_t bytes[] = {64, 128};
  alignas(64) char forI[256], forW[256], awayForI[256], awayForW[256];
  const rondo_body body =
      simpleBody(sizes, {forward, inputGrad, weightGrad, nullptr, nullptr});
  LayerDesc layer{};
};
constexpr int64_t ListedPart::bytes[];

TEST_F(ListedPart, LieInTheBuffersOfTheirReaders) {
  EXPECT_EQ(error(), "");
  const LayerSizes sizes = layerSizes(layer);
  EXPECT_EQ(sizes.savedForInputGrad, 128);
  EXPECT_EQ(sizes.savedForWeightGrad, 256);
  EXPECT_EQ(sizes.awayForInputGrad + sizes.awayForWeightGrad, 0);
  EXPECT_EQ(placesIn(&rondo_functions::forward),
            (std::vector<void *>{forW, forI, forW + 128}));
}

TEST_F(ListedPart, LeavesAlone) {
  layer.offloads = bitOfListed(Product) | bitOfListed(Slope);
  const LayerSizes sizes = layerSizes(layer);
  EXPECT_EQ(sizes.savedForInputGrad, 128);
  EXPECT_EQ(sizes.awayForInputGrad, 128);
  EXPECT_EQ(sizes.savedForWeightGrad, 256);
  EXPECT_EQ(sizes.awayForWeightGrad, 128);
  EXPECT_EQ(placesIn(&rondo_functions::forward),
            (std::vector<void *>{forW, awayForI, awayForW}));
}

TEST_F(ListedPart, LeavesWithTheBufferOfItsReaders) {
  layer.offloads = bitOf(Part::ForWeightGrad);
  EXPECT_EQ(layerSizes(layer).awayForWeightGrad, 256);
  EXPECT_EQ(layerSizes(layer).awayForInputGrad, 0);
  EXPECT_EQ(placesIn(&rondo_functions::forward),
            (std::vector<void *>{awayForW, forI, awayForW + 128}));
}

TEST_F(ListedPart, IsUnknownToTasksThatDoNotReadIt) {
  layer.offloads = bitOfListed(Input) | leavesUntilWeightGrad;
  EXPECT_EQ(placesIn(&rondo_functions::input_grad),
            (std::vector<void *>{nullptr, forI, forW}));
  LayerArgs args{};
  args.savedForWeightGrad = forW;
  args.awayForWeightGrad = awayForW;
  runCustom(layer, args, &rondo_functions::weight_grad, nullptr);
  EXPECT_EQ(addresses, (std::vector<void *>{awayForW, nullptr, forW}));
}

TEST_F(ListedPart, HasTheBytesOfItsSamples) {
  const LayerDesc share = shareOf(layer, {1, 1}, 2);
  EXPECT_EQ(share.custom.parts[Product].bytes, 64);
  EXPECT_EQ(layerSizes(share).savedForWeightGrad, 128);
  EXPECT_EQ(layerSizes(share).savedForInputGrad, 64);
  layer.sequence = 32;
  const LayerDesc row = rowOfDocuments(layer, 40);
  EXPECT_EQ(row.custom.parts[Product].bytes, 80);
  EXPECT_EQ(layerSizes(row).savedForWeightGrad, 256);
}

TEST_F(ListedPart, HasTheNameAndSizeOfTheBody) {
  layer.custom.parts[Slope].bytes = 64;
  layer.custom.parts[Slope].readBy = ReadBy::Both;
  EXPECT_EQ(
      error(),
      "layer 'square': the program was compiled for saved = [part<name = "
      "\"x\", bytes = 128, read_by = weight_grad>, part<name = \"slope\", "
      "bytes = 64>, part<name = \"product\", bytes = 128>] for 2 samples, but "
      "body 'square' needs saved = [part<name = \"x\", bytes = 128, read_by = "
      "weight_grad>, part<name = \"slope\", bytes = 128, read_by = "
      "input_grad>, part<name = \"product\", bytes = 128>] for 2 samples: "
      "write that into the model and compile it again");
  layer.custom.numParts = 0;
  EXPECT_EQ(error(),
            "layer 'square': the program was compiled for "
            "saved_for_input_grad_bytes = 128, saved_for_weight_grad_bytes = "
            "256, saved = [] for 2 samples, but body 'square' needs "
            "saved_for_input_grad_bytes = 0, saved_for_weight_grad_bytes = 0, "
            "saved = [part<name = \"x\", bytes = 128, read_by = "
            "weight_grad>, part<name = \"slope\", bytes = 128, read_by = "
            "input_grad>, part<name = \"product\", bytes = 128>] for 2 "
            "samples: write that into the model and compile it again");
  numSaved = RONDO_MAX_SAVED + 1;
  EXPECT_EQ(error(), "layer 'square': `sizes` of body 'square' returns "
                     "num_saved = 33; a layer has 0 to 32 named parts");
}

TEST_F(ListedPart, IsReadByTheTasksThatItNames) {
  EXPECT_EQ(faultWith(Mistake::None), "");
  EXPECT_EQ(faultWith(Mistake::WritesPastThePart),
            "F writes past the end of the saved part 'slope', 32 numbers: "
            "first at element 32");
  EXPECT_EQ(faultWith(Mistake::ReadsInI),
            "I does not write all of an input's gradient, or reads a buffer "
            "that no longer holds its content");
  EXPECT_EQ(faultWith(Mistake::WritesInI),
            "I writes to the saved part 'x', which W alone reads (read_by)");
  // Copies do not matter to the check.
  layer.offloads = bitOfListed(Input) | leavesUntilWeightGrad;
  EXPECT_EQ(faultWith(Mistake::None), "");
}

} // namespace
} // namespace rondo::runtime::listed_parts
