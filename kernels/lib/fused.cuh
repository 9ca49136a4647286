// Frame of every optimizer's fused step around its arithmetic: reads a gradient once, settles it, moves the master, and
// writes the low-precision copy. `binade_master_weights::step` is its model.
#pragma once
#include "lost.cuh"

// The updates of the block's chunk that are lost, added up before any is made. One element after the other, so that a step that counts
// nothing, which is the same kernel, needs no register for it.
template <uint32_t MOMENTS, class Element, class Updates>
__device__ __forceinline__ void count_lost(
    const StepRow& row, const Chunk& chunk, const Constants& c, const Owed* owed, LostCount* counts, Element element,
    Updates updates) {
  LostSum sum{counts};
  float inverse = owed->inverse, clip = owed->clip;
  each_group(chunk, [&](uint64_t i, uint32_t count) {
#pragma unroll 1
    for (uint64_t end = i + count; i < end; i++) {
      float gradient = settle(load(row.gradient, row.gradient_dtype, i), inverse, clip);
      float before = open_one(row, i), parameter = before, moments[MOMENTS];
#pragma unroll
      for (uint32_t m = 0; m < MOMENTS; m++) moments[m] = row.moments[m] != nullptr ? row.moments[m][i] : 0.0f;
      element(c, gradient, parameter, moments);
      sum.add(updates(c, gradient, before, moments[0]), before, kept_of(row, i, parameter));
    }
  });
  sum.done(row.slot);
}

// Calls `element(constants, gradient, parameter, moments)` on each element of the block's chunk, with the rule's moments. Where
// `counts` is not 0, adds up the updates that were lost: those that `updates(constants, gradient, before, moment)` knows of.
template <uint32_t MOMENTS, class Element, class Updates>
__device__ __forceinline__ void step_chunk(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed, LostCount* counts, Element element, Updates updates) {
  if (is_raised(found)) return;
  Chunk chunk = chunk_of(rows, row_count, from + blockIdx.x, chunk_len);
  const StepRow& row = rows[chunk.row];
  if (row.present != nullptr && *row.present == 0) return;
  const Constants c = constants[row.slot];
  float inverse = owed->inverse, clip = owed->clip;
  if (counts != nullptr) count_lost<MOMENTS>(row, chunk, c, owed, counts, element, updates);
  each_group(chunk, [&](uint64_t i, uint32_t count) {
    float gradient[GROUP], parameter[GROUP], moments[MOMENTS][GROUP];
    load_group(row.gradient, row.gradient_dtype, i, count, gradient);
    open_group(row, i, count, parameter);
#pragma unroll
    for (uint32_t m = 0; m < MOMENTS; m++) {
      if (row.moments[m] != nullptr) load_group(row.moments[m], F32, i, count, moments[m]);
    }
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float at[MOMENTS];
#pragma unroll
      for (uint32_t m = 0; m < MOMENTS; m++) at[m] = moments[m][k];
      element(c, settle(gradient[k], inverse, clip), parameter[k], at);
#pragma unroll
      for (uint32_t m = 0; m < MOMENTS; m++) moments[m][k] = at[m];
    }
    save_group(row, i, count, parameter);
#pragma unroll
    for (uint32_t m = 0; m < MOMENTS; m++) {
      if (row.moments[m] != nullptr) store_group(row.moments[m], F32, i, count, moments[m]);
    }
  });
}
