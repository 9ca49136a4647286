// Philox4x32-10 as `binade_core::stochastic` has it: random words that depend on nothing but a name.
#pragma once
#include <stdint.h>

__device__ __forceinline__ uint4 philox(uint4 counter, uint32_t key_low, uint32_t key_high) {
#pragma unroll
  for (int round = 0; round < 10; round++) {
    uint32_t low_0 = 0xd2511f53u * counter.x, high_0 = __umulhi(0xd2511f53u, counter.x);
    uint32_t low_1 = 0xcd9e8d57u * counter.z, high_1 = __umulhi(0xcd9e8d57u, counter.z);
    counter = make_uint4(high_1 ^ counter.y ^ key_low, low_1, high_0 ^ counter.w ^ key_high, low_0);
    key_low += 0x9e3779b9u;
    key_high += 0xbb67ae85u;
  }
  return counter;
}

// The words of elements 4 * block to 4 * block + 3.
__device__ __forceinline__ uint4 words_of(uint64_t seed, uint32_t step, uint32_t parameter, uint64_t block) {
  uint4 counter = make_uint4((uint32_t)block, (uint32_t)(block >> 32), step, parameter);
  return philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}
