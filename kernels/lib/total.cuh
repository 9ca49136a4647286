// A sum over all elements of one tensor, in f64: a block of THREADS for each chunk, at least one block, and the block that
// is done last joins what the others left in `partials`, in order.
//
// The host chooses the length of a chunk from the tensor's alone, so that the order of the additions follows from it.
#pragma once
#include "compact.cuh"
#include "reduce.cuh"

// The chunk of `len` elements that is this block's: nothing where there is nothing.
__device__ __forceinline__ Chunk own_chunk(uint64_t len, uint64_t chunk_len) {
  uint64_t start = blockIdx.x * chunk_len;
  return {0, start, start + chunk_len < len ? start + chunk_len : len};
}

// Calls `finish(sum)` in one thread of the last block, with the sum of all `count` partials.
template <class Finish>
__device__ __forceinline__ void join_last(const double* partials, uint64_t count, uint32_t* done, Finish finish) {
  if (!is_last_block(done)) return;
  double all = 0.0;
  for (uint64_t i = threadIdx.x; i < count; i += THREADS) all = __dadd_rn(all, partials[i]);
  all = reduce<Sum>(all);
  if (threadIdx.x == 0) finish(all);
}

// The same, of what each thread of each block has summed up.
template <class Finish>
__device__ __forceinline__ void total(double sum, double* partials, uint32_t* done, Finish finish) {
  sum = reduce<Sum>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
  join_last(partials, gridDim.x, done, finish);
}

// What this thread has of the sum of a tensor's elements.
__device__ __forceinline__ double own_sum(const void* from, DType dtype, uint64_t len, uint64_t chunk_len) {
  double sum = 0.0;
  each_group(own_chunk(len, chunk_len), [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    load_eight(from, dtype, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) sum = __dadd_rn(sum, (double)x[k]);
  });
  return sum;
}
