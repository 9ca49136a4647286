// Reductions over a block of THREADS, in an order that does not change.
#pragma once
#include <stdint.h>

#include "set.cuh"

struct Sum {
  template <class T>
  __device__ static T join(T a, T b) { return a + b; }
  __device__ static double join(double a, double b) { return __dadd_rn(a, b); }
};

struct Max {
  template <class T>
  __device__ static T join(T a, T b) { return a > b ? a : b; }
};

struct Min {
  template <class T>
  __device__ static T join(T a, T b) { return a < b ? a : b; }
};

// Thread 0 gets the result; all threads must come.
template <class Join, class T>
__device__ __forceinline__ T reduce(T value) {
  __shared__ T warps[THREADS / 32];
  for (int distance = 16; distance > 0; distance /= 2) {
    value = Join::join(value, __shfl_down_sync(0xffffffffu, value, distance));
  }
  // Others may still read what the reduction before left here.
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t warp = 1; warp < THREADS / 32; warp++) value = Join::join(value, warps[warp]);
  }
  return value;
}

// The same, told to everyone.
template <class Join, class T>
__device__ __forceinline__ T reduce_all(T value) {
  __shared__ T result;
  value = reduce<Join>(value);
  if (threadIdx.x == 0) result = value;
  __syncthreads();
  return result;
}

// True for the threads of the block that is last to come, which then sees what all others wrote. `done` is 0 again then.
__device__ __forceinline__ bool is_last_block(uint32_t* done) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return last;
}
