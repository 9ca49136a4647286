// The mean of each window of images, and the gradient of the images, for windows that slide and for adaptive ones.
//
// Oracle: `cases/avg_pool2d.rs`; agreement: bound: f32 sums in row-major order, a division, and one rounding.
//
// `avg_pool2d`, `avg_pool2d_backward`: a grid of any size strides over windows, and over elements of the image.
//
// Backward gathers, without atomics: an element adds up the shares of the windows that cover it, in order.
#include "lib/elements.cuh"
#include "lib/planes.cuh"

// Windows along an axis. Window `i` begins at floor(i * step / by) - padding, and ends before ceil((i * step + length) / by) - padding.
struct Windows {
  uint32_t image, count, step, by, length, padding;

  // The part of the image that window `i` covers. Never empty: padding is at most half a window.
  __device__ __forceinline__ Span covered(uint32_t i) const {
    uint32_t first = i * step, start = first / by, end = (first + length + by - 1) / by - padding;
    return {start < padding ? 0 : start - padding, end < image ? end : image};
  }

  // The windows that cover an element.
  __device__ __forceinline__ Span covering(uint32_t at) const {
    uint32_t place = (at + padding) * by, end = (place + by - 1) / step + 1;
    return {place < length ? 0 : (place - length) / step + 1, end < count ? end : count};
  }
};

// `divisor` is 0 where a window's elements in the image are counted; `pixel` is as in `planes.cuh`.
struct Pooling {
  Windows rows, columns;
  uint32_t divisor, pixel;

  __device__ __forceinline__ float elements(const Span& ys, const Span& xs) const {
    return (float)(divisor != 0 ? divisor : (uint32_t)((ys.end - ys.start) * (xs.end - xs.start)));
  }
};

static_assert(sizeof(Pooling) == 56, "as `avg_pool2d.rs`");

extern "C" __global__ void __launch_bounds__(256)
    avg_pool2d(const void* input, void* output, DType dtype, uint64_t len, const __grid_constant__ Pooling pool) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < len; i += step) {
    Place window = place_of(i, {pool.rows.count, pool.columns.count}, pool.pixel);
    Span ys = pool.rows.covered((uint32_t)window.row), xs = pool.columns.covered((uint32_t)window.column);
    uint64_t plane = window.first((uint64_t)pool.rows.image * pool.columns.image, pool.pixel);
    float sum = 0.0f;
#pragma unroll 1
    for (uint64_t y = ys.start; y < ys.end; y++) {
      uint64_t at = plane + (y * pool.columns.image + xs.start) * pool.pixel, end = at + (xs.end - xs.start) * pool.pixel;
#pragma unroll 1
      for (; at < end; at += pool.pixel) sum = __fadd_rn(sum, load(input, dtype, at));
    }
    float mean = __fdiv_rn(sum, pool.elements(ys, xs));
    put<SIXTEEN_AND_32>(output, dtype, i, code_of<SIXTEEN_AND_32>(dtype, mean));
  }
}

extern "C" __global__ void __launch_bounds__(256)
    avg_pool2d_backward(const void* grad, void* result, DType dtype, uint64_t len, const __grid_constant__ Pooling pool) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < len; i += step) {
    Place pixel = place_of(i, {pool.rows.image, pool.columns.image}, pool.pixel);
    Span rows = pool.rows.covering((uint32_t)pixel.row), columns = pool.columns.covering((uint32_t)pixel.column);
    uint64_t windows = pixel.first((uint64_t)pool.rows.count * pool.columns.count, pool.pixel);
    float sum = 0.0f;
#pragma unroll 1
    for (uint64_t row = rows.start; row < rows.end; row++) {
      Span ys = pool.rows.covered((uint32_t)row);
      uint64_t at = windows + (row * pool.columns.count + columns.start) * pool.pixel;
#pragma unroll 1
      for (uint64_t column = columns.start; column < columns.end; column++, at += pool.pixel) {
        float g = load(grad, dtype, at);
        sum = __fadd_rn(sum, __fdiv_rn(g, pool.elements(ys, pool.columns.covered((uint32_t)column))));
      }
    }
    put<SIXTEEN_AND_32>(result, dtype, i, code_of<SIXTEEN_AND_32>(dtype, sum));
  }
}
// sass: avg_pool2d scalar 1 slots 12; elements of a window lie anywhere
// sass: avg_pool2d_backward scalar 1 slots 23; elements of a window lie anywhere
