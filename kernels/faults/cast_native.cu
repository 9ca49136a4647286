// bf16 by the conversion instruction, which compute capability 8.0 brought.
// requires: compute_80
#include <cuda_bf16.h>
#include <stdint.h>

extern "C" __global__ void cast_f32_bf16_native(const float* x, __nv_bfloat16* y, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16_rn(x[i]);
}
