// Normalisation of rows: CENTRED about their mean, or about 0, and the gradient of the input. Statistics are sums in f64, in an order that
// follows from the width alone, rounded once.
//
// A row's mean takes a pass of its own, and squares one about it, so that nothing cancels; what follows takes one more. The input is read
// once up to 8192 elements a row, else in each pass. Backward's two passes over gradient and weight read them twice, the second time from a
// cache.
#pragma once
#include "held.cuh"
#include "norm.cuh"

// The mean over a row of deviations from `about`, or of their squares.
template <Time TIME, bool SQUARED>
__device__ __forceinline__ double mean_off(const Team& team, const Row& row, double about) {
  double sum = 0.0;
  row.each<TIME>(team, [&](uint64_t, uint32_t count, bool, const float (&x)[GROUP]) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      double off = __dsub_rn((double)x[k], about);
      if (offset_in(k, team.apart()) < count) sum = __dadd_rn(sum, SQUARED ? __dmul_rn(off, off) : off);
    }
  });
  return __ddiv_rn(team.sum(sum), (double)row.width);
}

template <bool CENTRED>
__device__ __forceinline__ Stats stats_of_row(const Team& team, const Row& row, float eps) {
  if (!CENTRED) return stats_of(0.0, mean_off<FIRST, true>(team, row, 0.0), eps);
  double mean = mean_off<FIRST, false>(team, row, 0.0);
  return stats_of(mean, mean_off<LAST, true>(team, row, mean), eps);
}

// `bias` is that of a CENTRED normalisation.
template <bool CENTRED>
__device__ __forceinline__ void normalise(
    const void* input, DType dtype, const void* weight, const void* bias, DType parameter_dtype, void* to,
    uint64_t rows, uint64_t width, float eps) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    Row kept = {input, dtype, row * width, width, 0.0f};
    Stats stats = stats_of_row<CENTRED>(team, kept, eps);
    kept.each<LAST>(team, [&](uint64_t i, uint32_t count, bool, float (&x)[GROUP]) {
      float w[GROUP], b[GROUP];
      load_eight(weight, parameter_dtype, i, count, w, team.apart());
      if (CENTRED) load_eight(bias, parameter_dtype, i, count, b, team.apart());
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        x[k] = __fmul_rn(normal(stats, x[k]), w[k]);
        if (CENTRED) x[k] = __fadd_rn(x[k], b[k]);
      }
      store_eight(to, dtype, kept.start + i, count, x, team.apart());
    });
  }
}

// The gradient of the input; each row's statistics are left in `stats`.
template <bool CENTRED>
__device__ __forceinline__ void normalise_backward(
    const void* grad, const void* input, DType dtype, const void* weight, DType parameter_dtype, void* to, Stats* stats,
    uint64_t rows, uint64_t width, float eps) {
  Team team(width);
  for (uint64_t row = team.first; row < rows; row += team.step) {
    Row kept = {input, dtype, row * width, width, 0.0f};
    Stats own = stats_of_row<CENTRED>(team, kept, eps);
    if (team.rank == 0) stats[row] = own;
    // The gradient of the normalised input, by index.
    auto scaled = [&](uint64_t i, uint32_t count, float (&g)[GROUP]) {
      float w[GROUP];
      load_eight(grad, dtype, kept.start + i, count, g, team.apart());
      load_eight(weight, parameter_dtype, i, count, w, team.apart());
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) g[k] = __fmul_rn(g[k], w[k]);
    };
    double sum = 0.0, product = 0.0;
    // What is kept from here on is normalised.
    kept.each<AGAIN>(team, [&](uint64_t i, uint32_t count, bool, float (&x)[GROUP]) {
      float g[GROUP];
      scaled(i, count, g);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        x[k] = normal(own, x[k]);
        if (offset_in(k, team.apart()) >= count) continue;
        if (CENTRED) sum = __dadd_rn(sum, (double)g[k]);
        product = __dadd_rn(product, __dmul_rn((double)g[k], (double)x[k]));
      }
    });
    float offset = CENTRED ? __double2float_rn(__ddiv_rn(team.sum(sum), (double)width)) : 0.0f;
    float slope = __double2float_rn(__ddiv_rn(team.sum(product), (double)width));
    kept.each<LAST>(team, [&](uint64_t i, uint32_t count, bool is_held, float (&x)[GROUP]) {
      float g[GROUP];
      scaled(i, count, g);
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        float deviations = is_held ? x[k] : normal(own, x[k]);
        g[k] = __fmul_rn(own.rstd, __fsub_rn(__fsub_rn(g[k], offset), __fmul_rn(deviations, slope)));
      }
      store_eight(to, dtype, kept.start + i, count, g, team.apart());
    });
  }
}
