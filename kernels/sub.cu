// Elementwise difference, and the gradient of what is taken off.
//
// Oracle: `cases/sub.rs`; agreement: bits, any NaN for any NaN.
//
// `sub`, `sub_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// Subtracted in f32 and rounded to the element type once, as the plain loop does.
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256)
    sub(const void* a, const void* b, void* output, DType dtype, uint64_t len) {
  zip(a, b, output, dtype, len, [](float a, float b) { return __fsub_rn(a, b); });
}

extern "C" __global__ void __launch_bounds__(256)
    sub_backward(const void* grad, void* result, DType dtype, uint64_t len) {
  map(grad, result, dtype, len, [](float g) { return -g; });
}
// sass: sub loads 4 stores 2 slots 113
// sass: sub_backward loads 2 stores 2 slots 77
