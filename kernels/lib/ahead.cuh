// Reading of a chunk by kernels that sum up: the type is told apart once, and 64 bytes of each thread are on their way before the
// first is used. Each thread takes its groups in the same order as by `each_group`, so that sums keep their bits.
//
// Six blocks of 256 with 64 bytes a thread have 96 KiB on their way on a multiprocessor. They fit if a thread takes 40 registers, which is
// why kernels read again what they need after the loop.
#pragma once
#include "set.cuh"

// Works on the thread's groups of the `len` elements from `from` on, 64 bytes of whole groups at a time. Returns the element at which the
// thread's next group begins.
template <DType TYPE, class Work>
__device__ __forceinline__ uint32_t each_ahead(const uint8_t* from, uint32_t len, Work work) {
  constexpr uint32_t SIZE = TYPE == F32 ? 4 : 2, WORDS = SIZE / 2, AHEAD = 4 / WORDS, STEP = THREADS * GROUP;
  uint32_t i = threadIdx.x * GROUP;
  if (!is_aligned(from, 16)) return i;
#pragma unroll 1
  for (; i + ((AHEAD - 1) * STEP + GROUP) <= len; i += AHEAD * STEP) {
    const uint4* at = (const uint4*)(from + i * SIZE);
    uint4 words[AHEAD][WORDS];
#pragma unroll
    for (uint32_t group = 0; group < AHEAD; group++) {
#pragma unroll
      for (uint32_t word = 0; word < WORDS; word++) words[group][word] = at[group * (STEP * SIZE / 16) + word];
    }
#pragma unroll
    for (uint32_t group = 0; group < AHEAD; group++) {
      uint4 low = words[group][0], high = words[group][WORDS - 1];
      float x[GROUP] = {
          __uint_as_float(low.x), __uint_as_float(low.y), __uint_as_float(low.z), __uint_as_float(low.w),
          __uint_as_float(high.x), __uint_as_float(high.y), __uint_as_float(high.z), __uint_as_float(high.w)};
      if (TYPE != F32) widen(TYPE, low, x);
      work(x);
    }
  }
  return i;
}

// `each_ahead` of a chunk's elements.
template <DType TYPE, class Row, class Work>
__device__ __forceinline__ uint64_t each_ahead(const Row& row, const Chunk& chunk, Work work) {
  constexpr uint32_t SIZE = TYPE == F32 ? 4 : 2;
  return chunk.start + each_ahead<TYPE>((const uint8_t*)row.values + chunk.start * SIZE, (uint32_t)(chunk.end - chunk.start), work);
}

// Calls `work(x)` for this thread's groups of a chunk, in order; elements behind the last are 0.
template <Types TYPES = SIXTEEN_AND_32, class Row, class Work>
__device__ __forceinline__ void each_value(const Row& row, const Chunk& chunk, Work work) {
  uint64_t i = chunk.start + threadIdx.x * GROUP;
  if (row.dtype == BF16) i = each_ahead<BF16>(row, chunk, work);
  else if (row.dtype == F16_) i = each_ahead<F16_>(row, chunk, work);
  else if (row.dtype == F32) i = each_ahead<F32>(row, chunk, work);
  // No register holds the row's fields until here.
  asm volatile("" ::: "memory");
#pragma unroll 1
  for (; i < chunk.end; i += THREADS * GROUP) {
    uint64_t left = chunk.end - i;
    float x[GROUP];
    load_group<TYPES>(row.values, row.dtype, i, left < GROUP ? (uint32_t)left : GROUP, x);
    work(x);
  }
}
