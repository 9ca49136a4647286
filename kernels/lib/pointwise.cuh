// Element by element: widened, computed in f32, narrowed once. A grid of any size strides over groups of eight.
#pragma once
#include "grid.cuh"

// `f` of each element.
template <class F>
__device__ __forceinline__ void map(const void* input, void* output, DType dtype, uint64_t len, F f) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    load_group(input, dtype, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = f(x[k]);
    store_group(output, dtype, i, count, x);
  });
}

// `f` of each pair of elements.
template <class F>
__device__ __forceinline__ void zip(const void* a, const void* b, void* output, DType dtype, uint64_t len, F f) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float x[GROUP], y[GROUP];
    load_group(a, dtype, i, count, x);
    load_group(b, dtype, i, count, y);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = f(x[k], y[k]);
    store_group(output, dtype, i, count, x);
  });
}
