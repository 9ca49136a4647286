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

// [N, C, ..] as [outer, channels, inner]; a channel has outer * inner samples, in chunks, of which there is at least one.
struct Shape {
  uint64_t outer, channels, inner, chunk_len;
  uint32_t chunks, pad;

  __device__ __forceinline__ uint64_t samples() const { return outer * inner; }
  __device__ __forceinline__ uint64_t len() const { return outer * channels * inner; }
};

static_assert(sizeof(Shape) == 40, "as `structs.rs`");

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
  const double* own = partials + channel * shape.chunks;
  double all = own[0];
#pragma unroll 1
  for (uint32_t i = 1; i < shape.chunks; i++) all = __dadd_rn(all, own[i]);
  return all;
}

__device__ __forceinline__ double mean_of(const double* partials, const Shape& shape, uint64_t channel) {
  return __ddiv_rn(joined(partials, shape, channel), (double)shape.samples());
}

// Calls `chunk(channel)` for the chunks of all channels that are this block's, which gives what to do with each element's
// index, and then `done(job)`. Whoever goes on by a fixed step divides once, and not each time.
template <class Chunk, class Done>
__device__ __forceinline__ void each_chunk(const Shape& shape, Chunk chunk, Done done) {
  uint64_t channel = blockIdx.x / shape.chunks, channels_on = gridDim.x / shape.chunks;
  uint32_t part = blockIdx.x % shape.chunks, parts_on = gridDim.x % shape.chunks;
  // One row holds `inner` samples of a channel, and `channels * inner` elements.
  uint64_t rows_on = 0, across_on = THREADS;
  if (shape.inner <= THREADS) rows_on = THREADS / (uint32_t)shape.inner, across_on = THREADS % (uint32_t)shape.inner;
#pragma unroll 1
  while (channel < shape.channels) {
    uint64_t start = part * shape.chunk_len, end = min(start + shape.chunk_len, shape.samples());
    uint64_t i = start + threadIdx.x, row = i / shape.inner, across = i - row * shape.inner;
    auto element = chunk(channel);
#pragma unroll 1
    for (; i < end; i += THREADS) {
      element((row * shape.channels + channel) * shape.inner + across);
      row += rows_on, across += across_on;
      if (across >= shape.inner) across -= shape.inner, row++;
    }
    done(channel * shape.chunks + part);
    channel += channels_on, part += parts_on;
    if (part >= shape.chunks) part -= shape.chunks, channel++;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_sums(
    const void* input, DType dtype, Shape shape, double* sums) {
  double sum;
  each_chunk(
      shape,
      [&](uint64_t) {
        sum = 0.0;
        return [&](uint64_t at) { sum = __dadd_rn(sum, (double)load_one(input, dtype, at)); };
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
          double off = __dsub_rn((double)load_one(input, dtype, at), mean);
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
      float w = load_one(weight, parameter_dtype, walk.channel), b = load_one(bias, parameter_dtype, walk.channel);
      x[k] = __fadd_rn(__fmul_rn(normal(stats[walk.channel], x[k]), w), b);
      walk.step(shape);
    }
    store_eight(to, dtype, i, count, x);
  });
}

// The sums over each chunk of g * x, and behind them those of g.
extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_backward_sums(
    const void* grad, const void* input, DType dtype, Shape shape, const Stats* stats, double* sums) {
  double slope, offset;
  Stats own;
  each_chunk(
      shape,
      [&](uint64_t channel) {
        slope = 0.0, offset = 0.0, own = stats[channel];
        return [&](uint64_t at) {
          double g = (double)load_one(grad, dtype, at);
          slope = __dadd_rn(slope, __dmul_rn(g, (double)normal(own, load_one(input, dtype, at))));
          offset = __dadd_rn(offset, g);
        };
      },
      [&](uint64_t job) {
        double slopes = reduce<Sum>(slope), offsets = reduce<Sum>(offset);
        if (threadIdx.x == 0) sums[job] = slopes, sums[shape.channels * shape.chunks + job] = offsets;
      });
}

// The parameters' gradients, and the means of g * x and of g, which the input's takes off. A thread each: as if there were
// twice as many channels.
extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_backward_parameters(
    const double* sums, Shape shape, float* means, void* to_weight, void* to_bias, DType dtype) {
  each_channel(2 * shape.channels, [&](uint64_t i) {
    bool is_weight = i < shape.channels;
    double sum = joined(sums, shape, i);
    means[i] = __double2float_rn(__ddiv_rn(sum, (double)shape.samples()));
    store_one(is_weight ? to_weight : to_bias, dtype, is_weight ? i : i - shape.channels, __double2float_rn(sum));
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) batch_norm_backward(
    const void* grad, const void* input, DType dtype, const void* weight, DType parameter_dtype, Shape shape,
    const Stats* stats, const float* means, void* to) {
  each_group_of(shape.len(), [&](uint64_t i, uint32_t count) {
    float g[GROUP], x[GROUP];
    load_eight(grad, dtype, i, count, g);
    load_eight(input, dtype, i, count, x);
    Walk walk(shape, i);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      uint64_t c = walk.channel;
      Stats own = stats[c];
      float slope = means[c], offset = means[shape.channels + c];
      float rest = __fsub_rn(__fsub_rn(g[k], offset), __fmul_rn(normal(own, x[k]), slope));
      g[k] = __fmul_rn(__fmul_rn(load_one(weight, parameter_dtype, c), own.rstd), rest);
      walk.step(shape);
    }
    store_eight(to, dtype, i, count, g);
  });
}
