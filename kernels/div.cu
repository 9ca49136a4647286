// Elementwise quotient, and the gradient of the divisor. That of what is divided is a quotient too, which needs no kernel of its own.
//
// Oracle: `cases/div.rs`; agreement: bits, any NaN for any NaN.
//
// `div_forward` (the C library has the other name), `div_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// Each step is rounded in f32, and the result to the element type once, as the plain loop does.
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256)
    div_forward(const void* a, const void* b, void* output, DType dtype, uint64_t len) {
  zip(a, b, output, dtype, len, [](float a, float b) { return __fdiv_rn(a, b); });
}

// -g * (a / b) / b.
extern "C" __global__ void __launch_bounds__(256)
    div_backward(const void* grad, const void* a, const void* b, void* result, DType dtype, uint64_t len) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float g[GROUP], x[GROUP], y[GROUP];
    load_some(grad, dtype, i, count, g);
    load_some(a, dtype, i, count, x);
    load_some(b, dtype, i, count, y);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) g[k] = -__fdiv_rn(__fmul_rn(g[k], __fdiv_rn(x[k], y[k])), y[k]);
    store_some(result, dtype, i, count, g);
  });
}
// sass: div_forward loads 4 stores 2 slots 191
// sass: div_backward loads 6 stores 2 slots 317
