// The largest element of each window of images, and the gradient of the images.
//
// Oracle: `cases/max_pool2d.rs`; agreement: bits, any NaN for any NaN.
//
// `max_pool2d`, `max_pool2d_winners`, `max_pool2d_backward`: a grid of any size strides over windows, and in the last one over
// elements of the image. The second leaves for the third where in its plane the largest element of each window is.
//
// Backward gathers, without atomics: an element looks at each window that covers it, in order, and takes the gradient of those whose
// first largest it is. Each window is searched once. So for windows of K x K at a stride of S that is K^2 / S^2 reads for an
// element of the image, and as many winners of 4 bytes: for 3 x 3 at 2 that is 2 and 2, where a search by each element reads 20.
#include "lib/elements.cuh"
#include "lib/planes.cuh"

// Rows and columns: of the image, of the result, of the window and how it moves. `pixel` is as in `planes.cuh`.
struct Pool {
  uint64_t image[2], output[2], kernel[2], stride[2], padding[2], pixel;
};

// The part of the image that a window covers along an axis. Never empty: padding is at most half a window.
__device__ __forceinline__ Span covered(const Pool& pool, uint32_t axis, uint64_t position) {
  uint64_t start = position * pool.stride[axis], padding = pool.padding[axis];
  uint64_t end = start + pool.kernel[axis] - padding;
  return {start < padding ? 0 : start - padding, end < pool.image[axis] ? end : pool.image[axis]};
}

// The windows along an axis that cover an element of it.
__device__ __forceinline__ Span covering(const Pool& pool, uint32_t axis, uint64_t at) {
  uint64_t padded = at + pool.padding[axis], kernel = pool.kernel[axis], stride = pool.stride[axis];
  uint64_t start = padded < kernel ? 0 : (padded - kernel) / stride + 1, end = padded / stride + 1;
  return {start, end < pool.output[axis] ? end : pool.output[axis]};
}

// The first largest element of a window, in row-major order; the first NaN, where there is one. `plane` is where the image
// begins.
__device__ __forceinline__ uint64_t
largest(const void* input, DType dtype, const Pool& pool, uint64_t plane, uint64_t row, uint64_t column) {
  Span ys = covered(pool, 0, row), xs = covered(pool, 1, column);
  uint64_t best = plane + (ys.start * pool.image[1] + xs.start) * pool.pixel;
  float most = load(input, dtype, best);
#pragma unroll 1
  for (uint64_t y = ys.start; y < ys.end; y++) {
    uint64_t at = plane + (y * pool.image[1] + xs.start) * pool.pixel, end = at + (xs.end - xs.start) * pool.pixel;
#pragma unroll 1
    for (; at < end; at += pool.pixel) {
      float value = load(input, dtype, at);
      // Larger, or NaN, which wins and then stays.
      if (most == most && !(value <= most)) best = at, most = value;
    }
  }
  return best;
}

extern "C" __global__ void __launch_bounds__(256)
    max_pool2d(const void* input, void* output, DType dtype, uint64_t len, const __grid_constant__ Pool pool) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < len; i += step) {
    Place window = place_of(i, pool.output, pool.pixel);
    uint64_t plane = window.first(pool.image[0] * pool.image[1], pool.pixel);
    uint64_t best = largest(input, dtype, pool, plane, window.row, window.column);
    put<SIXTEEN_AND_32>(output, dtype, i, code_at(input, dtype, best));
  }
}

extern "C" __global__ void __launch_bounds__(256) max_pool2d_winners(
    const void* input, uint32_t* winners, DType dtype, uint64_t len, const __grid_constant__ Pool pool) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < len; i += step) {
    Place window = place_of(i, pool.output, pool.pixel);
    uint64_t plane = window.first(pool.image[0] * pool.image[1], pool.pixel);
    uint64_t best = largest(input, dtype, pool, plane, window.row, window.column) - plane;
    winners[i] = (uint32_t)(pool.pixel == 1 ? best : best / pool.pixel);
  }
}

extern "C" __global__ void __launch_bounds__(256) max_pool2d_backward(
    const void* grad, const uint32_t* winners, void* result, DType dtype, uint64_t len, const __grid_constant__ Pool pool) {
  uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < len; i += step) {
    Place pixel = place_of(i, pool.image, pool.pixel);
    uint32_t own = (uint32_t)(pixel.row * pool.image[1] + pixel.column);
    uint64_t windows = pixel.first(pool.output[0] * pool.output[1], pool.pixel);
    Span rows = covering(pool, 0, pixel.row), columns = covering(pool, 1, pixel.column);
    float sum = 0.0f;
#pragma unroll 1
    for (uint64_t row = rows.start; row < rows.end; row++) {
      uint64_t window = windows + (row * pool.output[1] + columns.start) * pool.pixel;
      uint64_t end = window + (columns.end - columns.start) * pool.pixel;
#pragma unroll 1
      for (; window < end; window += pool.pixel) {
        if (winners[window] == own) sum = __fadd_rn(sum, load(grad, dtype, window));
      }
    }
    put<SIXTEEN_AND_32>(result, dtype, i, code_of<SIXTEEN_AND_32>(dtype, sum));
  }
}
// sass: max_pool2d scalar 1 slots 22; elements of a window lie anywhere
// sass: max_pool2d_winners scalar 1 slots 22; elements of a window lie anywhere
// sass: max_pool2d_backward scalar 2 slots 27; elements of a window lie anywhere
