// What every optimizer's fused step does around its arithmetic: reads a gradient once, settles it, moves the master, and
// writes the low-precision copy. `binade_master_weights::step` is its model, and its `stores` are those of the masters.
#pragma once
#include "philox.cuh"
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

// How masters are kept: `MasterStore`, as `slot.rs` numbers it.
enum Store : uint32_t { BARE = 0, COPY = 1, REMAINDER = 2, STOCHASTIC = 3, KAHAN = 4 };

struct StepRow {
  const void* gradient;
  void* parameter;
  // What the store keeps: masters, remainders, compensations; the count of applied steps where it is STOCHASTIC.
  void* beside;
  // Those that the rule keeps.
  float* moments[3];
  // 0 where the gradient is there for certain; otherwise it is only if this is not 0.
  const uint32_t* present;
  uint64_t len, first_chunk;
  // Of the random words; the parameter's number is its slot.
  uint64_t seed;
  uint32_t slot;
  DType gradient_dtype, parameter_dtype;
  Store store;
};

static_assert(sizeof(Constants) == 36 && sizeof(StepRow) == 96, "as `structs.rs`");

// The f32 values that a step starts from.
__device__ __forceinline__ void open_group(const StepRow& row, uint64_t i, uint32_t count, float (&x)[GROUP]) {
  if (row.store == COPY) return load_group(row.beside, F32, i, count, x);
  load_group(row.parameter, row.parameter_dtype, i, count, x);
  if (row.store != REMAINDER && row.store != KAHAN) return;
  // Read as bf16, which puts the bits of either into the upper half.
  float beside[GROUP];
  load_group(row.beside, BF16, i, count, beside);
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) {
    uint32_t bits = __float_as_uint(beside[k]);
    if (row.store == KAHAN) {
      x[k] = __fadd_rn(x[k], from_16(row.parameter_dtype, bits >> 16));
    } else {
      x[k] = __uint_as_float((__float_as_uint(x[k]) - (bits >> 31 << 16)) | bits >> 16);
    }
  }
}

// The two halves of masters, of which the parameters' is rounded with ties away from zero.
__device__ __forceinline__ void split_halves(const float (&x)[GROUP], uint32_t (&copy)[GROUP], uint32_t (&rest)[GROUP]) {
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) {
    uint32_t bits = __float_as_uint(x[k]);
    if ((bits & 0x7fffffffu) > 0x7f800000u) bits = (bits & 0xffff0000u) | 0x00400000u;
    copy[k] = (bits + 0x8000u) >> 16;
    rest[k] = bits & 0xffffu;
  }
}

// Parameters, and what rounding them cut off: nothing where they are infinite.
__device__ __forceinline__ void compensate(
    DType dtype, const float (&x)[GROUP], uint32_t (&copy)[GROUP], uint32_t (&rest)[GROUP]) {
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) {
    copy[k] = to_16(dtype, x[k]);
    float parameter = from_16(dtype, copy[k]);
    bool finite = (__float_as_uint(parameter) & 0x7fffffffu) < 0x7f800000u;
    rest[k] = to_16(dtype, finite ? __fsub_rn(x[k], parameter) : 0.0f);
  }
}

// Parameters rounded by the words of (seed, slot, steps applied before this one, index).
__device__ __forceinline__ void round_by_chance(
    const StepRow& row, uint64_t i, const float (&x)[GROUP], uint32_t (&code)[GROUP]) {
  // `prepare` has counted this step already.
  uint32_t step = (uint32_t)(*(const uint64_t*)row.beside - 1);
  uint4 low = words_of(row.seed, step, row.slot, i / 4), high = words_of(row.seed, step, row.slot, i / 4 + 1);
  uint32_t random[GROUP] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) {
    bool is_bf16 = row.parameter_dtype == BF16;
    code[k] = is_bf16 ? Bf16::stochastic(x[k], random[k], NON_FINITE) : F16::stochastic(x[k], random[k], NON_FINITE);
  }
}

// Puts back what a step made of the values.
__device__ __forceinline__ void save_group(const StepRow& row, uint64_t i, uint32_t count, const float (&x)[GROUP]) {
  if (row.store == BARE || row.store == COPY) {
    if (row.store == COPY) store_group(row.beside, F32, i, count, x);
    return store_group(row.parameter, row.parameter_dtype, i, count, x);
  }
  uint32_t code[GROUP], rest[GROUP];
  if (row.store == STOCHASTIC) {
    round_by_chance(row, i, x, code);
  } else {
    if (row.store == KAHAN) compensate(row.parameter_dtype, x, code, rest);
    else split_halves(x, code, rest);
    put_group<SIXTEEN_AND_32>(row.beside, BF16, i, count, rest);
  }
  // Codes of sixteen bits, of whichever type.
  put_group<SIXTEEN_AND_32>(row.parameter, BF16, i, count, code);
}

// What a step that counts nothing makes of what it could count; `Lost` of `lost.cuh` is the other.
struct Uncounted {
  using Group = float[GROUP];
  __device__ __forceinline__ void group(
      const StepRow&, const Constants&, uint64_t, uint32_t, const Group&, const Group&, const Group&, const Group&) {}
  __device__ __forceinline__ void done(uint32_t) {}
};

// Calls `element(constants, gradient, parameter, moments)` on each element of the block's chunk, with the rule's moments, and
// shows `count_of` each group: gradients as they are stored, values before and after, and the first moments.
template <uint32_t MOMENTS, class Element, class Count = Uncounted>
__device__ __forceinline__ void step_chunk(
    const StepRow* rows, uint32_t row_count, uint64_t from, uint64_t chunk_len, const Constants* constants,
    const Found* found, const Owed* owed, Element element, Count count_of = {}) {
  if (is_raised(found)) return;
  Chunk chunk = chunk_of(rows, row_count, from + blockIdx.x, chunk_len);
  const StepRow& row = rows[chunk.row];
  if (row.present != nullptr && *row.present == 0) return;
  const Constants c = constants[row.slot];
  float inverse = owed->inverse, clip = owed->clip;
  each_group(chunk, [&](uint64_t i, uint32_t count) {
    float gradient[GROUP], before[GROUP], parameter[GROUP], moments[MOMENTS][GROUP];
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
      before[k] = parameter[k];
      element(c, settle(gradient[k], inverse, clip), parameter[k], at);
#pragma unroll
      for (uint32_t m = 0; m < MOMENTS; m++) moments[m][k] = at[m];
    }
    save_group(row, i, count, parameter);
    count_of.group(row, c, i, count, gradient, before, parameter, moments[0]);
#pragma unroll
    for (uint32_t m = 0; m < MOMENTS; m++) {
      if (row.moments[m] != nullptr) store_group(row.moments[m], F32, i, count, moments[m]);
    }
  });
  count_of.done(row.slot);
}
