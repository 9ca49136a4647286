// One tensor in one launch: a grid of any size strides over groups of eight elements.
#pragma once
#include "elements.cuh"

// Calls `work(index, count)` for this thread's groups of `len` elements.
template <class Work>
__device__ __forceinline__ void each_group_of(uint64_t len, Work work) {
  uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = first * GROUP; i < len; i += step * GROUP) {
    work(i, len - i < GROUP ? (uint32_t)(len - i) : GROUP);
  }
}
