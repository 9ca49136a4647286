// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, and its gradients.
//
// Oracle: `cases/layer_norm.rs`; agreement: bound: the statistics are sums in f64, in an order that follows from the width
// alone, rounded once; what follows them is the plain loop's f32, step by step. The parameters' gradients are sums in f64
// over chunks of rows that follow from the shape alone, rounded once.
//
// `layer_norm` and `layer_norm_backward`: a grid of any size of blocks of 256, whose teams stride over the rows; the latter
// leaves each row's statistics in `stats`. `layer_norm_backward_sums`: a grid of any size of blocks of 256 strides over tiles
// of 32 columns of a chunk of `chunk_rows` rows, and leaves two sums a column in `partials`, chunk by chunk.
// `layer_norm_backward_join`: a grid of any size, a column a thread, adds up the chunks in order.
//
// Two passes over a row for its statistics, the second about the mean, so that nothing cancels, and one for what follows; the
// input is read once up to 8192 elements a row, else three times, backward four. Backward's two passes over gradient and weight
// read them twice, the second time from a cache. Sums over rows and joins of chunks have four loads under way at a time.
#include "lib/held.cuh"
#include "lib/norm.cuh"

// The mean over a row of deviations from `about`, the first time, and then of their squares.
template <Time TIME>
__device__ __forceinline__ double mean_off(const Team& team, const Row& row, double about) {
  double sum = 0.0;
  row.each<TIME>(team, [&](uint64_t, uint32_t count, bool, const float (&x)[GROUP]) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      double off = __dsub_rn((double)x[k], about);
      if (offset_in(k, team.apart()) < count) sum = __dadd_rn(sum, TIME == FIRST ? off : __dmul_rn(off, off));
    }
  });
  return __ddiv_rn(team.sum(sum), (double)row.width);
}

__device__ __forceinline__ Stats stats_of_row(const Team& team, const Row& row, float eps) {
  double mean = mean_off<FIRST>(team, row, 0.0);
  return stats_of(mean, mean_off<LAST>(team, row, mean), eps);
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm(
    const void* input, DType dtype, const void* weight, const void* bias, DType parameter_dtype, void* to,
    uint64_t rows, uint64_t width, float eps) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    Row kept = {input, dtype, row * width, width, 0.0f};
    Stats stats = stats_of_row(team, kept, eps);
    kept.each<LAST>(team, [&](uint64_t i, uint32_t count, bool, float (&x)[GROUP]) {
      float w[GROUP], b[GROUP];
      load_eight(weight, parameter_dtype, i, count, w, team.apart());
      load_eight(bias, parameter_dtype, i, count, b, team.apart());
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) x[k] = __fadd_rn(__fmul_rn(normal(stats, x[k]), w[k]), b[k]);
      store_eight(to, dtype, kept.start + i, count, x, team.apart());
    });
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_backward(
    const void* grad, const void* input, DType dtype, const void* weight, DType parameter_dtype, void* to, Stats* stats,
    uint64_t rows, uint64_t width, float eps) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    Row kept = {input, dtype, row * width, width, 0.0f};
    Stats own = stats_of_row(team, kept, eps);
    if (team.rank == 0) stats[row] = own;
    // The gradient of the normalised input, by index.
    auto scaled = [&](uint64_t i, uint32_t count, float (&g)[GROUP]) {
      float w[GROUP];
      load_eight(grad, dtype, kept.start + i, count, g, team.apart());
      load_eight(weight, parameter_dtype, i, count, w, team.apart());
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) g[k] = __fmul_rn(g[k], w[k]);
    };
    double sum = 0.0, product = 0.0;
    // What is kept from here on is normalised.
    kept.each<AGAIN>(team, [&](uint64_t i, uint32_t count, bool, float (&x)[GROUP]) {
      float g[GROUP];
      scaled(i, count, g);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        x[k] = normal(own, x[k]);
        if (offset_in(k, team.apart()) >= count) continue;
        sum = __dadd_rn(sum, (double)g[k]);
        product = __dadd_rn(product, __dmul_rn((double)g[k], (double)x[k]));
      }
    });
    float offset = __double2float_rn(__ddiv_rn(team.sum(sum), (double)width));
    float slope = __double2float_rn(__ddiv_rn(team.sum(product), (double)width));
    kept.each<LAST>(team, [&](uint64_t i, uint32_t count, bool is_held, float (&x)[GROUP]) {
      float g[GROUP];
      scaled(i, count, g);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        float deviations = is_held ? x[k] : normal(own, x[k]);
        g[k] = __fmul_rn(own.rstd, __fsub_rn(__fsub_rn(g[k], offset), __fmul_rn(deviations, slope)));
      }
      store_eight(to, dtype, kept.start + i, count, g, team.apart());
    });
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
    store_one(to_bias, dtype, column, __double2float_rn(all.offset));
  }
}
// sass: layer_norm loads 2 slots 122
// sass: layer_norm loads 6 stores 2 slots 241
// sass: layer_norm_backward loads 2 slots 117
// sass: layer_norm_backward loads 6 slots 233
// sass: layer_norm_backward loads 6 stores 2 slots 264
// sass: layer_norm_backward_sums scalar 8 slots 75; a column a thread
// sass: layer_norm_backward_join read 2 scalar 8 slots 31; partial sums of one column each, in f64
