// A copy through shared memory by cp.async. Twins: `stage` is right; `stage_no_wait` reads before the copy is known to be there.
// requires: compute_80
#include <stdint.h>

constexpr uint32_t THREADS = 64;

template <bool WAIT>
__device__ __forceinline__ void through_shared(const float* x, float* y) {
  __shared__ __align__(16) float buffer[THREADS * 4];
  uint32_t t = threadIdx.x, first = (blockIdx.x * THREADS + t) * 4;
  uint32_t to = uint32_t(__cvta_generic_to_shared(&buffer[t * 4]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + first) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (WAIT) asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (uint32_t k = 0; k < 4; ++k) y[first + k] = buffer[(THREADS - 1 - t) * 4 + k];
}

extern "C" __global__ void stage(const float* x, float* y) { through_shared<true>(x, y); }

extern "C" __global__ void stage_no_wait(const float* x, float* y) { through_shared<false>(x, y); }
