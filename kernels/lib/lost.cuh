// Updates that changed nothing: `LostUpdates` of `binade-master-weights`, counted where the step is taken.
#pragma once
#include "reduce.cuh"
#include "step.cuh"

// Of the weights whose update was not zero: those that stayed as they were, and those that moved.
struct LostCount {
  unsigned long long lost, moved;
};

static_assert(sizeof(LostCount) == 16, "as `structs.rs`");

// Whether SGD had something to add, as `element` adds it; `momentum` is the new one.
__device__ __forceinline__ bool has_update(const SgdConstants& c, float gradient, float before, float momentum) {
  if (c.weight_decay != 0.0f) gradient = __fmaf_rn(before, c.weight_decay, gradient);
  if (c.momentum != 0.0f) gradient = c.nesterov != 0.0f ? __fmaf_rn(momentum, c.momentum, gradient) : momentum;
  return __fmul_rn(gradient, c.negative_lr) != 0.0f;
}

// Whether Adam had: its mean, or a decay of its own.
__device__ __forceinline__ bool has_update(const AdamConstants& c, float before, float mean) {
  return (c.shrink != 1.0f && before != 0.0f) || __fmul_rn(c.negative_step, mean) != 0.0f;
}

// The f32 values that the next step starts from, where this one came to `x`.
__device__ __forceinline__ void as_kept(const StepRow& row, uint64_t i, const float (&x)[GROUP], float (&kept)[GROUP]) {
  bool is_whole = row.store == COPY || row.store == REMAINDER || (row.store == BARE && row.parameter_dtype == F32);
  uint32_t code[GROUP], rest[GROUP];
  if (row.store == STOCHASTIC) round_by_chance(row, i, x, code);
  else if (!is_whole) compensate(row.parameter_dtype, x, code, rest);
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) {
    kept[k] = is_whole ? x[k] : from_16(row.parameter_dtype, code[k]);
    if (row.store == KAHAN) kept[k] = __fadd_rn(kept[k], from_16(row.parameter_dtype, rest[k]));
  }
}

// Counts what the thread sees; `done` adds up the block, whose threads must all come. Sums of integers have no order.
struct LostSum {
  LostCount* counts;
  uint64_t lost = 0, moved = 0;

  // `after` is what is kept, as f32.
  __device__ __forceinline__ void add(bool updated, float before, float after) {
    bool stayed = before == after;
    lost += stayed && updated;
    moved += !stayed;
  }

  __device__ __forceinline__ void done(uint32_t slot) {
    uint64_t all_lost = reduce<Sum>(lost), all_moved = reduce<Sum>(moved);
    if (threadIdx.x != 0) return;
    atomicAdd(&counts[slot].lost, (unsigned long long)all_lost);
    atomicAdd(&counts[slot].moved, (unsigned long long)all_moved);
  }
};

// What `step_chunk` shows, by the rule that `updates(constants, gradient, before, moment)` knows.
template <class Updates>
struct Lost : LostSum {
  const Owed* owed;
  Updates updates;

  __device__ __forceinline__ Lost(LostCount* counts, const Owed* owed, Updates updates)
      : LostSum{counts}, owed(owed), updates(updates) {}

  using Group = float[GROUP];
  __device__ __forceinline__ void group(
      const StepRow& row, const Constants& c, uint64_t i, uint32_t count, const Group& gradient, const Group& before,
      const Group& after, const Group& moment) {
    float kept[GROUP];
    as_kept(row, i, after, kept);
    float inverse = owed->inverse, clip = owed->clip;
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      bool updated = updates(c, settle(gradient[k], inverse, clip), before[k], moment[k]);
      if (k < count) add(updated, before[k], kept[k]);
    }
  }
};
