// Elementwise product, and the gradients of both factors.
//
// Oracle: `oracle/mul.rs`; agreement: bits, any NaN for any NaN.
//
// `mul`, `mul_backward`: a grid of any size strides over groups of eight elements.
//
// The gradients are made in one pass, which reads the result's once.
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256)
    mul(const void* a, const void* b, void* output, DType dtype, uint64_t len) {
  zip(a, b, output, dtype, len, [](float a, float b) { return __fmul_rn(a, b); });
}

extern "C" __global__ void __launch_bounds__(256) mul_backward(
    const void* grad, const void* a, const void* b, void* of_a, void* of_b, DType dtype, uint64_t len) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float g[GROUP], x[GROUP], y[GROUP];
    load_group(grad, dtype, i, count, g);
    load_group(a, dtype, i, count, x);
    load_group(b, dtype, i, count, y);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) x[k] = __fmul_rn(g[k], x[k]), y[k] = __fmul_rn(g[k], y[k]);
    store_group(of_a, dtype, i, count, y);
    store_group(of_b, dtype, i, count, x);
  });
}
