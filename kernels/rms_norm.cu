// x / sqrt(mean(x^2) + eps) * weight over the last axis, and its gradients.
//
// Oracle: `cases/rms_norm.rs`; agreement: bound: what follows the mean square is the plain loop's f32, step by step.
//
// `rms_norm` and `rms_norm_backward`: a grid of any size of blocks of 256, whose teams stride over the rows; the latter leaves
// each row's statistics in `stats`, from which `layer_norm_backward_sums` and `layer_norm_backward_join` make the weight's gradient.
#include "lib/row_norm.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) rms_norm(
    const void* input, DType dtype, const void* weight, DType parameter_dtype, void* to, uint64_t rows, uint64_t width,
    float eps) {
  normalise<false>(input, dtype, weight, nullptr, parameter_dtype, to, rows, width, eps);
}

extern "C" __global__ void __launch_bounds__(THREADS) rms_norm_backward(
    const void* grad, const void* input, DType dtype, const void* weight, DType parameter_dtype, void* to, Stats* stats,
    uint64_t rows, uint64_t width, float eps) {
  normalise_backward<false>(grad, input, dtype, weight, parameter_dtype, to, stats, rows, width, eps);
}
// sass: rms_norm loads 2 slots 121
// sass: rms_norm loads 4 stores 2 slots 191
// sass: rms_norm_backward loads 2 slots 122
// sass: rms_norm_backward loads 6 slots 250
// sass: rms_norm_backward loads 6 stores 2 slots 281
