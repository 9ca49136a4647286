// One sum a warp, by shuffles. Twins: `warp_sum` is right; `warp_sum_divergent` names all 32 lanes in the mask from a branch that
// only those with an element take.
#include <stdint.h>

__device__ __forceinline__ float across_the_warp(float value) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = __fadd_rn(value, __shfl_down_sync(0xffffffffu, value, lanes));
  return value;
}

extern "C" __global__ void warp_sum(const float* x, float* sums, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = across_the_warp(i < n ? x[i] : 0.0f);
  if (i % 32 == 0) sums[i / 32] = sum;
}

extern "C" __global__ void warp_sum_divergent(const float* x, float* sums, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = across_the_warp(x[i]);
    if (i % 32 == 0) sums[i / 32] = sum;
  }
}
