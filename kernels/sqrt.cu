// The square root, and its gradient.
//
// Oracle: `cases/sqrt.rs`; agreement: bits, any NaN for any NaN.
//
// `sqrt_forward` (the C library has the other name), `sqrt_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// Backward rounds the double of the output, which is exact, and the quotient, once.
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256) sqrt_forward(const void* input, void* output, DType dtype, uint64_t len) {
  map(input, output, dtype, len, [](float x) { return __fsqrt_rn(x); });
}

extern "C" __global__ void __launch_bounds__(256)
    sqrt_backward(const void* grad, const void* output, void* result, DType dtype, uint64_t len) {
  zip(grad, output, result, dtype, len, [](float g, float y) { return __fdiv_rn(g, __fadd_rn(y, y)); });
}
// sass: sqrt_forward loads 2 stores 2 slots 155
// sass: sqrt_backward loads 4 stores 2 slots 191
