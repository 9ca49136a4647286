// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, and its gradients.
//
// Oracle: `cases/layer_norm.rs`; agreement: bound: what follows the statistics is the plain loop's f32, step by step. The parameters'
// gradients are sums in f64 over chunks of rows that follow from the shape alone, rounded once.
//
// `layer_norm` and `layer_norm_backward`: a grid of any size of blocks of 256, whose teams stride over the rows; the latter
// leaves each row's statistics in `stats`. `layer_norm_backward_sums`: a grid of any size of blocks of 256 strides over tiles
// of 32 columns of a chunk of `chunk_rows` rows, and leaves two sums a column in `partials`, chunk by chunk.
// `layer_norm_backward_join`: a grid of any size, a column a thread, adds up the chunks in order; `to_bias` may be null. Both serve
// `rms_norm` too, whose mean is 0. They have four loads under way at a time.
#include "lib/row_norm.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm(
    const void* input, DType dtype, const void* weight, const void* bias, DType parameter_dtype, void* to,
    uint64_t rows, uint64_t width, float eps) {
  normalise<true>(input, dtype, weight, bias, parameter_dtype, to, rows, width, eps);
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_backward(
    const void* grad, const void* input, DType dtype, const void* weight, DType parameter_dtype, void* to, Stats* stats,
    uint64_t rows, uint64_t width, float eps) {
  normalise_backward<true>(grad, input, dtype, weight, parameter_dtype, to, stats, rows, width, eps);
}

constexpr uint32_t TILE = 32;

// Sums of g * x and of g.
struct Sums {
  double slope, offset;
};

static_assert(sizeof(Sums) == 16, "as `layer_norm.rs`");

__device__ __forceinline__ Sums joined(const Sums& a, const Sums& b) {
  return {__dadd_rn(a.slope, b.slope), __dadd_rn(a.offset, b.offset)};
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_backward_sums(
    const void* grad, const void* input, DType dtype, const Stats* stats, Sums* partials, uint64_t rows, uint64_t width,
    uint64_t chunk_rows, uint64_t chunks) {
  __shared__ Sums lines[THREADS / TILE][TILE];
  uint32_t across = threadIdx.x % TILE, line = threadIdx.x / TILE;
  uint32_t tiles = (uint32_t)((width + TILE - 1) / TILE), tile = blockIdx.x % tiles;
  uint64_t chunk = blockIdx.x / tiles;
#pragma unroll 1
  while (chunk < chunks) {
    uint64_t column = (uint64_t)tile * TILE + across;
    uint64_t end = min(chunk * chunk_rows + chunk_rows, rows);
    Sums sums = {0.0, 0.0};
    if (column < width) {
      uint64_t first = chunk * chunk_rows + line, count = (end + THREADS / TILE - 1 - first) / (THREADS / TILE);
#pragma unroll 4
      for (uint64_t i = 0; i < count; i++) {
        uint64_t row = first + i * (THREADS / TILE);
        float g = load_one(grad, dtype, row * width + column);
        float x = normal(stats[row], load_one(input, dtype, row * width + column));
        sums = joined(sums, {__dmul_rn((double)g, (double)x), (double)g});
      }
    }
    lines[line][across] = sums;
    __syncthreads();
    if (line == 0 && column < width) {
#pragma unroll
      for (uint32_t other = 1; other < THREADS / TILE; other++) sums = joined(sums, lines[other][across]);
      partials[chunk * width + column] = sums;
    }
    __syncthreads();
    chunk += gridDim.x / tiles, tile += gridDim.x % tiles;
    if (tile >= tiles) tile -= tiles, chunk++;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_backward_join(
    const Sums* partials, uint64_t width, uint64_t chunks, void* to_weight, void* to_bias, DType dtype) {
  uint64_t step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t column = (uint64_t)blockIdx.x * THREADS + threadIdx.x; column < width; column += step) {
    Sums all = {0.0, 0.0};
#pragma unroll 4
    for (uint64_t chunk = 0; chunk < chunks; chunk++) all = joined(all, partials[chunk * width + column]);
    store_one(to_weight, dtype, column, __double2float_rn(all.slope));
    if (to_bias != nullptr) store_one(to_bias, dtype, column, __double2float_rn(all.offset));
  }
}
// sass: layer_norm loads 2 slots 122
// sass: layer_norm loads 6 stores 2 slots 241
// sass: layer_norm_backward loads 2 slots 117
// sass: layer_norm_backward loads 6 slots 233
// sass: layer_norm_backward loads 6 stores 2 slots 264
// sass: layer_norm_backward_sums scalar 8 slots 75; a column a thread
// sass: layer_norm_backward_join read 2 scalar 8 slots 31; partial sums of one column each, in f64
