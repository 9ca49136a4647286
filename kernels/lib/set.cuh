// A set of tensors in one launch: a table of rows, and a block for each chunk of each tensor.
//
// `first_chunk` counts chunks of the rows before, so that a block finds its row by bisection. The length of a chunk is
// the host's to choose, from the set alone, so that sums do not depend on the GPU.
#pragma once
#include "elements.cuh"

constexpr uint32_t THREADS = 256;

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
template <class Work>
__device__ __forceinline__ void each_group(const Chunk& chunk, Work work) {
  for (uint64_t i = chunk.start + threadIdx.x * GROUP; i < chunk.end; i += THREADS * GROUP) {
    uint64_t left = chunk.end - i;
    work(i, left < GROUP ? (uint32_t)left : GROUP);
  }
}
