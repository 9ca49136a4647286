// Casts between f32 and the 16-bit types, and one operation each that the arithmetic of the fixtures needs. All right; no twins.
#include <cuda_fp16.h>
#include <stdint.h>

// bf16 has no conversion instruction before compute capability 8.0: round the bits to nearest even, NaN kept quiet.
__device__ __forceinline__ uint16_t bf16_bits(float value) {
  uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return uint16_t((bits >> 16) | 0x40u);
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

extern "C" __global__ void cast_f32_bf16(const float* x, uint16_t* y, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = bf16_bits(x[i]);
}

extern "C" __global__ void cast_bf16_f32(const uint16_t* x, float* y, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __uint_as_float(uint32_t(x[i]) << 16);
}

extern "C" __global__ void cast_f32_f16(const float* x, __half* y, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half_rn(x[i]);
}

extern "C" __global__ void cast_f16_f32(const __half* x, float* y, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __half2float(x[i]);
}

// y = fma(a, b, c) / sqrt(|b|) rounded at each step.
extern "C" __global__ void arithmetic(const float* a, const float* b, const float* c, float* y, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __fdiv_rn(__fmaf_rn(a[i], b[i], c[i]), __fsqrt_rn(fabsf(b[i])));
}
