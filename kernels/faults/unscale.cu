// Gradients times the inverse of the scale, in place, with a flag raised if any of them is not finite.
// Twins: `unscale` is right; `unscale_dropped_tail` works on whole groups of four and forgets the rest.
#include <stdint.h>

__device__ __forceinline__ bool finite(float value) {
  return (__float_as_uint(value) & 0x7f800000u) != 0x7f800000u;
}

extern "C" __global__ void unscale(float* gradients, float inverse, uint32_t* found, uint32_t n) {
  bool bad = false;
#pragma unroll 1
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float value = __fmul_rn(gradients[i], inverse);
    bad |= !finite(value);
    gradients[i] = value;
  }
  if (bad) atomicOr(found, 1u);
}

__device__ __forceinline__ bool unscale_one(float& gradient, float inverse) {
  gradient = __fmul_rn(gradient, inverse);
  return !finite(gradient);
}

template <bool TAIL>
__device__ __forceinline__ void by_fours(float* gradients, float inverse, uint32_t* found, uint32_t n) {
  uint32_t first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  float4* fours = reinterpret_cast<float4*>(gradients);
  bool bad = false;
#pragma unroll 1
  for (uint32_t i = first; i < n / 4; i += step) {
    float4 four = fours[i];
    bad |= unscale_one(four.x, inverse);
    bad |= unscale_one(four.y, inverse);
    bad |= unscale_one(four.z, inverse);
    bad |= unscale_one(four.w, inverse);
    fours[i] = four;
  }
  uint32_t rest = n / 4 * 4 + first;
  if (TAIL && rest < n) bad |= unscale_one(gradients[rest], inverse);
  if (bad) atomicOr(found, 1u);
}

extern "C" __global__ void unscale_by_fours(float* gradients, float inverse, uint32_t* found, uint32_t n) {
  by_fours<true>(gradients, inverse, found, n);
}

extern "C" __global__ void unscale_dropped_tail(float* gradients, float inverse, uint32_t* found, uint32_t n) {
  by_fours<false>(gradients, inverse, found, n);
}
