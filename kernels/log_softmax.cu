// x - log(sum(exp(x))) over the last axis, and its gradient.
//
// Oracle: `oracle/log_softmax.rs`; agreement: bound: exponentials and the logarithm are f32, by `math.cuh`; sums are f64, in
// an order that follows from the width alone, rounded once.
//
// `log_softmax`, `log_softmax_backward`: a grid of any size of blocks of 256, whose teams stride over the rows.
//
// Three passes over a row: the largest element, the sum, the result; a cache holds it.
#include "lib/softmax.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) log_softmax(
    const void* input, DType dtype, void* to, uint64_t rows, uint64_t width) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    uint64_t start = row * width;
    Normaliser own = normaliser(team, input, dtype, start, width);
    float log = __double2float_rn(own.log());
    team.each(width, [&](uint64_t i, uint32_t count) {
      float x[GROUP];
      load_eight(input, dtype, start + i, count, x);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) x[k] = __fsub_rn(__fsub_rn(x[k], own.max), log);
      store_eight(to, dtype, start + i, count, x);
    });
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) log_softmax_backward(
    const void* grad, const void* output, DType dtype, void* to, uint64_t rows, uint64_t width) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    uint64_t start = row * width;
    double sum = 0.0;
    team.each(width, [&](uint64_t i, uint32_t count) {
      float g[GROUP];
      load_eight(grad, dtype, start + i, count, g);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) sum = __dadd_rn(sum, (double)g[k]);
    });
    float all = __double2float_rn(team.sum(sum));
    team.each(width, [&](uint64_t i, uint32_t count) {
      float g[GROUP], y[GROUP];
      load_eight(grad, dtype, start + i, count, g);
      load_eight(output, dtype, start + i, count, y);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) g[k] = __fsub_rn(g[k], __fmul_rn(exp_of(y[k]), all));
      store_eight(to, dtype, start + i, count, g);
    });
  }
}
