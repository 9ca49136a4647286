// The measuring pass before a step by norms of whole tensors: it sums the squares of two numbers of each element of a tensor, and puts what
// follows from the norms into the tensor's constants, where the step of `fused.cuh` finds it.
//
// A rule is one of `fused.cuh` with WHOLE_MOMENTS moments and five functions more. `moves_moments` is true where the pass moves the moments.
// `reads_parameter` is true where it reads the parameter. `clip` takes in the norm of all gradients together. `measure` gives an element's two
// numbers, and may move its moments. `measured` takes the norms into the constants, and moves the running norm where one is kept.
//
// The pass is launched with a block of 256 for each chunk of the rows. The block that is done last joins what the others left in `partials`,
// one each. `done` is a counter that is 0 before and after. `all_gradients` is the norm of all gradients together, or 0 where no rule of the
// step clips by it. Nothing happens where `found` is raised.
//
// Squares are summed in f64, in an order that follows from the lengths of the step's tensors alone. The square of an f32 is exact there, so that
// the norm of n elements is within n * 2^-53 of the host's, which adds up otherwise, before both round to f32.
#pragma once
#include "fused.cuh"
#include "team.cuh"

// Of the rule that keeps most.
constexpr uint32_t WHOLE_MOMENTS = 2;

// Sums that a block found in its chunk.
struct WholePartial {
  double squares[2];
  // Bits of the largest magnitude of the first numbers, where NaN is largest.
  uint32_t largest, pad;
};

static_assert(sizeof(WholePartial) == 24, "as `structs.rs`");

// Norms of a tensor: `Norms` of `rules/measure.rs`.
struct WholeNorms {
  float first, second, largest;
};

// To thread 0.
template <class Rule>
__device__ __forceinline__ WholePartial measure_chunk(
    const StepRow& row, const Chunk& chunk, const Rule& rule, float inverse, float clip) {
  bool moves_moments = rule.moves_moments();
  double squares[2] = {0.0, 0.0};
  uint32_t largest = 0;
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
    float gradient[GROUP], parameter[GROUP], moments[WHOLE_MOMENTS][GROUP];
#pragma unroll
    for (uint32_t m = 0; m < WHOLE_MOMENTS; m++) {
      if (moves_moments) load_spread(row.moments[m], F32, i, count, moments[m]);
    }
    if (rule.reads_parameter()) open_group(row, i, count, parameter);
    load_spread(row.gradient, row.gradient_dtype, i, count, gradient);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float at[WHOLE_MOMENTS], values[2];
#pragma unroll
      for (uint32_t m = 0; m < WHOLE_MOMENTS; m++) at[m] = moments[m][k];
      rule.measure(settle(gradient[k], inverse, clip), parameter[k], at, values);
#pragma unroll
      for (uint32_t m = 0; m < WHOLE_MOMENTS; m++) moments[m][k] = at[m];
      if (offset_in<SPREAD>(k) >= count) continue;
#pragma unroll
      for (uint32_t v = 0; v < 2; v++) squares[v] = __fma_rn((double)values[v], (double)values[v], squares[v]);
      largest = Max::join(largest, __float_as_uint(values[0]) & 0x7fffffffu);
    }
#pragma unroll
    for (uint32_t m = 0; m < WHOLE_MOMENTS; m++) {
      if (moves_moments) store_spread(row.moments[m], F32, i, count, moments[m]);
    }
  });
  return {{reduce<Sum>(squares[0]), reduce<Sum>(squares[1])}, reduce<Max>(largest), 0};
}

__device__ __forceinline__ bool is_there(const StepRow& row) {
  return row.present == nullptr || *row.present != 0;
}

// Each tensor's norms, a team of threads for each row in turn, into its constants.
template <class Rule>
__device__ __forceinline__ void join_rows(
    const StepRow* rows, uint32_t row_count, const WholePartial* partials, Constants* constants) {
  each_row_of_teams(rows, row_count, gridDim.x, [&](uint32_t number, uint64_t chunk, uint64_t end) {
    WholePartial all = {{0.0, 0.0}, 0, 0};
    for (; chunk < end; chunk += TEAM) {
      const WholePartial& one = partials[chunk];
#pragma unroll
      for (uint32_t v = 0; v < 2; v++) all.squares[v] = __dadd_rn(all.squares[v], one.squares[v]);
      all.largest = Max::join(all.largest, one.largest);
    }
#pragma unroll
    for (uint32_t v = 0; v < 2; v++) all.squares[v] = team_join<Sum>(all.squares[v]);
    all.largest = team_join<Max>(all.largest);
    if (threadIdx.x % TEAM != 0 || number >= row_count || !is_there(rows[number])) return;
    const StepRow& row = rows[number];
    float norms[2];
#pragma unroll
    for (uint32_t v = 0; v < 2; v++) norms[v] = __double2float_rn(__dsqrt_rn(all.squares[v]));
    Rule& rule = *(Rule*)&constants[row.slot];
    rule.measured({norms[0], norms[1], __uint_as_float(all.largest)}, (float*)row.moments[2]);
  });
}

template <class Rule>
__device__ __forceinline__ void measure_rows(
    const StepRow* rows, uint32_t row_count, uint64_t chunk_len, Constants* constants, const Found* found, const Owed* owed,
    const float* all_gradients, WholePartial* partials, uint32_t* done) {
  if (is_raised(found)) return;
  Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
  const StepRow& row = rows[chunk.row];
  WholePartial partial = {{0.0, 0.0}, 0, 0};
  if (is_there(row)) {
    Rule rule = *(const Rule*)&constants[row.slot];
    if (all_gradients != nullptr) rule.clip(*all_gradients);
    partial = measure_chunk(row, chunk, rule, owed->inverse, owed->clip);
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = partial;
  if (is_last_block(done)) join_rows<Rule>(rows, row_count, partials, constants);
}
