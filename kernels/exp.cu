// The exponential, and its gradient.
//
// Oracle: `cases/exp.rs`; agreement: forward 2 ulp before it is narrowed, and the last code after, since the function is not the
// host's (`lib/math.cuh` has its error); backward bits, given the output.
//
// `exp_forward` (the C library has the other name), `exp_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// Backward is the product of the gradient and the output, rounded once.
#include "lib/math.cuh"
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256) exp_forward(const void* input, void* output, DType dtype, uint64_t len) {
  map(input, output, dtype, len, [](float x) { return exp_of(x); });
}

extern "C" __global__ void __launch_bounds__(256)
    exp_backward(const void* grad, const void* output, void* result, DType dtype, uint64_t len) {
  zip(grad, output, result, dtype, len, [](float g, float y) { return __fmul_rn(g, y); });
}
// sass: exp_forward loads 2 stores 2 slots 257
// sass: exp_backward loads 4 stores 2 slots 113
