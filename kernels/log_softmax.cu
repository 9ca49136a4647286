// x - log(sum(exp(x))) over the last axis, and its gradient.
//
// Oracle: `cases/log_softmax.rs`; agreement: bound: exponentials and the logarithm are f32, by `math.cuh`; sums are f64, in
// an order that follows from the width alone, rounded once.
//
// `log_softmax`, `log_softmax_backward`: a grid of any size of blocks of 256, whose teams stride over the rows.
//
// A row is read once up to 8192 elements; those beyond are read three times. Backward reads the gradient once likewise.
#include "lib/softmax.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) log_softmax(
    const void* input, DType dtype, void* to, uint64_t rows, uint64_t width) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    Row kept = {input, dtype, row * width, width, nothing()};
    Normaliser own = normaliser<ELEMENTS>(team, kept);
    float log = __double2float_rn(own.log());
    kept.each<LAST>(team, [&](uint64_t i, uint32_t count, bool, float (&x)[GROUP]) {
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) x[k] = __fsub_rn(__fsub_rn(x[k], own.max), log);
      store_eight(to, dtype, kept.start + i, count, x, team.apart());
    });
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) log_softmax_backward(
    const void* grad, const void* output, DType dtype, void* to, uint64_t rows, uint64_t width) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    Row kept = {grad, dtype, row * width, width, 0.0f};
    double sum = 0.0;
    kept.each<FIRST>(team, [&](uint64_t, uint32_t, bool, const float (&g)[GROUP]) {
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) sum = __dadd_rn(sum, (double)g[k]);
    });
    float all = __double2float_rn(team.sum(sum));
    kept.each<LAST>(team, [&](uint64_t i, uint32_t count, bool, float (&g)[GROUP]) {
      float y[GROUP];
      load_eight(output, dtype, kept.start + i, count, y, team.apart());
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) g[k] = __fsub_rn(g[k], __fmul_rn(exp_of(y[k]), all));
      store_eight(to, dtype, kept.start + i, count, g, team.apart());
    });
  }
}
// sass: log_softmax loads 2 slots 287
// sass: log_softmax loads 2 stores 2 slots 154
// sass: log_softmax_backward loads 2 slots 88
// sass: log_softmax_backward loads 4 stores 2 slots 359
