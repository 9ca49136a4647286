// (x - mean) / sqrt(var + eps) * weight + bias by channel, axis 1 of [N, C, ..], by the statistics of the batch or by running
// ones; the running statistics after the batch; the gradients.
//
// Oracle: `oracle/batch_norm.rs`; agreement: bound: the statistics are sums in f64 over chunks of a channel, in an order that
// follows from the shape alone, rounded once; what follows them is the plain loop's f32, step by step.
//
// A channel's samples are cut into chunks. `batch_norm_sums`, `batch_norm_squares` and `batch_norm_backward_sums`: a grid of
// any size of blocks of 256 strides over the chunks of all channels, and leaves one sum or two for each; each reads what
// those before it left. `batch_norm_stats`, `batch_norm_running` and `batch_norm_backward_parameters`: a grid of any size, a
// channel a thread, after them. `batch_norm` and `batch_norm_backward`: a grid of any size strides over groups of eight
// elements.
//
// Two passes for the statistics, the second about the mean, so that nothing cancels. Chunks are joined in order by whoever
// needs them.
#include "lib/grid.cuh"
#include "lib/norm.cuh"

// [N, C, ..] as [outer, channels, inner]; a channel has outer * inner samples, in chunks.
struct Shape {
  uint64_t outer, channels, inner, chunk_len, chunks;

  __device__ __forceinline__ uint64_t samples() const { return outer * inner; }
  __device__ __forceinline__ uint64_t len() const { return outer * channels * inner; }
  __device__ __forceinline__ uint64_t at(uint64_t channel, uint64_t sample) const {
    uint64_t row = sample / inner;
    return (row * channels + channel) * inner + (sample - row * inner);
  }
};

static_assert(sizeof(Shape) == 40, "as `batch_norm.rs`");

// The channel of neighbouring elements, without a division for each.
struct Walk {
  uint64_t channel, left;

  __device__ __forceinline__ Walk(const Shape& shape, uint64_t i) {
    uint64_t run = i / shape.inner;
    channel = run % shape.channels, left = shape.inner - (i - run * shape.inner);
  }
  __device__ __forceinline__ void step(const Shape& shape) {
    if (--left != 0) return;
    left = shape.inner;
    if (++channel == shape.channels) channel = 0;
  }
};

__device__ __forceinline__ double joined(const double* partials, const Shape& shape, uint64_t channel) {
  double all = 0.0;
#pragma unroll 1
  for (uint64_t i = 0; i < shape.chunks; i++) all = __dadd_rn(all, partials[channel * shape.chunks + i]);
  return all;
}

__device__ __forceinline__ double mean_of(const double* partials, const Shape& shape, uint64_t channel) {
  return __ddiv_rn(joined(partials, shape, channel), (double)shape.samples());
}

// Calls `chunk(channel)` for the chunks of all channels that are this block's, which gives what to do with each element's
// index, and then `done(job)`.
template <class Chunk, class Done>
__device__ __forceinline__ void each_chunk(const Shape& shape, Chunk chunk, Done done) {
#pragma unroll 1
  for (uint64_t job = blockIdx.x; job < shape.channels * shape.chunks; job += gridDim.x) {
    uint64_t channel = job / shape.chunks, start = job % shape.chunks * shape.chunk_len;
    uint64_t end = min(start + shape.chunk_len, shape.samples());
    auto element = chunk(channel);
#pragma unroll 1
    for (uint64_t i = start + threadIdx.x; i < end; i += THREADS) element(shape.at(channel, i));
    done(job);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_sums(
    const void* input, DType dtype, Shape shape, double* sums) {
  double sum;
  each_chunk(
      shape,
      [&](uint64_t) {
        sum = 0.0;
        return [&](uint64_t at) { sum = __dadd_rn(sum, (double)load(input, dtype, at)); };
      },
      [&](uint64_t job) {
        double all = reduce<Sum>(sum);
        if (threadIdx.x == 0) sums[job] = all;
      });
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_squares(
    const void* input, DType dtype, Shape shape, const double* sums, double* squares) {
  double sum, mean;
  each_chunk(
      shape,
      [&](uint64_t channel) {
        sum = 0.0, mean = mean_of(sums, shape, channel);
        return [&](uint64_t at) {
          double off = __dsub_rn((double)load(input, dtype, at), mean);
          sum = __dadd_rn(sum, __dmul_rn(off, off));
        };
      },
      [&](uint64_t job) {
        double all = reduce<Sum>(sum);
        if (threadIdx.x == 0) squares[job] = all;
      });
}

// (1 - momentum) * old + momentum * next.
__device__ __forceinline__ float moved(float old, double next, float momentum) {
  double kept = __dmul_rn(__dsub_rn(1.0, (double)momentum), (double)old);
  return __double2float_rn(__dadd_rn(kept, __dmul_rn((double)momentum, next)));
}

template <class Work>
__device__ __forceinline__ void each_channel(uint64_t channels, Work work) {
  uint64_t step = (uint64_t)gridDim.x * THREADS;
#pragma unroll 1
  for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < channels; i += step) work(i);
}

// The running statistics stay as they are where there are none.
extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_stats(
    const double* sums, const double* squares, Shape shape, float eps, float momentum, const float* mean,
    const float* var, Stats* stats, float* to_mean, float* to_var) {
  each_channel(shape.channels, [&](uint64_t c) {
    double samples = (double)shape.samples();
    double of_batch = mean_of(sums, shape, c), biased = mean_of(squares, shape, c);
    stats[c] = stats_of(of_batch, biased, eps);
    if (mean == nullptr) return;
    double unbiased = __dmul_rn(biased, __ddiv_rn(samples, __dsub_rn(samples, 1.0)));
    to_mean[c] = moved(mean[c], of_batch, momentum);
    to_var[c] = moved(var[c], unbiased, momentum);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_running(
    const float* mean, const float* var, uint64_t channels, float eps, Stats* stats) {
  each_channel(channels, [&](uint64_t c) { stats[c] = stats_of((double)mean[c], (double)var[c], eps); });
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm(
    const void* input, DType dtype, const void* weight, const void* bias, DType parameter_dtype, Shape shape,
    const Stats* stats, void* to) {
  each_group_of(shape.len(), [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    load_eight(input, dtype, i, count, x);
    Walk walk(shape, i);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float w = load(weight, parameter_dtype, walk.channel), b = load(bias, parameter_dtype, walk.channel);
      x[k] = __fadd_rn(__fmul_rn(normal(stats[walk.channel], x[k]), w), b);
      walk.step(shape);
    }
    store_eight(to, dtype, i, count, x);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_backward_sums(
    const void* grad, const void* input, DType dtype, Shape shape, const Stats* stats, double* slopes,
    double* offsets) {
  double slope, offset;
  Stats own;
  each_chunk(
      shape,
      [&](uint64_t channel) {
        slope = 0.0, offset = 0.0, own = stats[channel];
        return [&](uint64_t at) {
          double g = (double)load(grad, dtype, at);
          slope = __dadd_rn(slope, __dmul_rn(g, (double)normal(own, load(input, dtype, at))));
          offset = __dadd_rn(offset, g);
        };
      },
      [&](uint64_t job) {
        double all_slope = reduce<Sum>(slope), all_offset = reduce<Sum>(offset);
        if (threadIdx.x == 0) slopes[job] = all_slope, offsets[job] = all_offset;
      });
}

// What the gradient of the input takes of each channel: the means of g * x and of g.
struct Means {
  float slope, offset;
};

static_assert(sizeof(Means) == 8, "as `batch_norm.rs`");

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_backward_parameters(
    const double* slopes, const double* offsets, Shape shape, Means* means, void* to_weight, void* to_bias,
    DType dtype) {
  each_channel(shape.channels, [&](uint64_t c) {
    double slope = joined(slopes, shape, c), offset = joined(offsets, shape, c), samples = (double)shape.samples();
    put<SIXTEEN_AND_32>(to_weight, dtype, c, to_code(dtype, __double2float_rn(slope)));
    put<SIXTEEN_AND_32>(to_bias, dtype, c, to_code(dtype, __double2float_rn(offset)));
    means[c] = {__double2float_rn(__ddiv_rn(slope, samples)), __double2float_rn(__ddiv_rn(offset, samples))};
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_backward(
    const void* grad, const void* input, DType dtype, const void* weight, DType parameter_dtype, Shape shape,
    const Stats* stats, const Means* means, void* to) {
  each_group_of(shape.len(), [&](uint64_t i, uint32_t count) {
    float g[GROUP], x[GROUP];
    load_eight(grad, dtype, i, count, g);
    load_eight(input, dtype, i, count, x);
    Walk walk(shape, i);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      Stats own = stats[walk.channel];
      Means mean = means[walk.channel];
      float rest = __fsub_rn(__fsub_rn(g[k], mean.offset), __fmul_rn(normal(own, x[k]), mean.slope));
      g[k] = __fmul_rn(__fmul_rn(load(weight, parameter_dtype, walk.channel), own.rstd), rest);
      walk.step(shape);
    }
    store_eight(to, dtype, i, count, g);
  });
}
