// Looks at every gradient of a set as it is and as it will be once multiplied by the scale's inverse: what is not
// finite, how large the rest is, and the sum of squares for clipping. Nothing is written to the gradients.
//
// Oracle: `cases/unscale.rs`; agreement: bits, and for the sum of squares (f64, in a fixed order) the bound of its terms.
//
// `unscale`: a block of 256 for each chunk of the set's rows, at least one block; the block that is done last joins what
// the others left in `partials`, one each, and writes `found` and `owed`. `done` is a counter that is 0 before and after.
// `from` is the number of the first block's chunk: 0 but in tests of far indices.
//
// A chunk is read once, for maxima of bits, where NaN is largest; only one with an infinity or a NaN is read again,
// element by element, for places and counts.
#include "lib/ahead.cuh"
#include "lib/reduce.cuh"
#include "lib/state.cuh"

struct Row {
  const void* values;
  // 0 where the gradient is there for certain; otherwise it is only if this is not 0.
  const uint32_t* present;
  uint64_t len, first_chunk;
  uint32_t parameter;
  DType dtype;
};

struct Partial {
  double squares;
  uint64_t index;
  uint32_t row, bad;
  uint32_t infinities, nans;
  uint32_t magnitude, largest;
};

static_assert(sizeof(Row) == 40 && sizeof(Partial) == 40, "as `structs.rs`");

constexpr uint32_t INFINITE = 0x7f800000u;
constexpr uint32_t NOWHERE = 0xffffffffu;

__device__ __forceinline__ uint32_t magnitude_of(float value) {
  return __float_as_uint(value) & 0x7fffffffu;
}

__device__ __forceinline__ uint32_t larger(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

// What one pass tells quickly: maxima to every thread, which all go on by them, the sum to thread 0.
__device__ __forceinline__ Partial quick(const Row& row, const Chunk& chunk, const Scale* scale) {
  float inverse = scale->inverse;
  double squares = 0.0;
  uint32_t magnitude = 0;
  each_value(row, chunk, [&](const float (&x)[GROUP]) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float unscaled = __fmul_rn(x[k], inverse);
      magnitude = larger(magnitude, magnitude_of(x[k]));
      squares = __fma_rn((double)unscaled, (double)unscaled, squares);
    }
  });
  Partial partial = {reduce<Sum>(squares), 0, 0, 0, 0, 0, 0, 0};
  partial.magnitude = reduce_all<Max>(magnitude);
  // The largest stays the largest when it is multiplied and rounded.
  partial.largest = magnitude_of(__fmul_rn(__uint_as_float(partial.magnitude), scale->inverse));
  partial.bad = partial.magnitude >= INFINITE || partial.largest >= INFINITE;
  return partial;
}

// Places and counts, and the largest of those that are finite.
__device__ __forceinline__ void careful(const Row* rows, const Chunk& chunk, float inverse, Partial& partial) {
  const Row& row = rows[chunk.row];
  uint32_t magnitude = 0, infinities = 0, nans = 0, first = NOWHERE;
  for (uint64_t i = chunk.start + threadIdx.x; i < chunk.end; i += THREADS) {
    float scaled = load(row.values, row.dtype, i);
    uint32_t before = magnitude_of(scaled), bits = larger(before, magnitude_of(__fmul_rn(scaled, inverse)));
    if (before < INFINITE) magnitude = larger(magnitude, before);
    if (bits < INFINITE) continue;
    nans += bits > INFINITE;
    infinities += bits == INFINITE;
    if (first == NOWHERE) first = (uint32_t)(i - chunk.start);
  }
  partial.row = chunk.row;
  partial.magnitude = reduce<Max>(magnitude);
  partial.infinities = reduce<Sum>(infinities);
  partial.nans = reduce<Sum>(nans);
  partial.index = chunk.start + reduce<Min>(first);
}

// All partials as one, by the last block; thread 0 has the result.
__device__ __forceinline__ void join(
    const Row* rows, const Partial* partials, const Scale* scale, Found* found, Owed* owed) {
  double squares = 0.0;
  uint64_t infinities = 0, nans = 0;
  uint32_t magnitude = 0, largest = 0, first = NOWHERE;
  for (uint32_t i = threadIdx.x; i < gridDim.x; i += THREADS) {
    const Partial& partial = partials[i];
    squares = __dadd_rn(squares, partial.squares);
    infinities += partial.infinities;
    nans += partial.nans;
    magnitude = larger(magnitude, partial.magnitude);
    largest = larger(largest, partial.largest);
    if (partial.bad && first == NOWHERE) first = i;
  }
  squares = reduce<Sum>(squares);
  infinities = reduce<Sum>(infinities);
  nans = reduce<Sum>(nans);
  magnitude = reduce<Max>(magnitude);
  largest = reduce<Max>(largest);
  first = reduce<Min>(first);
  if (threadIdx.x != 0) return;
  *owed = {scale->inverse, 1.0f, __uint_as_float(largest), 0, squares};
  Found result = {0, scale->diverged, NOBODY, 0, 0, 0.0f, 0.0f, infinities, nans, __uint_as_float(magnitude), 0.0f, 0};
  if (first != NOWHERE) {
    const Row& row = rows[partials[first].row];
    result.raised = 1;
    result.parameter = row.parameter;
    result.index = partials[first].index;
    result.scaled = load(row.values, row.dtype, result.index);
    result.unscaled = __fmul_rn(result.scaled, scale->inverse);
  }
  *found = result;
}

extern "C" __global__ void __launch_bounds__(THREADS, 6) unscale(
    const Row* rows, uint32_t row_count, uint64_t from, uint64_t chunks, uint64_t chunk_len, const Scale* scale,
    Partial* partials, uint32_t* done, Found* found, Owed* owed) {
  Partial partial = {0.0, 0, 0, 0, 0, 0, 0, 0};
  if (from + blockIdx.x < chunks) {
    Chunk chunk = chunk_of(rows, row_count, from + blockIdx.x, chunk_len);
    // A copy, so that its fields stay in registers: read through a reference, they cost a quarter of the loads on their way.
    const Row row = rows[chunk.row];
    if (row.present == nullptr || *row.present != 0) {
      partial = quick(row, chunk, scale);
      // Found once more, since `quick` needs the registers that would hold it.
      if (partial.bad) careful(rows, chunk_of(rows, row_count, from + blockIdx.x, chunk_len), scale->inverse, partial);
    }
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = partial;
  if (is_last_block(done)) join(rows, partials, scale, found, owed);
}
// sass: unscale loads 4 read 2 slots 203 flight 96
// sass: unscale loads 1 slots 76
// sass: unscale loads 2 read 2 slots 62
