// (x - mean) / sqrt(var + eps) * weight + bias by channel, axis 1 of [N, C, ..], by the statistics of the batch or by running
// ones; the running statistics after the batch; the gradients.
//
// Oracle: `cases/batch_norm.rs`; agreement: bound: the statistics are sums in f64 over chunks of a channel, in an order that
// follows from the shape alone, rounded once; what follows them is the plain loop's f32, step by step.
//
// A channel's samples are cut into chunks. `batch_norm_sums` and `batch_norm_backward_sums`: a grid of any size of blocks of 256
// strides over the chunks of all channels, and leaves two sums for each. `batch_norm_stats` and `batch_norm_backward_parameters`:
// a grid of any size of blocks of 256, a channel a warp, after them; `batch_norm_running`: likewise, a channel a thread.
// `batch_norm` and `batch_norm_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// A chunk is read twice, the second time, from a cache, about its own mean, so that nothing cancels; the channel's squares are the
// chunks' and those of what their means are off. So forward takes two reads of the input and a write, backward three of the input,
// two of the gradient and a write, in loads of 16 bytes where a channel's runs are whole groups; where there is one sample of a
// channel after the other, 32 channels are read together. Runs of 2 to 7 elements still leave the rest of their sector unused.
#include "lib/by_channel.cuh"
#include "lib/channels.cuh"
#include "lib/norm.cuh"

// The sums over each chunk of x, and of the squares about the chunk's mean.
extern "C" __global__ void __launch_bounds__(THREADS, 4) batch_norm_sums(
    const void* input, DType dtype, Shape shape, double* sums, double* squares) {
  each_job(shape, [&](const auto& job) {
    double parts[] = {0.0, 0.0}, mean = 0.0;
#pragma unroll 1
    for (uint32_t pass = 0; pass < 2; pass++) {
      double sum = 0.0;
      job.each([&](uint64_t at) {
        auto x = job.load(input, dtype, at);
#pragma unroll
        for (float value : x.of) {
          double off = __dsub_rn((double)value, mean);
          sum = __dadd_rn(sum, pass == 0 ? off : __dmul_rn(off, off));
        }
      });
      sum = job.join(sum);
      if (pass == 0) parts[0] = sum, mean = __ddiv_rn(sum, (double)samples_of(shape, job.part));
      else parts[1] = sum;
    }
    if (job.writes()) sums[job.slot()] = parts[0], squares[job.slot()] = parts[1];
  });
}

// (1 - momentum) * old + momentum * next.
__device__ __forceinline__ float moved(float old, double next, float momentum) {
  double kept = __dmul_rn(__dsub_rn(1.0, (double)momentum), (double)old);
  return __double2float_rn(__dadd_rn(kept, __dmul_rn((double)momentum, next)));
}

// The running statistics stay as they are where there are none.
extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_stats(
    const double* sums, const double* squares, Shape shape, float eps, float momentum, const float* mean,
    const float* var, float* stats, float* to_mean, float* to_var) {
  each_warps(shape.channels, [&](uint64_t c) {
    double samples = (double)shape.samples();
    double of_batch = __ddiv_rn(joined(shape, [&](uint32_t part) { return sums[c * shape.chunks + part]; }), samples);
    double all = joined(shape, [&](uint32_t part) {
      double count = (double)samples_of(shape, part);
      double off = __dsub_rn(__ddiv_rn(sums[c * shape.chunks + part], count), of_batch);
      return __fma_rn(__dmul_rn(off, off), count, squares[c * shape.chunks + part]);
    });
    double biased = __ddiv_rn(all, samples);
    if (threadIdx.x % 32 != 0) return;
    Stats own = stats_of(of_batch, biased, eps);
    stats[c] = own.mean, stats[shape.channels + c] = own.rstd;
    if (mean == nullptr) return;
    double unbiased = __dmul_rn(biased, __ddiv_rn(samples, __dsub_rn(samples, 1.0)));
    to_mean[c] = moved(mean[c], of_batch, momentum);
    to_var[c] = moved(var[c], unbiased, momentum);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_running(
    const float* mean, const float* var, uint64_t channels, float eps, float* stats) {
  uint64_t step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t c = (uint64_t)blockIdx.x * THREADS + threadIdx.x; c < channels; c += step) {
    Stats own = stats_of((double)mean[c], (double)var[c], eps);
    stats[c] = own.mean, stats[channels + c] = own.rstd;
  }
}

// Two blocks at once, a bound with which ptxas spills nothing for 8.0.
extern "C" __global__ void __launch_bounds__(THREADS, 2) batch_norm(
    const void* input, DType dtype, const void* weight, const void* bias, DType parameter_dtype, Shape shape,
    const float* stats, void* to) {
  each_group_by_channel(shape.len(), shape.channels, shape.inner, [&](uint64_t i, uint32_t count, const ByChannel& by) {
    float x[GROUP], mean[GROUP], rstd[GROUP], w[GROUP], b[GROUP];
    load_eight(input, dtype, i, count, x, SPREAD);
    by.load(stats, F32, mean);
    by.load(stats + shape.channels, F32, rstd);
    by.load(weight, parameter_dtype, w);
    by.load(bias, parameter_dtype, b);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      x[k] = __fadd_rn(__fmul_rn(normal({mean[k], rstd[k]}, x[k]), w[k]), b[k]);
    }
    store_eight(to, dtype, i, count, x, SPREAD);
  });
}

// The sums over each chunk of g * x, and behind them those of g.
extern "C" __global__ void __launch_bounds__(THREADS, 4) batch_norm_backward_sums(
    const void* grad, const void* input, DType dtype, Shape shape, const float* stats, double* sums) {
  each_job(shape, [&](const auto& job) {
    double slope = 0.0, offset = 0.0;
    Stats own = {0.0f, 0.0f};
    if (job.is_channel()) own = {stats[job.channel], stats[shape.channels + job.channel]};
    job.each([&](uint64_t at) {
      auto g = job.load(grad, dtype, at), x = job.load(input, dtype, at);
#pragma unroll
      for (uint32_t k = 0; k < sizeof(g.of) / sizeof(float); k++) {
        slope = __dadd_rn(slope, __dmul_rn((double)g.of[k], (double)normal(own, x.of[k])));
        offset = __dadd_rn(offset, (double)g.of[k]);
      }
    });
    slope = job.join(slope), offset = job.join(offset);
    if (job.writes()) sums[job.slot()] = slope, sums[shape.channels * shape.chunks + job.slot()] = offset;
  });
}

// The parameters' gradients, and the means of g * x and of g, which the input's takes off. A warp each: as if there were
// twice as many channels.
extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_backward_parameters(
    const double* sums, Shape shape, float* means, void* to_weight, void* to_bias, DType dtype) {
  each_warps(2 * shape.channels, [&](uint64_t i) {
    double sum = joined(shape, [&](uint32_t part) { return sums[i * shape.chunks + part]; });
    if (threadIdx.x % 32 != 0) return;
    bool is_weight = i < shape.channels;
    means[i] = __double2float_rn(__ddiv_rn(sum, (double)shape.samples()));
    store_one(is_weight ? to_weight : to_bias, dtype, is_weight ? i : i - shape.channels, __double2float_rn(sum));
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_backward(
    const void* grad, const void* input, DType dtype, const void* weight, DType parameter_dtype, Shape shape,
    const float* stats, const float* means, void* to) {
  each_group_by_channel(shape.len(), shape.channels, shape.inner, [&](uint64_t i, uint32_t count, const ByChannel& by) {
    float g[GROUP], x[GROUP], mean[GROUP], rstd[GROUP], slope[GROUP], offset[GROUP], w[GROUP];
    load_eight(grad, dtype, i, count, g, SPREAD);
    load_eight(input, dtype, i, count, x, SPREAD);
    by.load(stats, F32, mean);
    by.load(stats + shape.channels, F32, rstd);
    by.load(means, F32, slope);
    by.load(means + shape.channels, F32, offset);
    by.load(weight, parameter_dtype, w);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float rest = __fsub_rn(__fsub_rn(g[k], offset[k]), __fmul_rn(normal({mean[k], rstd[k]}, x[k]), slope[k]));
      g[k] = __fmul_rn(__fmul_rn(w[k], rstd[k]), rest);
    }
    store_eight(to, dtype, i, count, g, SPREAD);
  });
}
// sass: batch_norm_sums loads 2 slots 82
// sass: batch_norm_stats scalar 1 slots 11; partial sums of one channel each, in f64
// sass: batch_norm_running scalar 4 slots 57; a channel a thread
// sass: batch_norm loads 10 stores 2 slots 371
// sass: batch_norm_backward_sums loads 4 slots 139
// sass: batch_norm_backward_parameters scalar 1 slots 11; partial sums of one channel each, in f64
// sass: batch_norm_backward loads 14 stores 2 slots 396
