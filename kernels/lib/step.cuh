// What every optimizer's fused step does around its arithmetic: reads a gradient once, settles it, moves the master, and
// writes the low-precision copy. `binade_master_weights::step` is its model.
#pragma once
#include "set.cuh"
#include "state.cuh"

// `SgdConstants::to_row`; flags are 0 or 1.
struct SgdConstants {
  float negative_lr, weight_decay, momentum, undamped, nesterov, first;
};

// `AdamConstants::to_row`.
struct AdamConstants {
  float shrink, weight_decay, mean_weight, beta2, square_weight, root_correction, eps, negative_step, amsgrad;
};

union Constants {
  SgdConstants sgd;
  AdamConstants adam;
};

struct StepRow {
  const void* gradient;
  void* parameter;
  // 0 where the parameter is its own master.
  float* master;
  // Those that the rule keeps.
  float* moments[3];
  // 0 where the gradient is there for certain; otherwise it is only if this is not 0.
  const uint32_t* present;
  uint64_t len, first_chunk;
  uint32_t slot;
  DType gradient_dtype, parameter_dtype;
  uint32_t pad;
};

static_assert(sizeof(Constants) == 36 && sizeof(StepRow) == 88, "as `structs.rs`");

// Calls `element(constants, gradient, parameter, moments)` on each element of the block's chunk, with the rule's moments.
template <uint32_t MOMENTS, class Element>
__device__ __forceinline__ void step_chunk(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed, Element element) {
  if (is_raised(found)) return;
  Chunk chunk = chunk_of(rows, row_count, from + blockIdx.x, chunk_len);
  const StepRow& row = rows[chunk.row];
  if (row.present != nullptr && *row.present == 0) return;
  const Constants c = constants[row.slot];
  float inverse = owed->inverse, clip = owed->clip;
  each_group(chunk, [&](uint64_t i, uint32_t count) {
    float gradient[GROUP], parameter[GROUP], moments[MOMENTS][GROUP];
    load_group(row.gradient, row.gradient_dtype, i, count, gradient);
    if (row.master != nullptr) load_group(row.master, F32, i, count, parameter);
    else load_group(row.parameter, row.parameter_dtype, i, count, parameter);
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
    if (row.master != nullptr) store_group(row.master, F32, i, count, parameter);
    store_group(row.parameter, row.parameter_dtype, i, count, parameter);
#pragma unroll
    for (uint32_t m = 0; m < MOMENTS; m++) {
      if (row.moments[m] != nullptr) store_group(row.moments[m], F32, i, count, moments[m]);
    }
  });
}
