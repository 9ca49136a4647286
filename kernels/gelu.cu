// The Gaussian error linear unit in its exact form, and its gradient.
//
// Oracle: `cases/gelu.rs`; agreement: forward 5 ulp before it is narrowed, and the last code after; backward 2^-22 of the
// gradient, since the slope passes through 0 (`lib/gelu.cuh` has both errors).
//
// `gelu`, `gelu_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// All in f32, where the CPU rounds a result of f64. An element takes some 140 instructions, of which each is compiled for eight
// elements side by side: in 16 bits an estimated five times what memory would take.
#include "lib/gelu.cuh"
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256) gelu(const void* input, void* output, DType dtype, uint64_t len) {
  map(input, output, dtype, len, [](float x) { return gelu_of(x); });
}

extern "C" __global__ void __launch_bounds__(256)
    gelu_backward(const void* grad, const void* input, void* result, DType dtype, uint64_t len) {
  zip(grad, input, result, dtype, len, [](float g, float x) { return __fmul_rn(g, gelu_slope(x)); });
}
// sass: gelu loads 2 stores 2 slots 603
// sass: gelu_backward loads 4 stores 2 slots 629
