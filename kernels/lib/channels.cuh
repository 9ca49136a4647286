// The channels of [N, C, ..], seen as [outer, channels, inner]: chunks of a channel's samples, each of them a block's to sum up.
#pragma once
#include "compact.cuh"
#include "reduce.cuh"

// How a block reads chunks. The host chooses, from the shape alone.
enum Layout : uint32_t {
  // One element a thread, along the samples of one channel.
  ALONG = 0,
  // A group a thread: `inner` and `chunk_len` are multiples of GROUP.
  ALONG_GROUPS = 1,
  // 32 neighbouring channels, a row a warp: `inner` is 1.
  ACROSS = 2,
};

// A channel has outer * inner samples, in chunks, of which there is at least one.
struct Shape {
  uint64_t outer, channels, inner, chunk_len;
  uint32_t chunks;
  Layout layout;

  __device__ __forceinline__ uint64_t samples() const { return outer * inner; }
  __device__ __forceinline__ uint64_t len() const { return outer * channels * inner; }
};

static_assert(sizeof(Shape) == 40, "as `structs.rs`");

__device__ __forceinline__ uint64_t samples_of(const Shape& shape, uint64_t part) {
  return min(shape.chunk_len, shape.samples() - part * shape.chunk_len);
}

template <uint32_t COUNT>
struct Some {
  float of[COUNT];
};

// A block on one chunk of one channel, of which a thread takes COUNT elements at a time.
template <uint32_t COUNT>
struct Along {
  const Shape& shape;
  uint64_t channel, part;

  __device__ static uint64_t jobs(const Shape& shape) { return shape.channels * shape.chunks; }
  __device__ __forceinline__ Along(const Shape& shape, uint64_t job)
      : shape(shape), channel(job / shape.chunks), part(job % shape.chunks) {}

  // Calls `work(index)` for this thread's elements. Whoever goes on by a fixed step divides once, and not each time.
  template <class Work>
  __device__ __forceinline__ void each(Work work) const {
    uint64_t inner = shape.inner / COUNT, i = part * shape.chunk_len / COUNT + threadIdx.x;
    uint64_t end = (part * shape.chunk_len + samples_of(shape, part)) / COUNT, row = i / inner, across = i - row * inner;
    uint64_t rows_on = 0, across_on = THREADS;
    if (inner <= THREADS) rows_on = THREADS / (uint32_t)inner, across_on = THREADS % (uint32_t)inner;
    uint64_t rounds = i < end ? (end - i + THREADS - 1) / THREADS : 0;
    // Loads of a few bytes are to be under way together.
#pragma unroll(COUNT == 1 ? 4 : 1)
    for (uint64_t round = 0; round < rounds; round++) {
      work((row * shape.channels + channel) * shape.inner + across * COUNT);
      row += rows_on, across += across_on;
      if (across >= inner) across -= inner, row++;
    }
  }

  __device__ __forceinline__ Some<COUNT> load(const void* from, DType dtype, uint64_t at) const {
    Some<COUNT> some;
    if constexpr (COUNT == GROUP) load_eight(from, dtype, at, GROUP, some.of);
    else some.of[0] = load_one(from, dtype, at);
    return some;
  }

  // The sum over the chunk, told to everyone.
  __device__ __forceinline__ double join(double value) const { return reduce_all<Sum>(value); }
  __device__ __forceinline__ bool is_channel() const { return true; }
  __device__ __forceinline__ bool writes() const { return threadIdx.x == 0; }
  __device__ __forceinline__ uint64_t slot() const { return channel * shape.chunks + part; }
};

// A block on one chunk of 32 channels, of which a thread has one and each eighth row.
struct Across {
  const Shape& shape;
  uint64_t channel, part;

  __device__ static uint64_t tiles(const Shape& shape) { return (shape.channels + 31) / 32; }
  __device__ static uint64_t jobs(const Shape& shape) { return tiles(shape) * shape.chunks; }
  __device__ __forceinline__ Across(const Shape& shape, uint64_t job)
      : shape(shape), channel(job % tiles(shape) * 32 + threadIdx.x % 32), part(job / tiles(shape)) {}

  template <class Work>
  __device__ __forceinline__ void each(Work work) const {
    if (channel >= shape.channels) return;
    uint32_t line = threadIdx.x / 32, lines = THREADS / 32;
    uint64_t at = (part * shape.chunk_len + line) * shape.channels + channel;
    uint64_t rounds = (samples_of(shape, part) + lines - 1 - line) / lines;
#pragma unroll 4
    for (uint64_t round = 0; round < rounds; round++) work(at + round * lines * shape.channels);
  }

  __device__ __forceinline__ Some<1> load(const void* from, DType dtype, uint64_t at) const {
    return {{load_one(from, dtype, at)}};
  }

  __device__ __forceinline__ double join(double value) const {
    __shared__ double lines[THREADS / 32][32];
    uint32_t line = threadIdx.x / 32, across = threadIdx.x % 32;
    // Others may still read what was joined before.
    __syncthreads();
    lines[line][across] = value;
    __syncthreads();
    value = lines[0][across];
#pragma unroll
    for (uint32_t other = 1; other < THREADS / 32; other++) value = __dadd_rn(value, lines[other][across]);
    return value;
  }

  __device__ __forceinline__ bool is_channel() const { return channel < shape.channels; }
  __device__ __forceinline__ bool writes() const { return threadIdx.x / 32 == 0 && is_channel(); }
  __device__ __forceinline__ uint64_t slot() const { return channel * shape.chunks + part; }
};

template <class Job, class Work>
__device__ __forceinline__ void each_of(const Shape& shape, Work work) {
#pragma unroll 1
  for (uint64_t job = blockIdx.x; job < Job::jobs(shape); job += gridDim.x) work(Job(shape, job));
}

// Calls `work(job)` for this block's jobs, which are of one kind.
template <class Work>
__device__ __forceinline__ void each_job(const Shape& shape, Work work) {
  if (shape.layout == ACROSS) each_of<Across>(shape, work);
  else if (shape.layout == ALONG_GROUPS) each_of<Along<GROUP>>(shape, work);
  else each_of<Along<1>>(shape, work);
}

// The sum of `term(part)` over `parts`, such as a channel's chunks, by a warp, told to each lane.
template <class Part, class Term>
__device__ __forceinline__ double joined_of(Part parts, Term term) {
  double all = 0.0;
#pragma unroll 1
  for (Part part = threadIdx.x % 32; part < parts; part += 32) all = __dadd_rn(all, term(part));
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    all = __dadd_rn(all, __shfl_xor_sync(0xffffffffu, all, distance));
  }
  return all;
}

template <class Term>
__device__ __forceinline__ double joined(const Shape& shape, Term term) {
  return joined_of(shape.chunks, term);
}

// Calls `work(channel)` for this warp's channels.
template <class Work>
__device__ __forceinline__ void each_warps(uint64_t channels, Work work) {
  uint64_t step = (uint64_t)gridDim.x * (THREADS / 32);
#pragma unroll 1
  for (uint64_t i = (uint64_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32; i < channels; i += step) work(i);
}
