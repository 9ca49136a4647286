// One tensor in one launch: a grid of any size of blocks of THREADS strides over spread groups of eight elements.
#pragma once
#include "block.cuh"
#include "elements.cuh"

// Calls `work(index, count)` for this thread's groups of `len` elements.
template <class Work>
__device__ __forceinline__ void each_group_of(uint64_t len, Work work) {
  uint64_t step = (uint64_t)gridDim.x * (THREADS * GROUP);
  for (uint64_t i = (uint64_t)blockIdx.x * (THREADS * GROUP) + threadIdx.x * 4; i < len; i += step) {
    work(i, len - i < REACH<SPREAD> ? (uint32_t)(len - i) : REACH<SPREAD>);
  }
}
