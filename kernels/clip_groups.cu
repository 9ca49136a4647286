// The norms of groups of a set, each by itself, and the factor that clips each group.
//
// Oracles: `binade_grad_scaler::{check_group_norm, clip_factor}`, and `cases/norm.rs` for the norms; agreement: bits, given
// the sums of squares (f64, in a fixed order).
//
// `clip_groups`: a block of 256 for each chunk of the rows, which are in order of groups, at least one block; the block that
// is done last sums up, group by group, what the others left in `partials`, one each, writes a factor for each group, and
// raises `found` where a norm is not finite. `done` is a counter that is 0 before and after. `materialise` multiplies. A group whose `max`
// is negative gets its norm itself instead of a factor, and raises nothing.
//
// The set is read once, as unscaling and earlier clips leave it; nothing is written to the gradients.
#include "lib/ahead.cuh"
#include "lib/reduce.cuh"
#include "lib/state.cuh"

struct Row {
  const void* values;
  // 0 where the gradient is there for certain; otherwise it is only if this is not 0.
  const uint32_t* present;
  uint64_t len, first_chunk;
  DType dtype;
  uint32_t pad;
};

enum Norm : uint32_t { L2 = 0, INFINITY_NORM = 1 };

struct Group {
  // The chunks from this one to the next group's are the group's.
  uint64_t first_chunk;
  Norm norm;
  float max;
  // What its norm goes by where it is not finite.
  uint32_t name, pad;
};

struct Partial {
  double squares;
  // Of a magnitude, where NaN is largest.
  uint32_t largest, pad;
};

static_assert(sizeof(Row) == 40 && sizeof(Group) == 24 && sizeof(Partial) == 16, "as `structs.rs`");

__device__ __forceinline__ uint32_t larger(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

// To thread 0.
__device__ __forceinline__ Partial sizes(const Row& row, const Chunk& chunk, float inverse, float clip) {
  double squares = 0.0;
  uint32_t largest = 0;
  each_value(row, chunk, [&](const float (&x)[GROUP]) {
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float value = settle(x[k], inverse, clip);
      largest = larger(largest, __float_as_uint(value) & 0x7fffffffu);
      squares = __fma_rn((double)value, (double)value, squares);
    }
  });
  return {reduce<Sum>(squares), reduce<Max>(largest), 0};
}

// A group's norm, by the last block; thread 0 has it.
__device__ __forceinline__ double norm_of(const Group& group, uint64_t end, const Partial* partials) {
  double squares = 0.0;
  uint32_t largest = 0;
  for (uint64_t i = group.first_chunk + threadIdx.x; i < end; i += THREADS) {
    squares = __dadd_rn(squares, partials[i].squares);
    largest = larger(largest, partials[i].largest);
  }
  squares = reduce<Sum>(squares);
  largest = reduce<Max>(largest);
  return group.norm == L2 ? __dsqrt_rn(squares) : (double)__uint_as_float(largest);
}

__device__ __forceinline__ void check(double norm, uint32_t name, Found* found) {
  float narrow = __double2float_rn(norm);
  if ((__float_as_uint(narrow) & 0x7fffffffu) < 0x7f800000u || found->raised != 0) return;
  found->raised = 1;
  found->parameter = name;
  found->index = 0;
  found->scaled = found->unscaled = narrow;
}

extern "C" __global__ void __launch_bounds__(THREADS, 6) clip_groups(
    const Row* rows, uint32_t row_count, uint64_t chunks, uint64_t chunk_len, const Group* groups, uint32_t group_count,
    const Owed* owed, Partial* partials, uint32_t* done, Found* found, float* factors) {
  Partial partial = {0.0, 0, 0};
  if (blockIdx.x < chunks) {
    Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
    const Row& row = rows[chunk.row];
    if (row.present == nullptr || *row.present != 0) partial = sizes(row, chunk, owed->inverse, owed->clip);
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = partial;
  if (!is_last_block(done)) return;
  for (uint32_t g = 0; g < group_count; g++) {
    const Group& group = groups[g];
    double norm = norm_of(group, g + 1 < group_count ? groups[g + 1].first_chunk : chunks, partials);
    if (threadIdx.x != 0) continue;
    if (group.max < 0.0f) {
      factors[g] = __double2float_rn(norm);
      continue;
    }
    check(norm, group.name, found);
    factors[g] = norm > (double)group.max ? __double2float_rn(__ddiv_rn((double)group.max, norm)) : 1.0f;
  }
}
// sass: clip_groups loads 4 read 2 slots 235 flight 96
// sass: clip_groups loads 2 read 2 slots 70
