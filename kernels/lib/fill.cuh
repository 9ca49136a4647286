// One value in every element of a tensor that begins where its memory does, and so at a multiple of 16 bytes.
#pragma once
#include "elements.cuh"

__device__ __forceinline__ void fill_with(void* to, DType dtype, uint64_t len, float value) {
  uint32_t size = dtype == F32 ? 4 : dtype <= F16_ ? 2 : 1;
  uint32_t code = code_of<EIGHT_TOO>(dtype, value);
  // Of one element, or of as many as four bytes hold.
  uint32_t word = size == 4 ? code : size == 2 ? code * 0x10001u : code * 0x1010101u;
  uint64_t bytes = len * size, whole = bytes / 16;
  uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = first; i < whole; i += step) ((uint4*)to)[i] = make_uint4(word, word, word, word);
  if (first < bytes % 16) ((uint8_t*)to)[16 * whole + first] = (uint8_t)(word >> 8 * (first % 4));
}
