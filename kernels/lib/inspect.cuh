// Inspection of a set of gradients, chunk by chunk: what is not finite as it is or times the scale's inverse, how large the rest is, and
// the sum of squares.
//
// A chunk is read once, for maxima of bits, where NaN is largest; only one with an infinity or a NaN is read again, element by element, for
// places and counts.
#pragma once
#include "ahead.cuh"
#include "reduce.cuh"
#include "state.cuh"

struct Partial {
  double squares;
  uint64_t index;
  uint32_t row, bad;
  uint32_t infinities, nans;
  uint32_t magnitude, largest;
};

static_assert(sizeof(Partial) == 40, "as `structs.rs`");

constexpr uint32_t INFINITE = 0x7f800000u;
constexpr uint32_t NOWHERE = 0xffffffffu;

__device__ __forceinline__ uint32_t magnitude_of(float value) {
  return __float_as_uint(value) & 0x7fffffffu;
}

__device__ __forceinline__ uint32_t larger(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

// Returns the finding of one pass: maxima to every thread, which all go on by them, the sum to thread 0. It calls `also(x)` with each of the
// thread's groups, in order.
template <class Row, class Also>
__device__ __forceinline__ Partial quick(const Row& row, const Chunk& chunk, const Scale* scale, Also also) {
  float inverse = scale->inverse;
  double squares = 0.0;
  uint32_t magnitude = 0;
  each_value(row, chunk, [&](const float (&x)[GROUP]) {
    also(x);
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
template <class Row>
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
template <class Row>
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
