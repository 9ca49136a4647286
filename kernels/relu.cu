// The rectified linear unit, and its gradient.
//
// Oracle: `cases/relu.rs`; agreement: bits, any NaN for any NaN.
//
// `relu`, `relu_backward`: a grid of any size of blocks of 256 strides over spread groups of eight elements.
//
// Comparisons with NaN are false: written this way round, it passes.
#include "lib/pointwise.cuh"

extern "C" __global__ void __launch_bounds__(256) relu(const void* input, void* output, DType dtype, uint64_t len) {
  map(input, output, dtype, len, [](float x) { return x <= 0.0f ? 0.0f : x; });
}

extern "C" __global__ void __launch_bounds__(256)
    relu_backward(const void* grad, const void* output, void* result, DType dtype, uint64_t len) {
  zip(grad, output, result, dtype, len, [](float g, float y) { return y <= 0.0f ? 0.0f : g; });
}
// sass: relu loads 2 stores 2 slots 87
// sass: relu_backward loads 4 stores 2 slots 119
