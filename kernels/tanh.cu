// The hyperbolic tangent, and its gradient.
//
// Oracle: `cases/tanh.rs`; agreement: forward 2 ulp before it is narrowed, and the last code after, since the function is
// not the host's (`lib/math.cuh` has its error); backward bits, given the output.
//
// `tanh_forward` (the C library has the other name), `tanh_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// An element takes some 170 instructions forward and 60 backward, each compiled for eight elements side by side. Backward
// rounds y * y, 1 - y * y and the product with the gradient, each once.
#include "lib/math.cuh"
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256) tanh_forward(const void* input, void* output, DType dtype, uint64_t len) {
  map(input, output, dtype, len, [](float x) { return tanh_of(x); });
}

extern "C" __global__ void __launch_bounds__(256)
    tanh_backward(const void* grad, const void* output, void* result, DType dtype, uint64_t len) {
  zip(grad, output, result, dtype, len, [](float g, float y) {
    return __fmul_rn(g, __fsub_rn(1.0f, __fmul_rn(y, y)));
  });
}
// sass: tanh_forward loads 2 stores 2 slots 187
// sass: tanh_backward loads 4 stores 2 slots 129
