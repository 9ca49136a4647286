// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, and its gradients.
//
// Oracle: `oracle/layer_norm.rs`; agreement: bound: the statistics are sums in f64, in an order that follows from the width
// alone, rounded once; what follows them is the plain loop's f32, step by step. The parameters' gradients are sums in f64
// over chunks of rows that follow from the shape alone, rounded once.
//
// `layer_norm` and `layer_norm_backward`: a grid of any size of blocks of 256, whose teams stride over the rows; the latter
// leaves each row's statistics in `stats`. `layer_norm_backward_sums`: a grid of any size of blocks of 256 strides over tiles
// of 32 columns of a chunk of `chunk_rows` rows, and leaves two sums a column in `partials`, chunk by chunk.
// `layer_norm_backward_join`: a grid of any size, a column a thread, adds up the chunks in order.
//
// Two passes over a row for its statistics, the second about the mean, so that nothing cancels; the row is read again for
// what follows, which a cache holds.
#include "lib/norm.cuh"

__device__ __forceinline__ Stats stats_of_row(
    const Team& team, const void* from, DType dtype, uint64_t start, uint64_t width, float eps) {
  double mean = 0.0, var = 0.0;
  // The sum of deviations from 0 first, then of the squares of those from the mean.
#pragma unroll 1
  for (uint32_t pass = 0; pass < 2; pass++) {
    double sum = 0.0;
    team.each(width, [&](uint64_t i, uint32_t count) {
      float x[GROUP];
      load_eight(from, dtype, start + i, count, x);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        double off = __dsub_rn((double)x[k], mean);
        if (k < count) sum = __dadd_rn(sum, pass == 0 ? off : __dmul_rn(off, off));
      }
    });
    var = __ddiv_rn(team.sum(sum), (double)width);
    if (pass == 0) mean = var;
  }
  return stats_of(mean, var, eps);
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm(
    const void* input, DType dtype, const void* weight, const void* bias, DType parameter_dtype, void* to,
    uint64_t rows, uint64_t width, float eps) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    uint64_t start = row * width;
    Stats stats = stats_of_row(team, input, dtype, start, width, eps);
    team.each(width, [&](uint64_t i, uint32_t count) {
      float x[GROUP], w[GROUP], b[GROUP];
      load_eight(input, dtype, start + i, count, x);
      load_eight(weight, parameter_dtype, i, count, w);
      load_eight(bias, parameter_dtype, i, count, b);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) x[k] = __fadd_rn(__fmul_rn(normal(stats, x[k]), w[k]), b[k]);
      store_eight(to, dtype, start + i, count, x);
    });
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_backward(
    const void* grad, const void* input, DType dtype, const void* weight, DType parameter_dtype, void* to, Stats* stats,
    uint64_t rows, uint64_t width, float eps) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    uint64_t start = row * width;
    Stats own = stats_of_row(team, input, dtype, start, width, eps);
    if (team.rank == 0) stats[row] = own;
    double sum = 0.0, product = 0.0;
    float offset = 0.0f, slope = 0.0f;
    // The sums over g * w and g * w * x first, then the gradient, which needs both.
#pragma unroll 1
    for (uint32_t pass = 0; pass < 2; pass++) {
      team.each(width, [&](uint64_t i, uint32_t count) {
        float g[GROUP], x[GROUP], w[GROUP];
        load_eight(grad, dtype, start + i, count, g);
        load_eight(input, dtype, start + i, count, x);
        load_eight(weight, parameter_dtype, i, count, w);
#pragma unroll
        for (uint32_t k = 0; k < GROUP; k++) g[k] = __fmul_rn(g[k], w[k]), x[k] = normal(own, x[k]);
        if (pass == 0) {
#pragma unroll
          for (uint32_t k = 0; k < GROUP; k++) {
            if (k >= count) break;
            sum = __dadd_rn(sum, (double)g[k]);
            product = __dadd_rn(product, __dmul_rn((double)g[k], (double)x[k]));
          }
          return;
        }
#pragma unroll
        for (uint32_t k = 0; k < GROUP; k++) {
          g[k] = __fmul_rn(own.rstd, __fsub_rn(__fsub_rn(g[k], offset), __fmul_rn(x[k], slope)));
        }
        store_eight(to, dtype, start + i, count, g);
      });
      if (pass == 1) break;
      offset = __double2float_rn(__ddiv_rn(team.sum(sum), (double)width));
      slope = __double2float_rn(__ddiv_rn(team.sum(product), (double)width));
    }
  }
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
#pragma unroll 1
      for (uint64_t row = chunk * chunk_rows + line; row < end; row += THREADS / TILE) {
        float g = load_one(grad, dtype, row * width + column);
        float x = normal(stats[row], load_one(input, dtype, row * width + column));
        sums = joined(sums, {__dmul_rn((double)g, (double)x), (double)g});
      }
    }
    lines[line][across] = sums;
    __syncthreads();
    if (line == 0 && column < width) {
#pragma unroll 1
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
#pragma unroll 1
    for (uint64_t chunk = 0; chunk < chunks; chunk++) all = joined(all, partials[chunk * width + column]);
    store_one(to_weight, dtype, column, __double2float_rn(all.slope));
    store_one(to_bias, dtype, column, __double2float_rn(all.offset));
  }
}
