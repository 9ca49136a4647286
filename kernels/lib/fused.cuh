// Frame of every optimizer's fused step around its arithmetic: reads a gradient once, settles it, moves the master, and
// writes the low-precision copy. `binade_master_weights::step` is its model.
//
// A rule is a struct of its constants, in the order of their row, with the number of its moments, and `element`: moves a
// parameter and its moments, and tells whether it had anything to add. A kernel of `STEP_KERNEL` is launched with a block of 256
// for each chunk of the rows, after `prepare` has put each row's constants in place. It does nothing where `found` is raised. `from` is the
// number of the first block's chunk: 0 but in tests of far indices. Where `counts` is not 0, `prepare` has set the `LostCount` of each
// slot to 0, and the updates that the step loses are added to it. Counts are of integers, added up by block and then by atomics, so that
// they are the same in any order.
#pragma once
#include "lost.cuh"

// The updates of the block's chunk that are lost, added up before any is made. One element after the other, so that a step that counts
// nothing, which is the same kernel, needs no register for it.
template <class Rule>
__device__ __forceinline__ void count_lost(
    const StepRow& row, const Chunk& chunk, const Rule& rule, const Owed* owed, LostCount* counts) {
  LostSum sum{counts};
  const Moments<Rule> kept(row);
  float inverse = owed->inverse, clip = owed->clip;
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
#pragma unroll 1
    for (uint32_t k = 0; k < GROUP && offset_in<SPREAD>(k) < count; k++) {
      uint64_t at = i + offset_in<SPREAD>(k);
      float gradient = settle(load(row.gradient, row.gradient_dtype, at), inverse, clip);
      float before = open_one(row, at), parameter = before, moments[Rule::MOMENTS];
#pragma unroll
      for (uint32_t m = 0; m < Rule::MOMENTS; m++) moments[m] = kept.has(m) ? kept.load_one(m, at) : 0.0f;
      bool updated = rule.element(gradient, parameter, moments);
      if (row.store == SCALED) ((uint32_t*)row.beside)[row.len + at] = updated;
      else sum.add(updated, before, kept_of(row, at, parameter));
    }
  });
  if (row.store != SCALED) sum.done(row.slot);
}

// True where the measuring pass has moved the moments already. The step then reads no gradient and writes no moment. A rule says so by an
// overload.
template <class Rule>
__device__ __forceinline__ bool has_moved_moments(const Rule&) {
  return false;
}

// Moves the elements of the block's chunk.
template <class Rule>
__device__ __forceinline__ void step_chunk(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed, LostCount* counts) {
  static_assert(sizeof(Rule) <= sizeof(Constants), "a row has room for all constants");
  constexpr uint32_t MOMENTS = Rule::MOMENTS;
  if (is_raised(found)) return;
  Chunk chunk = chunk_of(rows, row_count, from + blockIdx.x, chunk_len);
  const StepRow& row = rows[chunk.row];
  if (row.present != nullptr && *row.present == 0) return;
  const Rule rule = *(const Rule*)&constants[row.slot];
  const Moments<Rule> kept(row);
  float inverse = owed->inverse, clip = owed->clip;
  if (counts != nullptr) count_lost(row, chunk, rule, owed, counts);
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
    float gradient[GROUP], parameter[GROUP], moments[MOMENTS][GROUP];
    // Moments and parameter are loaded before the gradient is widened, so that all loads are in flight.
#pragma unroll
    for (uint32_t m = 0; m < MOMENTS; m++) {
      if (kept.has(m)) kept.load_group(m, i, count, moments[m]);
    }
    open_group(row, i, count, parameter);
    if (!has_moved_moments(rule)) load_spread(row.gradient, row.gradient_dtype, i, count, gradient);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float at[MOMENTS];
#pragma unroll
      for (uint32_t m = 0; m < MOMENTS; m++) at[m] = moments[m][k];
      rule.element(settle(gradient[k], inverse, clip), parameter[k], at);
#pragma unroll
      for (uint32_t m = 0; m < MOMENTS; m++) moments[m][k] = at[m];
    }
    save_group(row, i, count, parameter);
#pragma unroll
    for (uint32_t m = 0; m < MOMENTS; m++) {
      if (kept.has(m) && !has_moved_moments(rule)) kept.store_group(m, i, count, moments[m]);
    }
  });
}

#define STEP_KERNEL(name, Rule)                                                                                        \
  extern "C" __global__ void __launch_bounds__(THREADS) name(                                                          \
      const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,          \
      const Found* found, const Owed* owed, LostCount* counts) {                                                       \
    step_chunk<Rule>(rows, row_count, from, chunk_len, constants, found, owed, counts);                                \
  }
