// Gradients as values: what a set is still owed is multiplied in, then the factor of each gradient's group, and each element
// limited, into f32 tensors.
//
// Oracle: `Gradients::materialised` of binade-cpu, and `f32::clamp`; agreement: bits.
//
// `materialise`: a block of 256 for each chunk of the set's rows. `limit` is infinite where nothing is to be limited, and
// `factors` is what `clip_groups` wrote, read only where a row has a group.
//
// A NaN stays one: the comparisons are written so that it passes neither.
#include "lib/set.cuh"
#include "lib/state.cuh"

struct Row {
  const void* values;
  float* result;
  // 0 where the gradient is there for certain; otherwise it is only if this is not 0.
  const uint32_t* present;
  uint64_t len, first_chunk;
  DType dtype;
  // The number of its factor, or `NONE`.
  uint32_t group;
};

constexpr uint32_t NONE = 0xffffffffu;

static_assert(sizeof(Row) == 48, "as `structs.rs`");

extern "C" __global__ void __launch_bounds__(THREADS) materialise(
    const Row* rows, uint32_t row_count, uint64_t chunk_len, const Owed* owed, const float* factors,
    float limit) {
  Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
  const Row& row = rows[chunk.row];
  // What is not there is zeros, for whoever reads it all the same.
  bool there = row.present == nullptr || *row.present != 0;
  float inverse = owed->inverse, clip = owed->clip, factor = row.group == NONE ? 1.0f : factors[row.group];
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    // Nor is it looked at: nobody has written to it.
    if (there) load_spread(row.values, row.dtype, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      float value = there ? __fmul_rn(settle(x[k], inverse, clip), factor) : 0.0f;
      if (value < -limit) value = -limit;
      if (value > limit) value = limit;
      x[k] = value;
    }
    store_spread(row.result, F32, i, count, x);
  });
}
// sass: materialise loads 2 stores 2 slots 107
