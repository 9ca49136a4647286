// Element by element: widened, computed in f32, narrowed once. A grid of any size strides over groups of eight.
#pragma once
#include "compact.cuh"
#include "grid.cuh"

// An element out at the front and another in at the back: a loop over a group that is not unrolled, and needs no index of
// registers.
__device__ __forceinline__ void turn(uint32_t (&code)[GROUP], uint32_t in) {
#pragma unroll
  for (uint32_t k = 1; k < GROUP; k++) code[k - 1] = code[k];
  code[GROUP - 1] = in;
}

__device__ __forceinline__ bool is_whole(const void* at, DType dtype, uint64_t i, uint32_t count) {
  return count == GROUP && is_aligned((const char*)at + i * (dtype == F32 ? 4 : 2), 16);
}

// The codes of elements i to i + count of `from`, those beyond 0, in less code than `load_group`: what is no whole group, or
// not aligned, comes one by one.
__device__ __forceinline__ void
load_codes(const void* from, DType dtype, uint64_t i, uint32_t count, uint32_t (&code)[GROUP]) {
  if (!is_whole(from, dtype, i, count)) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) code[k] = 0;
#pragma unroll 1
    for (uint32_t k = 0; k < GROUP; k++) turn(code, k < count ? code_at(from, dtype, i + k) : 0);
  } else if (dtype == F32) {
    const uint4* at = (const uint4*)((const uint32_t*)from + i);
    uint4 low = at[0], high = at[1];
    code[0] = low.x, code[1] = low.y, code[2] = low.z, code[3] = low.w;
    code[4] = high.x, code[5] = high.y, code[6] = high.z, code[7] = high.w;
  } else {
    uint4 codes = *(const uint4*)((const uint16_t*)from + i);
    uint32_t words[GROUP / 2] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) code[k] = words[k / 2] >> 16 * (k % 2) & 0xffff;
  }
}

// The first `count` codes of a group as elements i, i + 1, ... of `to`, likewise.
__device__ __forceinline__ void store_codes(void* to, DType dtype, uint64_t i, uint32_t count, uint32_t (&code)[GROUP]) {
  if (!is_whole(to, dtype, i, count)) {
#pragma unroll 1
    for (uint32_t k = 0; k < count; k++) {
      put<SIXTEEN_AND_32>(to, dtype, i + k, code[0]);
      turn(code, 0);
    }
  } else if (dtype == F32) {
    uint4* at = (uint4*)((uint32_t*)to + i);
    at[0] = make_uint4(code[0], code[1], code[2], code[3]);
    at[1] = make_uint4(code[4], code[5], code[6], code[7]);
  } else {
    *(uint4*)((uint16_t*)to + i) = make_uint4(
        code[0] | code[1] << 16, code[2] | code[3] << 16, code[4] | code[5] << 16, code[6] | code[7] << 16);
  }
}

__device__ __forceinline__ void load_some(const void* from, DType dtype, uint64_t i, uint32_t count, float (&x)[GROUP]) {
  uint32_t code[GROUP];
  load_codes(from, dtype, i, count, code);
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) x[k] = of_code(dtype, code[k]);
}

__device__ __forceinline__ void store_some(void* to, DType dtype, uint64_t i, uint32_t count, const float (&x)[GROUP]) {
  uint32_t code[GROUP];
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) code[k] = to_code(dtype, x[k]);
  store_codes(to, dtype, i, count, code);
}

// `f` of each element. Compiled once for each of a group, so that their chains of operations run side by side.
template <class F>
__device__ __forceinline__ void map(const void* input, void* output, DType dtype, uint64_t len, F f) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    uint32_t x[GROUP];
    load_codes(input, dtype, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = to_code(dtype, f(of_code(dtype, x[k])));
    store_codes(output, dtype, i, count, x);
  });
}

// `f` of each pair of elements, likewise.
template <class F>
__device__ __forceinline__ void zip(const void* a, const void* b, void* output, DType dtype, uint64_t len, F f) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    uint32_t x[GROUP], y[GROUP];
    load_codes(a, dtype, i, count, x);
    load_codes(b, dtype, i, count, y);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = to_code(dtype, f(of_code(dtype, x[k]), of_code(dtype, y[k])));
    store_codes(output, dtype, i, count, x);
  });
}
