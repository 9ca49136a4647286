// A set of tensors in one launch: a table of rows, and a block for each chunk of each tensor.
//
// `first_chunk` counts chunks of the rows before, so that a block finds its row by bisection. The length of a chunk is
// the host's to choose, from the set alone, so that sums do not depend on the GPU.
#pragma once
#include "block.cuh"
#include "elements.cuh"

// The elements of a row that a block works on.
struct Chunk {
  uint32_t row;
  uint64_t start, end;
};

// The last row whose first chunk is not behind `chunk`: rows without elements have no chunk and are passed over.
template <class Row>
__device__ __forceinline__ Chunk chunk_of(const Row* rows, uint32_t count, uint64_t chunk, uint64_t length) {
  uint32_t low = 0, high = count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (rows[middle].first_chunk <= chunk) low = middle;
    else high = middle;
  }
  uint64_t start = (chunk - rows[low].first_chunk) * length;
  uint64_t end = start + length < rows[low].len ? start + length : rows[low].len;
  return {low, start, end};
}

// Calls `work(index, count)` for this thread's groups of a chunk.
template <uint32_t APART = NEXT, class Work>
__device__ __forceinline__ void each_group(const Chunk& chunk, Work work) {
  uint32_t first = threadIdx.x * (APART == NEXT ? GROUP : 4);
  for (uint64_t i = chunk.start + first; i < chunk.end; i += THREADS * GROUP) {
    uint64_t left = chunk.end - i;
    work(i, left < REACH<APART> ? (uint32_t)left : REACH<APART>);
  }
}

// `load_group`, `put_group` and `store_group` of spread groups.
__device__ __forceinline__ void load_spread(const void* from, DType dtype, uint64_t i, uint32_t count, float (&x)[GROUP]) {
  load_group<SIXTEEN_AND_32, SPREAD>(from, dtype, i, count, x);
}

__device__ __forceinline__ void put_spread(void* to, DType dtype, uint64_t i, uint32_t count, const uint32_t (&code)[GROUP]) {
  put_group<SIXTEEN_AND_32, SPREAD>(to, dtype, i, count, code);
}

__device__ __forceinline__ void store_spread(void* to, DType dtype, uint64_t i, uint32_t count, const float (&x)[GROUP]) {
  store_group<SIXTEEN_AND_32, SPREAD>(to, dtype, i, count, x);
}
