// x times a factor, one element a thread. Twins: `scale` is right; `scale_off_by_one` lets one thread too many in.
#include <stdint.h>

extern "C" __global__ void scale(const float* x, float* y, float factor, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __fmul_rn(x[i], factor);
}

extern "C" __global__ void scale_off_by_one(const float* x, float* y, float factor, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = __fmul_rn(x[i], factor);
}
