// exp(x) / sum(exp(x)) over the last axis, and its gradient.
//
// Oracle: `cases/softmax.rs`; agreement: bound: exponentials are f32, by `math.cuh`; their sum and that of the gradient's
// products are f64, in an order that follows from the width alone, rounded once.
//
// `softmax`, `softmax_backward`: a grid of any size of blocks of 256, whose teams stride over the rows.
//
// A row is read once, and each exponential computed once, up to 8192 elements; those beyond are read three times. Backward reads
// the gradient once likewise, and the output twice, of which the second time is a cache's.
#include "lib/softmax.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) softmax(
    const void* input, DType dtype, void* to, uint64_t rows, uint64_t width) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    Row kept = {input, dtype, row * width, width, nothing()};
    Normaliser own = normaliser<EXPONENTIALS>(team, kept);
    float factor = own.factor();
    kept.each<LAST>(team, [&](uint64_t i, uint32_t count, bool is_held, float (&x)[GROUP]) {
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) x[k] = __fmul_rn(is_held ? x[k] : own.exp(x[k]), factor);
      store_eight(to, dtype, kept.start + i, count, x, team.apart());
    });
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax_backward(
    const void* grad, const void* output, DType dtype, void* to, uint64_t rows, uint64_t width) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    Row kept = {grad, dtype, row * width, width, 0.0f};
    double sum = 0.0;
    kept.each<FIRST>(team, [&](uint64_t i, uint32_t count, bool, const float (&g)[GROUP]) {
      float y[GROUP];
      load_eight(output, dtype, kept.start + i, count, y, team.apart());
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) sum = __fma_rn((double)g[k], (double)y[k], sum);
    });
    float dot = __double2float_rn(team.sum(sum));
    kept.each<LAST>(team, [&](uint64_t i, uint32_t count, bool, float (&g)[GROUP]) {
      float y[GROUP];
      load_eight(output, dtype, kept.start + i, count, y, team.apart());
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) g[k] = __fmul_rn(y[k], __fsub_rn(g[k], dot));
      store_eight(to, dtype, kept.start + i, count, g, team.apart());
    });
  }
}
// sass: softmax loads 2 slots 284
// sass: softmax loads 2 stores 2 slots 160
// sass: softmax_backward loads 4 slots 135
// sass: softmax_backward loads 4 stores 2 slots 183
