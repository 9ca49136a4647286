// Updates that changed nothing: `LostUpdates` of `binade-master-weights`, counted where the step is taken.
#pragma once
#include "reduce.cuh"
#include "step.cuh"

// Of the weights whose update was not zero: those that stayed as they were, and those that moved.
struct LostCount {
  unsigned long long lost, moved;
};

static_assert(sizeof(LostCount) == 16, "as `structs.rs`");

// The f32 value that the next step starts from, where this one came to `x`.
__device__ __forceinline__ float kept_of(const StepRow& row, uint64_t i, float x) {
  DType dtype = row.parameter_dtype;
  if (row.store == COPY || row.store == REMAINDER || (row.store == BARE && dtype == F32)) return x;
  if (row.store == STOCHASTIC) {
    uint4 words = words_at(row, i);
    uint32_t low = i % 2 == 0 ? words.x : words.y, high = i % 2 == 0 ? words.z : words.w;
    return from_16(dtype, round_by_word(row, x, i % 4 < 2 ? low : high));
  }
  float parameter = from_16(dtype, to_16(dtype, x));
  return row.store == KAHAN ? __fadd_rn(parameter, from_16(dtype, rest_of(dtype, x, parameter))) : parameter;
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
