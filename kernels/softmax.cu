// exp(x) / sum(exp(x)) over the last axis, and its gradient.
//
// Oracle: `oracle/softmax.rs`; agreement: bound: exponentials are f32, by `math.cuh`; their sum and that of the gradient's
// products are f64, in an order that follows from the width alone, rounded once.
//
// `softmax`, `softmax_backward`: a grid of any size of blocks of 256, whose teams stride over the rows.
//
// Three passes over a row: the largest element, the sum, the result; a cache holds it.
#include "lib/softmax.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) softmax(
    const void* input, DType dtype, void* to, uint64_t rows, uint64_t width) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    uint64_t start = row * width;
    Normaliser own = normaliser(team, input, dtype, start, width);
    float factor = own.factor();
    team.each(width, [&](uint64_t i, uint32_t count) {
      float x[GROUP];
      load_eight(input, dtype, start + i, count, x);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) x[k] = __fmul_rn(own.exp(x[k]), factor);
      store_eight(to, dtype, start + i, count, x);
    });
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax_backward(
    const void* grad, const void* output, DType dtype, void* to, uint64_t rows, uint64_t width) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    uint64_t start = row * width;
    double sum = 0.0;
    float dot = 0.0f;
#pragma unroll 1
    for (uint32_t pass = 0; pass < 2; pass++) {
      team.each(width, [&](uint64_t i, uint32_t count) {
        float g[GROUP], y[GROUP];
        load_eight(grad, dtype, start + i, count, g);
        load_eight(output, dtype, start + i, count, y);
        if (pass == 0) {
#pragma unroll
          for (uint32_t k = 0; k < GROUP; k++) sum = __fma_rn((double)g[k], (double)y[k], sum);
          return;
        }
#pragma unroll
        for (uint32_t k = 0; k < GROUP; k++) g[k] = __fmul_rn(y[k], __fsub_rn(g[k], dot));
        store_eight(to, dtype, start + i, count, g);
      });
      if (pass == 0) dot = __double2float_rn(team.sum(sum));
    }
  }
}
