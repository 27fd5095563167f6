//===- convolution.cpp - Convolutions of compiled graphs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Over images [samples, channels, height, width], or over sequences, which are
// images of height 1. Each product is one of matrices: the inputs of a block of
// output pixels become the columns of a matrix [taps, pixels] ("im2col",
// Chellapilla et al. 2006). Sums have one order, whatever the threads.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"
#include "runtime/bodies/linear.h"
#include "runtime/torch/tensor.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>

namespace rondo::torch {

namespace {

using runtime::multiply;

/// Elements of a matrix of columns, which stays in a core's cache.
constexpr int64_t maxColumns = 1 << 17;
constexpr int64_t minBlock = 16;

/// Arguments of PyTorch's functions, one element for each spatial dimension.
struct Options {
  const int64_t *stride, *padding, *dilation;
  int64_t groups;
};

/// Sizes of a convolution over images.
struct Convolution {
  int64_t samples, channels, height, width;
  int64_t outChannels, outHeight, outWidth;
  int64_t kernelHeight, kernelWidth;
  int64_t groups;
  int64_t stride[2], padding[2], dilation[2];

  int64_t groupChannels() const { return channels / groups; }
  int64_t groupOutChannels() const { return outChannels / groups; }
  int64_t kernel() const { return kernelHeight * kernelWidth; }
  int64_t taps() const { return groupChannels() * kernel(); }
  int64_t pixels() const { return outHeight * outWidth; }
  /// Output pixels whose columns are in memory at once.
  int64_t block() const {
    return std::min(pixels(), std::max(minBlock, maxColumns / taps()));
  }
};

/// A tensor as one of images.
Tensor imageOf(const Tensor &tensor) {
  Tensor image = tensor;
  if (tensor.numDims == 3) {
    image.numDims = 4;
    image.sizes[3] = tensor.sizes[2];
    image.strides[3] = tensor.strides[2];
    image.sizes[2] = 1;
    image.strides[2] = tensor.sizes[2] * tensor.strides[2];
  }
  return image;
}

/// Whether PyTorch takes the tensor for one with consecutive channels; it then
/// gives the results of a convolution the same layout (c10/core/MemoryFormat.h,
/// is_channels_last_strides_2d).
bool isChannelsLast(const Tensor &tensor) {
  if (tensor.numDims != 4 || tensor.strides[1] == 0)
    return false;
  int64_t least = 0;
  for (const int32_t d : {1, 3, 2, 0}) {
    if (tensor.sizes[d] == 0 || tensor.strides[d] < least)
      return false;
    if (d == 0 && least == tensor.strides[1])
      return false;
    least = tensor.strides[d] * std::max<int64_t>(tensor.sizes[d], 1);
  }
  return true;
}

/// to = from, both of four dimensions.
void copyImage(const Tensor &from, const Tensor &to) {
  const int64_t *in = from.strides, *out = to.strides;
  for (int64_t n = 0; n < from.sizes[0]; ++n)
    for (int64_t c = 0; c < from.sizes[1]; ++c)
      for (int64_t y = 0; y < from.sizes[2]; ++y) {
        const float *row = from.floats() + n * in[0] + c * in[1] + y * in[2];
        float *result = to.floats() + n * out[0] + c * out[1] + y * out[2];
        for (int64_t x = 0; x < from.sizes[3]; ++x)
          result[x * out[3]] = row[x * in[3]];
      }
}

/// A tensor of images in consecutive memory: its own, or a copy.
class Dense {
public:
  enum class Use { Read, Write };

  Dense(const Tensor &tensor, Use use) : image(imageOf(tensor)), use(use) {
    if (isContiguous(image))
      return;
    copy.emplace(image.count());
    if (use == Use::Read)
      copyImage(image, copied());
  }
  ~Dense() {
    if (copy && use == Use::Write)
      copyImage(copied(), image);
  }
  Dense(const Dense &) = delete;

  float *floats() const { return copy ? copy->floats() : image.floats(); }

private:
  Tensor copied() const {
    Tensor result = image;
    result.storage = reinterpret_cast<char *>(copy->floats());
    result.offset = 0;
    int64_t stride = 1;
    for (int32_t d = 3; d >= 0; --d) {
      result.strides[d] = stride;
      stride *= image.sizes[d];
    }
    return result;
  }

  Tensor image;
  Use use;
  std::optional<Scratch> copy;
};

/// A result of a convolution, in the layout that graphs expect.
Tensor *makeResult(const Tensor &input, const Tensor &weight, int32_t numDims,
                   const int64_t *sizes) {
  int64_t strides[4], stride = 1;
  const bool channelsLast = isChannelsLast(input) || isChannelsLast(weight);
  const int32_t contiguous[] = {3, 2, 1, 0}, last[] = {1, 3, 2, 0};
  for (int32_t i = 0; i < 4; ++i) {
    const int32_t d = channelsLast ? last[i] : contiguous[i];
    if (d >= numDims)
      continue;
    strides[d] = stride;
    stride *= sizes[d];
  }
  return allocate(int32_t(ScalarType::Float32), numDims, sizes, strides);
}

/// A block of output pixels of one group of one sample.
struct Block {
  int64_t sample, group, first, count;
};

/// The row of a tap in the columns of a block, and the channel that it reads.
struct TapRow {
  int64_t tap;
  float *columns, *channel;
};

/// Calls visit(column, count, pixel, step) for runs of a row: `pixel` is the
/// first of the input pixels, `step` elements apart, that belong to the run, or
/// null if the run lies in the padding.
template <typename Visit>
void forRuns(const Convolution &of, const Block &block, const Tensor &images,
             const TapRow &row, const Visit &visit) {
  const int64_t i = row.tap / of.kernelWidth, j = row.tap % of.kernelWidth;
  const int64_t last = block.first + block.count;
  const int64_t stride = of.stride[1];
  const int64_t shift = j * of.dilation[1] - of.padding[1];
  // Output columns [begin, end) read input columns x * stride + shift.
  auto firstFrom = [&](int64_t x) {
    return std::clamp<int64_t>((x - shift + stride - 1) / stride, 0,
                               of.outWidth);
  };
  const int64_t begin = shift >= 0 ? 0 : firstFrom(0);
  const int64_t end = of.width <= shift ? 0 : firstFrom(of.width);
  for (int64_t p = block.first; p < last;) {
    const int64_t y = p / of.outWidth, x = p % of.outWidth;
    const int64_t length = std::min(of.outWidth - x, last - p);
    const int64_t inY = y * of.stride[0] + i * of.dilation[0] - of.padding[0];
    const bool isInside = inY >= 0 && inY < of.height;
    const int64_t low = isInside ? std::clamp(begin, x, x + length) : x;
    const int64_t high =
        isInside ? std::max(low, std::clamp(end, x, x + length)) : low;
    float *out = row.columns + p - block.first;
    if (low > x)
      visit(out, low - x, nullptr, 0);
    if (high > low)
      visit(out + low - x, high - low,
            row.channel + inY * images.strides[2] +
                (low * stride + shift) * images.strides[3],
            stride * images.strides[3]);
    if (x + length > high)
      visit(out + high - x, x + length - high, nullptr, 0);
    p += length;
  }
}

/// Calls forRuns() for all taps, a channel in one thread.
template <typename Visit>
void forTaps(const Convolution &of, const Block &block, const Tensor &images,
             float *columns, const Visit &visit) {
  runtime::forRanges(
      of.groupChannels(), of.kernel() * block.count,
      [&](int64_t firstChannel, int64_t channels) {
        for (int64_t c = firstChannel; c < firstChannel + channels; ++c) {
          float *channel =
              images.floats() + block.sample * images.strides[0] +
              (block.group * of.groupChannels() + c) * images.strides[1];
          for (int64_t k = 0; k < of.kernel(); ++k)
            forRuns(of, block, images,
                    {k, columns + (c * of.kernel() + k) * block.count, channel},
                    visit);
        }
      });
}

void gather(const Convolution &of, const Block &block, const Tensor &images,
            float *columns) {
  forTaps(of, block, images, columns,
          [](float *column, int64_t count, const float *pixel, int64_t step) {
            for (int64_t x = 0; x < count; ++x)
              column[x] = pixel ? pixel[x * step] : 0;
          });
}

void scatter(const Convolution &of, const Block &block, const Tensor &images,
             float *columns) {
  forTaps(of, block, images, columns,
          [](const float *column, int64_t count, float *pixel, int64_t step) {
            for (int64_t x = 0; pixel && x < count; ++x)
              pixel[x * step] += column[x];
          });
}

template <typename Each>
void forBlocks(const Convolution &of, const Each &each) {
  for (int64_t sample = 0; sample < of.samples; ++sample)
    for (int64_t group = 0; group < of.groups; ++group)
      for (int64_t first = 0; first < of.pixels(); first += of.block())
        each(Block{sample, group, first,
                   std::min(of.block(), of.pixels() - first)});
}

/// The first element of a block in dense output images.
float *outputOf(const Convolution &of, const Block &block, float *images) {
  return images +
         (block.sample * of.outChannels + block.group * of.groupOutChannels()) *
             of.pixels() +
         block.first;
}

/// The first weight of a block's group.
float *weightOf(const Convolution &of, const Block &block, float *weights) {
  return weights + block.group * of.groupOutChannels() * of.taps();
}

void forward(const Convolution &of, const Tensor &input, const Tensor &weight,
             const Tensor *bias, const Tensor &output) {
  const Tensor images = imageOf(input);
  const Dense weights(weight, Dense::Use::Read), out(output, Dense::Use::Write);
  const Scratch columns(of.taps() * of.block());
  for (int64_t n = 0; bias && n < of.samples; ++n)
    for (int64_t c = 0; c < of.outChannels; ++c)
      std::fill_n(out.floats() + (n * of.outChannels + c) * of.pixels(),
                  of.pixels(), bias->floats()[c * bias->strides[0]]);
  forBlocks(of, [&](const Block &block) {
    gather(of, block, images, columns.floats());
    multiply(of.groupOutChannels(), block.count, of.taps(), 1.0f,
             {weightOf(of, block, weights.floats()), of.taps()},
             {columns.floats(), block.count}, bias ? 1.0f : 0.0f,
             outputOf(of, block, out.floats()), of.pixels());
  });
}

void inputGrad(const Convolution &of, float *outGrad, const Tensor &weight,
               const Tensor &inputGrad) {
  Tensor images = imageOf(inputGrad);
  std::fill_n(images.floats(), images.count(), 0.0f);
  const Dense weights(weight, Dense::Use::Read);
  const Scratch columns(of.taps() * of.block());
  forBlocks(of, [&](const Block &block) {
    multiply(of.taps(), block.count, of.groupOutChannels(), 1.0f,
             {weightOf(of, block, weights.floats()), of.taps(), true},
             {outputOf(of, block, outGrad), of.pixels()}, 0.0f,
             columns.floats(), block.count);
    scatter(of, block, images, columns.floats());
  });
}

void weightGrad(const Convolution &of, float *outGrad, const Tensor &input,
                const Tensor &weightGrad) {
  const Tensor images = imageOf(input);
  const Dense grad(weightGrad, Dense::Use::Write);
  std::fill_n(grad.floats(), weightGrad.count(), 0.0f);
  const Scratch columns(of.taps() * of.block());
  forBlocks(of, [&](const Block &block) {
    gather(of, block, images, columns.floats());
    multiply(of.groupOutChannels(), of.taps(), block.count, 1.0f,
             {outputOf(of, block, outGrad), of.pixels()},
             {columns.floats(), block.count, true}, 1.0f,
             weightOf(of, block, grad.floats()), of.taps());
  });
}

RONDO_VECTORISE void biasGrad(int64_t samples, int64_t channels, int64_t pixels,
                              const float *outGrad, float *grad) {
  for (int64_t c = 0; c < channels; ++c) {
    float sum = 0;
    for (int64_t n = 0; n < samples; ++n) {
      const float *image = outGrad + (n * channels + c) * pixels;
      sum +=
          runtime::laneSum<float>(pixels, [=](int64_t p) { return image[p]; });
    }
    grad[c] = sum;
  }
}

/// Null, or what convolutions do not have.
const char *unsupported(const Tensor &input, const Tensor &weight,
                        int32_t transposed) {
  if (!input.is(ScalarType::Float32) || !weight.is(ScalarType::Float32))
    return "takes fp32 tensors";
  if (transposed)
    return "is not transposed";
  if (input.numDims != weight.numDims || input.numDims < 3 || input.numDims > 4)
    return "has one or two dimensions, and samples";
  return nullptr;
}

/// Fails with a message if it is not a convolution of Rondo's.
bool describe(const Tensor &input, const Tensor &weight, int32_t transposed,
              const Options &options, Convolution &of) {
  if (const char *what = unsupported(input, weight, transposed)) {
    fail(std::string("a convolution ") + what);
    return false;
  }
  const Tensor images = imageOf(input), kernels = imageOf(weight);
  of.samples = images.sizes[0];
  of.channels = images.sizes[1];
  of.height = images.sizes[2];
  of.width = images.sizes[3];
  of.outChannels = kernels.sizes[0];
  of.kernelHeight = kernels.sizes[2];
  of.kernelWidth = kernels.sizes[3];
  of.groups = options.groups;
  // A sequence has no options for its height.
  const int32_t missing = 4 - input.numDims;
  for (int32_t d = 0; d < 2; ++d) {
    of.stride[d] = d < missing ? 1 : options.stride[d - missing];
    of.padding[d] = d < missing ? 0 : options.padding[d - missing];
    of.dilation[d] = d < missing ? 1 : options.dilation[d - missing];
  }
  auto outputs = [&](int32_t d, int64_t in, int64_t kernel) {
    return (in + 2 * of.padding[d] - of.dilation[d] * (kernel - 1) - 1) /
               of.stride[d] +
           1;
  };
  of.outHeight = outputs(0, of.height, of.kernelHeight);
  of.outWidth = outputs(1, of.width, of.kernelWidth);
  return true;
}

} // namespace

extern "C" {

int32_t aoti_torch_cpu_convolution(Tensor *input, Tensor *weight, Tensor **bias,
                                   const int64_t *stride, int64_t,
                                   const int64_t *padding, int64_t,
                                   const int64_t *dilation, int64_t,
                                   int32_t transposed, const int64_t *, int64_t,
                                   int64_t groups, Tensor **result) try {
  Convolution of;
  if (!describe(*input, *weight, transposed,
                {stride, padding, dilation, groups}, of))
    return 1;
  const int64_t images[] = {of.samples, of.outChannels, of.outHeight,
                            of.outWidth};
  const int64_t sequences[] = {of.samples, of.outChannels, of.outWidth};
  *result = makeResult(*input, *weight, input->numDims,
                       input->numDims == 4 ? images : sequences);
  if (!*result)
    return failMemory("a convolution");
  forward(of, *input, *weight, bias ? *bias : nullptr, **result);
  return 0;
} catch (const std::bad_alloc &) {
  return failMemory("a convolution");
}

// A graph gives no address for the gradient that its mask leaves out.
int32_t aoti_torch_cpu_convolution_backward(
    Tensor *outGrad, Tensor *input, Tensor *weight, const int64_t **, int64_t,
    const int64_t *stride, int64_t, const int64_t *padding, int64_t,
    const int64_t *dilation, int64_t, int32_t transposed, const int64_t *,
    int64_t, int64_t groups, const int32_t *mask, int64_t, Tensor **inputResult,
    Tensor **weightResult, Tensor **biasResult) try {
  Convolution of;
  if (!describe(*input, *weight, transposed,
                {stride, padding, dilation, groups}, of))
    return 1;
  if (mask[0])
    *inputResult = makeResult(*input, *weight, input->numDims, input->sizes);
  if (mask[1])
    *weightResult = makeResult(*input, *weight, weight->numDims, weight->sizes);
  const int64_t one = 1;
  if (mask[2])
    *biasResult =
        allocate(int32_t(ScalarType::Float32), 1, &of.outChannels, &one);
  if ((mask[0] && !*inputResult) || (mask[1] && !*weightResult) ||
      (mask[2] && !*biasResult))
    return failMemory("a convolution");
  const Dense grad(*outGrad, Dense::Use::Read);
  if (mask[0])
    inputGrad(of, grad.floats(), *weight, **inputResult);
  if (mask[1])
    weightGrad(of, grad.floats(), *input, **weightResult);
  if (mask[2])
    biasGrad(of.samples, of.outChannels, of.pixels(), grad.floats(),
             (*biasResult)->floats());
  return 0;
} catch (const std::bad_alloc &) {
  return failMemory("a convolution");
}

} // extern "C"

} // namespace rondo::torch
