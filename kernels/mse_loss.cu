// The mean of squared differences, an f32 scalar, and its gradients.
//
// Oracle: `cases/mse_loss.rs`; agreement: one unit in the last place: differences, squares and their sum are f64, in an order
// that follows from the number of elements alone. The gradients: bits.
//
// `mse_loss`: a block of 256 for each chunk, at least one; the block that is done last joins what the others left in
// `partials`, one each. `done` is a counter that is 0 before and after. `mse_loss_backward`: a grid of any size strides over
// groups of eight elements, and writes both gradients.
//
// The plain loop is a tree here; the loss of nothing is 0 / 0, which is NaN.
#include "lib/compact.cuh"
#include "lib/grid.cuh"
#include "lib/total.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) mse_loss(
    const void* input, const void* target, DType dtype, uint64_t len, uint64_t chunk_len, double* partials,
    uint32_t* done, float* to) {
  double squares = 0.0;
  each_group(own_chunk(len, chunk_len), [&](uint64_t i, uint32_t count) {
    float x[GROUP], y[GROUP];
    load_eight(input, dtype, i, count, x);
    load_eight(target, dtype, i, count, y);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      double off = __dsub_rn((double)x[k], (double)y[k]);
      squares = __dadd_rn(squares, __dmul_rn(off, off));
    }
  });
  total(squares, partials, done, [&](double all) { *to = __double2float_rn(__ddiv_rn(all, (double)len)); });
}

extern "C" __global__ void __launch_bounds__(256) mse_loss_backward(
    const float* grad, const void* input, const void* target, DType dtype, uint64_t len, void* to_input,
    void* to_target) {
  float factor = __double2float_rn(__ddiv_rn(__dmul_rn(2.0, (double)*grad), (double)len));
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float x[GROUP], y[GROUP], dx[GROUP], dy[GROUP];
    load_eight(input, dtype, i, count, x, SPREAD);
    load_eight(target, dtype, i, count, y, SPREAD);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      dx[k] = __fmul_rn(__fsub_rn(x[k], y[k]), factor);
      dy[k] = __fmul_rn(__fsub_rn(y[k], x[k]), factor);
    }
    store_eight(to_input, dtype, i, count, dx, SPREAD);
    store_eight(to_target, dtype, i, count, dy, SPREAD);
  });
}
// sass: mse_loss loads 4 read 2 slots 110
// sass: mse_loss_backward loads 4 stores 4 slots 175
