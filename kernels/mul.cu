// Elementwise product. The gradients of the factors are products too, which need no kernel of their own.
//
// Oracle: `cases/mul.rs`; agreement: bits, any NaN for any NaN.
//
// `mul`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// Multiplied in f32 and rounded to the element type once, as the plain loop does.
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256)
    mul(const void* a, const void* b, void* output, DType dtype, uint64_t len) {
  zip(a, b, output, dtype, len, [](float a, float b) { return __fmul_rn(a, b); });
}
// sass: mul loads 4 stores 2 slots 113
