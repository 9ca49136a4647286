// (x - mean) / sqrt(var + eps) * weight + bias of [N, C, ..], by the statistics of each sample's groups of channels, and its gradients.
//
// Oracle: `cases/group_norm.rs`; agreement: bound: the statistics are sums in f64, in an order that follows from the shape alone, rounded
// once; what follows them is the plain loop's f32, step by step.
//
// A group of a sample is a row, and a channel of a sample a run: `batch_norm_sums` and `batch_norm_stats` give the rows' statistics,
// `batch_norm` normalises by vectors of runs, and `batch_norm_backward_sums` adds up runs. `group_norm_runs`: a grid of any size, a run
// a thread, makes these vectors. `group_norm_backward_means`: a grid of any size of blocks of 256, a row a warp;
// `group_norm_backward_parameters`: likewise, a channel of one parameter a warp. `group_norm_backward`: a grid of any size of blocks of
// 256 strides over spread groups of eight elements.
//
// Vectors of runs take 24 bytes of memory for each, which the elements read from a cache.
#include "lib/by_channel.cuh"
#include "lib/channels.cuh"
#include "lib/norm.cuh"

// Four vectors of runs, of which there are fewer than 2^31: mean and deviation of the row, weight and bias of the channel.
extern "C" __global__ void __launch_bounds__(THREADS) group_norm_runs(
    const float* stats, const void* weight, const void* bias, DType dtype, uint32_t rows, uint32_t share, uint32_t channels,
    float* to) {
  uint32_t runs = rows * share, step = gridDim.x * THREADS;
  for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < runs; i += step) {
    uint32_t row = i / share, channel = i % channels;
    uint64_t at = i;
    to[at] = stats[row], to[at + runs] = stats[(uint64_t)rows + row];
    to[at + 2 * (uint64_t)runs] = load_one(weight, dtype, channel);
    to[at + 3 * (uint64_t)runs] = load_one(bias, dtype, channel);
  }
}

// The means over each row of g * w * x and of g * w, for each of its `share` runs of `inner` elements. The sums are those of
// `chunks` parts of each run, of g * x and behind them of g.
extern "C" __global__ void __launch_bounds__(THREADS) group_norm_backward_means(
    const double* sums, uint32_t chunks, uint64_t rows, uint64_t share, uint64_t inner, const float* weight, float* means) {
  uint64_t runs = rows * share;
  each_warps(rows, [&](uint64_t row) {
    double samples = (double)(share * inner);
    auto mean = [&](const double* from) {
      double sum = joined_of(share * chunks, [&](uint64_t part) {
        return __dmul_rn((double)weight[row * share + part / chunks], from[row * share * chunks + part]);
      });
      return __double2float_rn(__ddiv_rn(sum, samples));
    };
    float slope = mean(sums), offset = mean(sums + runs * chunks);
#pragma unroll 1
    for (uint64_t run = threadIdx.x % 32; run < share; run += 32) {
      means[row * share + run] = slope, means[runs + row * share + run] = offset;
    }
  });
}

// A warp for each channel's weight, and then one for each channel's bias.
extern "C" __global__ void __launch_bounds__(THREADS) group_norm_backward_parameters(
    const double* sums, uint32_t chunks, uint64_t outer, uint64_t channels, void* to_weight, void* to_bias, DType dtype) {
  each_warps(2 * channels, [&](uint64_t i) {
    bool is_weight = i < channels;
    uint64_t channel = is_weight ? i : i - channels;
    const double* from = is_weight ? sums : sums + outer * channels * chunks;
    double sum = joined_of(outer * chunks, [&](uint64_t part) {
      uint64_t sample = part / chunks;
      return from[(sample * channels + channel) * chunks + (part - sample * chunks)];
    });
    if (threadIdx.x % 32 == 0) store_one(is_weight ? to_weight : to_bias, dtype, channel, __double2float_rn(sum));
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) group_norm_backward(
    const void* grad, const void* input, DType dtype, uint64_t runs, uint64_t inner, const float* vectors, const float* means,
    void* to) {
  each_group_by_channel(runs * inner, runs, inner, [&](uint64_t i, uint32_t count, const ByChannel& by) {
    float g[GROUP], x[GROUP], mean[GROUP], rstd[GROUP], slope[GROUP], offset[GROUP], w[GROUP];
    load_eight(grad, dtype, i, count, g, SPREAD);
    load_eight(input, dtype, i, count, x, SPREAD);
    by.load(vectors, F32, mean);
    by.load(vectors + runs, F32, rstd);
    by.load(vectors + 2 * runs, F32, w);
    by.load(means, F32, slope);
    by.load(means + runs, F32, offset);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float rest = __fsub_rn(__fmul_rn(g[k], w[k]), offset[k]);
      g[k] = __fmul_rn(rstd[k], __fsub_rn(rest, __fmul_rn(normal({mean[k], rstd[k]}, x[k]), slope[k])));
    }
    store_eight(to, dtype, i, count, g, SPREAD);
  });
}
// sass: group_norm_runs scalar 8 slots 41; a run a thread
// sass: group_norm_backward_means scalar 2 slots 15; partial sums of one row each, in f64
// sass: group_norm_backward_parameters scalar 1 slots 51; partial sums of one channel each, in f64
// sass: group_norm_backward loads 14 stores 2 slots 380
