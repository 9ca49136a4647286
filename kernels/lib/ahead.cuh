// Reading of a chunk by kernels that sum up: the type is told apart once, and 64 bytes of each thread are on their way before the
// first is used. Each thread takes its groups in the same order as by `each_group`, so that sums keep their bits.
#pragma once
#include "set.cuh"

// Works on all of the thread's whole groups of an aligned array. Returns where its last one begins, which is not whole, or the
// chunk's end.
template <DType TYPE, class Work>
__device__ __forceinline__ uint64_t each_ahead(const void* from, const Chunk& chunk, Work work) {
  constexpr uint32_t SIZE = TYPE == F32 ? 4 : 2, WORDS = SIZE / 2, AHEAD = 4 / WORDS, STEP = THREADS * GROUP;
  uint64_t i = chunk.start + threadIdx.x * GROUP;
  if (!is_aligned((const uint8_t*)from + i * SIZE, 16)) return i;
#pragma unroll 1
  for (; i + GROUP <= chunk.end; i += AHEAD * STEP) {
    const uint4* at = (const uint4*)((const uint8_t*)from + i * SIZE);
    uint64_t behind = chunk.end - i - GROUP;
    uint32_t groups = behind < AHEAD * STEP ? (uint32_t)behind / STEP + 1 : AHEAD;
    uint4 words[AHEAD][WORDS];
#pragma unroll
    for (uint32_t group = 0; group < AHEAD; group++) {
#pragma unroll
      for (uint32_t word = 0; word < WORDS; word++) {
        if (group < groups) words[group][word] = at[group * (STEP * SIZE / 16) + word];
      }
    }
#pragma unroll
    for (uint32_t group = 0; group < AHEAD; group++) {
      if (group >= groups) break;
      uint4 low = words[group][0], high = words[group][WORDS - 1];
      float x[GROUP] = {
          __uint_as_float(low.x), __uint_as_float(low.y), __uint_as_float(low.z), __uint_as_float(low.w),
          __uint_as_float(high.x), __uint_as_float(high.y), __uint_as_float(high.z), __uint_as_float(high.w)};
      if (TYPE != F32) widen(TYPE, low, x);
      work(x);
    }
  }
  uint64_t whole = (chunk.end - chunk.start) / GROUP;
  return whole % THREADS == threadIdx.x ? chunk.start + whole * GROUP : chunk.end;
}

// Calls `work(x)` for this thread's groups of a chunk, in order; elements behind the last are 0.
template <Types TYPES = SIXTEEN_AND_32, class Work>
__device__ __forceinline__ void each_value(const void* from, DType dtype, const Chunk& chunk, Work work) {
  uint64_t i = chunk.start + threadIdx.x * GROUP;
  if (dtype == BF16) i = each_ahead<BF16>(from, chunk, work);
  else if (dtype == F16_) i = each_ahead<F16_>(from, chunk, work);
  else if (dtype == F32) i = each_ahead<F32>(from, chunk, work);
#pragma unroll 1
  for (; i < chunk.end; i += THREADS * GROUP) {
    uint64_t left = chunk.end - i;
    float x[GROUP];
    load_group<TYPES>(from, dtype, i, left < GROUP ? (uint32_t)left : GROUP, x);
    work(x);
  }
}
