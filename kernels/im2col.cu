// The windows of images as the columns of a matrix, or as its rows, which makes convolution a matrix product, and what goes with
// it: the sum of such windows back into images, and the weight and bias as a matrix.
//
// Oracle: `cases/conv2d.rs`; agreement: bound: elements are moved without rounding; a pixel's gradient is an f32 sum over the
// windows that it lies in, in the order of their taps, rounded once.
//
// `im2col` and `col2im`: blocks of 256, `segments` for each row of the matrix or channel of the image, or fewer that stride.
// `im2col_last`, `col2im_last`: blocks of 256, `segments` for each row of windows or of pixels, or fewer that stride.
// `im2col_weight`: blocks of 256, one for each output, or fewer that stride.
//
// The matrix is [taps, row]: `pitch` elements from one image's windows to the next's, and whatever was there before between
// them. Rows and outputs fall into groups; a row beyond a group's taps is of ones, which the bias is multiplied by. Backward gathers, a pixel a thread, and so needs no
// atomics. What elements are divided by is known before, so that none is divided.
//
// Of images with the channels last the matrix is [windows, row], and the taps of a group are its pixels, with their channels: what
// neighbouring threads read and write are neighbours.
#include "lib/compact.cuh"
#include "lib/divide.cuh"
#include "lib/set.cuh"

// Extents of a convolution, all of them of 32 bits; so are the elements of a row of the matrix, and of a channel of all images.
struct Geometry {
  uint32_t images, channels, height, width, kernel_rows, kernel_columns, rows, columns;
  uint32_t stride[2], padding[2], dilation[2], groups, segments;
  Divisor by_windows, by_columns, by_plane, by_width, by_stride[2];

  __device__ __forceinline__ uint32_t windows() const { return rows * columns; }
  __device__ __forceinline__ uint32_t taps() const { return channels * kernel_rows * kernel_columns; }
};

static_assert(sizeof(Geometry) == 136, "as `structs.rs`");

// Calls `work(line)(i)` for what this thread has of `lines` lines of `len` elements.
template <class Work>
__device__ __forceinline__ void each_of_lines(uint32_t segments, uint32_t lines, uint32_t len, Work work) {
  // Whole lines at a time; blocks beyond them have nothing to do.
  uint32_t step = gridDim.x / segments, segment = blockIdx.x % segments;
  if (blockIdx.x / segments >= step) return;
#pragma unroll 1
  for (uint32_t line = blockIdx.x / segments; line < lines; line += step) {
    auto of_line = work(line);
#pragma unroll 1
    for (uint64_t i = (uint64_t)segment * THREADS + threadIdx.x; i < len; i += segments * THREADS) {
      of_line((uint32_t)i);
    }
  }
}

// What elements with the channels last are divided by: the length of a pixel or of a window, the channels of a group, and the columns
// of the kernel.
struct Pixels {
  Divisor by_line, by_channels, by_kernel_columns;
};

static_assert(sizeof(Pixels) == 36, "as `structs.rs`");

__device__ __forceinline__ uint32_t code_of_one(DType dtype) {
  return dtype == F32 ? 0x3f800000u : dtype == BF16 ? 0x3f80u : 0x3c00u;
}

extern "C" __global__ void __launch_bounds__(THREADS) im2col(
    const void* input, DType dtype, Geometry of, uint32_t matrix_rows, uint32_t pitch, uint32_t row, void* to) {
  uint32_t taps = of.taps() / of.groups, group_rows = matrix_rows / of.groups, len = of.images * of.windows();
  each_of_lines(of.segments, matrix_rows, len, [&](uint32_t line) {
    uint32_t group = line / group_rows, of_group = line - group * group_rows, tap = group * taps + of_group;
    uint32_t kernel_row = tap / of.kernel_columns, channel = kernel_row / of.kernel_rows;
    // Below 0 in the padding, and then beyond every extent.
    uint32_t down = kernel_row % of.kernel_rows * of.dilation[0] - of.padding[0];
    uint32_t across = tap % of.kernel_columns * of.dilation[1] - of.padding[1];
    return [=, &of](uint32_t i) {
      Divided image = divide(i, of.by_windows), window = divide(image.rest, of.by_columns);
      uint32_t y = window.quotient * of.stride[0] + down, x = window.rest * of.stride[1] + across;
      uint32_t code = of_group == taps ? code_of_one(dtype) : 0;
      if (of_group < taps && y < of.height && x < of.width) {
        uint64_t plane = (uint64_t)image.quotient * of.channels + channel;
        code = code_at(input, dtype, (plane * of.height + y) * of.width + x);
      }
      put<SIXTEEN_AND_32>(to, dtype, (uint64_t)line * row + (uint64_t)image.quotient * pitch + image.rest, code);
    };
  });
}

// The position of the window that has `at` in the place `k` behind its first, or beyond all.
__device__ __forceinline__ uint32_t window_at(uint32_t at, uint32_t k, const Divisor& by_stride, uint32_t padding) {
  if (at + padding < k) return 0xffffffffu;
  Divided from = divide(at + padding - k, by_stride);
  return from.rest != 0 ? 0xffffffffu : from.quotient;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    col2im(const float* matrix, Geometry of, uint32_t len, void* to, DType dtype) {
  uint32_t plane = of.height * of.width, windows = of.windows();
  each_of_lines(of.segments, of.channels, of.images * plane, [&](uint32_t channel) {
    return [=, &of](uint32_t i) {
      Divided image = divide(i, of.by_plane), pixel = divide(image.rest, of.by_width);
      float sum = 0.0f;
#pragma unroll 1
      for (uint32_t ky = 0; ky < of.kernel_rows; ky++) {
        uint32_t row = window_at(pixel.quotient, ky * of.dilation[0], of.by_stride[0], of.padding[0]);
        if (row >= of.rows) continue;
#pragma unroll 1
        for (uint32_t kx = 0; kx < of.kernel_columns; kx++) {
          uint32_t column = window_at(pixel.rest, kx * of.dilation[1], of.by_stride[1], of.padding[1]);
          if (column >= of.columns) continue;
          uint64_t tap = ((uint64_t)channel * of.kernel_rows + ky) * of.kernel_columns + kx;
          sum = __fadd_rn(sum, matrix[tap * len + (uint64_t)image.quotient * windows + row * of.columns + column]);
        }
      }
      store_one(to, dtype, ((uint64_t)image.quotient * of.channels + channel) * plane + image.rest, sum);
    };
  });
}

// Windows of images with the channels last as rows of `by_line.by` elements.
extern "C" __global__ void __launch_bounds__(THREADS)
    im2col_last(const void* input, DType dtype, Geometry of, Pixels by, uint32_t row, void* to) {
  uint32_t taps = of.taps() / of.groups, group_columns = by.by_line.by / of.groups;
  each_of_lines(of.segments, of.images * of.rows, of.columns * by.by_line.by, [&](uint32_t line) {
    uint32_t image = line / of.rows;
    uint32_t top = (line - image * of.rows) * of.stride[0] - of.padding[0];
    return [=, &of, &by](uint32_t i) {
      Divided window = divide(i, by.by_line);
      uint32_t group = of.groups == 1 ? 0 : window.rest / group_columns, of_group = window.rest - group * group_columns;
      Divided tap = divide(of_group, by.by_channels), place = divide(tap.quotient, by.by_kernel_columns);
      // Below 0 in the padding, and then beyond every extent.
      uint32_t y = top + place.quotient * of.dilation[0];
      uint32_t x = window.quotient * of.stride[1] + place.rest * of.dilation[1] - of.padding[1];
      uint32_t code = of_group == taps ? code_of_one(dtype) : 0;
      if (of_group < taps && y < of.height && x < of.width) {
        uint64_t pixel = ((uint64_t)image * of.height + y) * of.width + x;
        code = code_at(input, dtype, pixel * of.channels + group * by.by_channels.by + tap.rest);
      }
      put<SIXTEEN_AND_32>(to, dtype, ((uint64_t)line * of.columns + window.quotient) * row + window.rest, code);
    };
  });
}

extern "C" __global__ void __launch_bounds__(THREADS)
    col2im_last(const float* matrix, Geometry of, Pixels by, uint32_t row, void* to, DType dtype) {
  uint32_t channels = by.by_channels.by, taps = of.taps() / of.groups;
  each_of_lines(of.segments, of.images * of.height, of.width * of.channels, [&](uint32_t line) {
    uint32_t image = line / of.height, y = line - image * of.height;
    return [=, &of, &by](uint32_t i) {
      Divided pixel = divide(i, by.by_line), channel = divide(pixel.rest, by.by_channels);
      uint32_t first = channel.quotient * taps + channel.rest;
      float sum = 0.0f;
#pragma unroll 1
      for (uint32_t ky = 0; ky < of.kernel_rows; ky++) {
        uint32_t down = window_at(y, ky * of.dilation[0], of.by_stride[0], of.padding[0]);
        if (down >= of.rows) continue;
#pragma unroll 1
        for (uint32_t kx = 0; kx < of.kernel_columns; kx++) {
          uint32_t across = window_at(pixel.quotient, kx * of.dilation[1], of.by_stride[1], of.padding[1]);
          if (across >= of.columns) continue;
          uint64_t window = ((uint64_t)image * of.rows + down) * of.columns + across;
          sum = __fadd_rn(sum, matrix[window * row + first + (ky * of.kernel_columns + kx) * channels]);
        }
      }
      store_one(to, dtype, (uint64_t)line * of.width * of.channels + i, sum);
    };
  });
}

// [outputs, taps] as [outputs, matrix_rows]: the bias behind the taps, and zeros behind it.
extern "C" __global__ void __launch_bounds__(THREADS) im2col_weight(
    const void* weight, const void* bias, DType dtype, uint32_t outputs, uint32_t taps, uint32_t matrix_rows, void* to) {
  each_of_lines(1, outputs, matrix_rows, [&](uint32_t output) {
    return [=](uint32_t tap) {
      uint32_t code = 0;
      if (tap < taps) code = code_at(weight, dtype, (uint64_t)output * taps + tap);
      else if (tap == taps && bias != nullptr) code = code_at(bias, dtype, output);
      put<SIXTEEN_AND_32>(to, dtype, (uint64_t)output * matrix_rows + tap, code);
    };
  });
}
// sass: im2col scalar 2 slots 35; elements of a window lie anywhere
// sass: im2col_last scalar 2 slots 46; pixels in the padding are not read
// sass: col2im_last scalar 1 slots 40; windows that have a pixel lie anywhere
// sass: im2col_weight scalar 2 slots 19; elements go to other places one by one
