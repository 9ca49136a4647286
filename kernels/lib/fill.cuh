// One value in every element of a tensor.
#pragma once
#include "grid.cuh"

__device__ __forceinline__ void fill_with(void* to, DType dtype, uint64_t len, float value) {
  uint32_t one = code_of<EIGHT_TOO>(dtype, value), code[GROUP];
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) code[k] = one;
  each_group_of(len, [&](uint64_t i, uint32_t count) { put_group<EIGHT_TOO>(to, dtype, i, count, code); });
}
