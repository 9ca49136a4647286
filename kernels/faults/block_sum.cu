// One sum a block of 128 threads, by a tree in shared memory: thread t adds what thread t + stride holds.
// Twins: `block_sum` is right; `block_sum_no_barrier` reads before the others wrote; `block_sum_race` adds in place without waiting
// between strides; `block_sum_divergent` waits where half of a block never comes; `block_sum_uninitialised` never fills the tail.
#include <stdint.h>

constexpr uint32_t THREADS = 128;

extern "C" __global__ void block_sum(const float* x, float* sums, uint32_t n) {
  __shared__ float part[THREADS];
  uint32_t t = threadIdx.x, i = blockIdx.x * THREADS + t;
  part[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
#pragma unroll 1
  for (uint32_t stride = THREADS / 2; stride > 0; stride /= 2) {
    if (t < stride) part[t] = __fadd_rn(part[t], part[t + stride]);
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void block_sum_no_barrier(const float* x, float* sums, uint32_t n) {
  __shared__ float part[THREADS];
  uint32_t t = threadIdx.x, i = blockIdx.x * THREADS + t;
  part[t] = i < n ? x[i] : 0.0f;
#pragma unroll 1
  for (uint32_t stride = THREADS / 2; stride > 0; stride /= 2) {
    if (t < stride) part[t] = __fadd_rn(part[t], part[t + stride]);
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void block_sum_race(const float* x, float* sums, uint32_t n) {
  __shared__ float part[THREADS];
  uint32_t t = threadIdx.x, i = blockIdx.x * THREADS + t;
  part[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
#pragma unroll 1
  for (uint32_t stride = THREADS / 2; stride > 0; stride /= 2)
    if (t < stride) part[t] = __fadd_rn(part[t], part[t + stride]);
  __syncthreads();
  if (t == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void block_sum_divergent(const float* x, float* sums, uint32_t n) {
  __shared__ float part[THREADS];
  uint32_t t = threadIdx.x, i = blockIdx.x * THREADS + t;
  part[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
#pragma unroll 1
  for (uint32_t stride = THREADS / 2; stride > 0; stride /= 2)
    if (t < stride) {
      part[t] = __fadd_rn(part[t], part[t + stride]);
      __syncthreads();
    }
  if (t == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void block_sum_uninitialised(const float* x, float* sums, uint32_t n) {
  __shared__ float part[THREADS];
  uint32_t t = threadIdx.x, i = blockIdx.x * THREADS + t;
  if (i < n) part[t] = x[i];
  __syncthreads();
#pragma unroll 1
  for (uint32_t stride = THREADS / 2; stride > 0; stride /= 2) {
    if (t < stride) part[t] = __fadd_rn(part[t], part[t + stride]);
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}
