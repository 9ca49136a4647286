// What a step of an optimizer starts from and what it leaves: constants, rows, and masters in their stores, which are `stores` of
// `binade_master_weights`.
#pragma once
#include "philox.cuh"
#include "set.cuh"
#include "state.cuh"

// The row of a rule's `StepConstants`; flags are 0 or 1.
struct Constants {
  float row[16];
};

// How masters are kept: `MasterStore`, as `MasterState::code` numbers it. A SCALED one is a copy that `scaled_f16.cu` opened and packs,
// and counts where it packs: a word an element then lies behind the copy, which says whether the step had anything to add.
enum Store : uint32_t { BARE = 0, COPY = 1, REMAINDER = 2, STOCHASTIC = 3, KAHAN = 4, SCALED = 5 };

struct StepRow {
  const void* gradient;
  void* parameter;
  // What the store keeps: masters, remainders, compensations; the count of applied steps where it is STOCHASTIC.
  void* beside;
  // Moments that the rule keeps, f32 or bf16. The last is the tensor's running norm where the rule keeps one.
  void* moments[3];
  // 0 where the gradient is there for certain; otherwise it is only if this is not 0.
  const uint32_t* present;
  uint64_t len, first_chunk;
  // Of the random words; the parameter's number is its slot.
  uint64_t seed;
  uint32_t slot;
  DType gradient_dtype, parameter_dtype;
  Store store;
  // Bit m is 1 where moment m is kept in bf16.
  uint32_t bf16_moments, pad;
};

static_assert(sizeof(Constants) == 64 && sizeof(StepRow) == 104, "as `structs.rs`");

// Number of a rule's moments, from the first on, that may be bf16. A rule with fewer than all specializes it, and its kernel has no code for
// the others.
template <class Rule>
constexpr uint32_t BF16_MOMENTS = Rule::MOMENTS;

// Moments of a row: their addresses and types.
template <class Rule>
struct Moments {
  void* const* at;
  uint32_t bf16;

  __device__ __forceinline__ explicit Moments(const StepRow& row) : at(row.moments), bf16(row.bf16_moments) {}

  __device__ __forceinline__ bool has(uint32_t m) const { return at[m] != nullptr; }

  __device__ __forceinline__ bool is_bf16(uint32_t m) const { return m < BF16_MOMENTS<Rule> && (bf16 >> m & 1) != 0; }

  __device__ __forceinline__ float load_one(uint32_t m, uint64_t i) const {
    return is_bf16(m) ? load(at[m], BF16, i) : load(at[m], F32, i);
  }

  __device__ __forceinline__ void load_group(uint32_t m, uint64_t i, uint32_t count, float (&x)[GROUP]) const {
    if (is_bf16(m)) load_spread(at[m], BF16, i, count, x);
    else load_spread(at[m], F32, i, count, x);
  }

  __device__ __forceinline__ void store_group(uint32_t m, uint64_t i, uint32_t count, const float (&x)[GROUP]) const {
    if (is_bf16(m)) store_spread(at[m], BF16, i, count, x);
    else store_spread(at[m], F32, i, count, x);
  }
};

// True if masters lie beside the parameters as they are.
__device__ __forceinline__ bool is_copy(const StepRow& row) {
  return row.store == COPY || row.store == SCALED;
}

// The master of which a parameter and what is kept beside it, sixteen bits, are the two parts.
__device__ __forceinline__ float joined(const StepRow& row, float parameter, uint32_t beside) {
  if (row.store == KAHAN) return __fadd_rn(parameter, from_16(row.parameter_dtype, beside));
  return __uint_as_float((__float_as_uint(parameter) - (beside >> 15 << 16)) | beside);
}

// The f32 values that a step starts from.
__device__ __forceinline__ void open_group(const StepRow& row, uint64_t i, uint32_t count, float (&x)[GROUP]) {
  if (is_copy(row)) return load_spread(row.beside, F32, i, count, x);
  load_spread(row.parameter, row.parameter_dtype, i, count, x);
  if (row.store != REMAINDER && row.store != KAHAN) return;
  // Read as bf16, which puts the bits of either into the upper half.
  float beside[GROUP];
  load_spread(row.beside, BF16, i, count, beside);
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) x[k] = joined(row, x[k], __float_as_uint(beside[k]) >> 16);
}

// One of them.
__device__ __forceinline__ float open_one(const StepRow& row, uint64_t i) {
  if (is_copy(row)) return ((const float*)row.beside)[i];
  float x = load(row.parameter, row.parameter_dtype, i);
  bool is_joined = row.store == REMAINDER || row.store == KAHAN;
  return is_joined ? joined(row, x, ((const uint16_t*)row.beside)[i]) : x;
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

// What rounding `x` to `parameter` cut off: nothing where that is infinite.
__device__ __forceinline__ uint32_t rest_of(DType dtype, float x, float parameter) {
  bool finite = (__float_as_uint(parameter) & 0x7fffffffu) < 0x7f800000u;
  return to_16(dtype, finite ? __fsub_rn(x, parameter) : 0.0f);
}

// Parameters, and what rounding them cut off.
__device__ __forceinline__ void compensate(
    DType dtype, const float (&x)[GROUP], uint32_t (&copy)[GROUP], uint32_t (&rest)[GROUP]) {
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) {
    copy[k] = to_16(dtype, x[k]);
    rest[k] = rest_of(dtype, x[k], from_16(dtype, copy[k]));
  }
}

// The random words of element i and its three neighbours, of (seed, slot, steps applied before this one, index).
__device__ __forceinline__ uint4 words_at(const StepRow& row, uint64_t i) {
  // `prepare` has counted this step already.
  return words_of(row.seed, (uint32_t)(*(const uint64_t*)row.beside - 1), row.slot, i / 4);
}

__device__ __forceinline__ uint32_t round_by_word(const StepRow& row, float x, uint32_t random) {
  bool is_bf16 = row.parameter_dtype == BF16;
  return is_bf16 ? Bf16::stochastic(x, random, NON_FINITE) : F16::stochastic(x, random, NON_FINITE);
}

// Parameters rounded by chance.
__device__ __forceinline__ void round_by_chance(
    const StepRow& row, uint64_t i, const float (&x)[GROUP], uint32_t (&code)[GROUP]) {
  uint4 low = words_at(row, i), high = words_at(row, i + SPREAD);
  uint32_t random[GROUP] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) code[k] = round_by_word(row, x[k], random[k]);
}

// Puts back what a step made of the values.
__device__ __forceinline__ void save_group(const StepRow& row, uint64_t i, uint32_t count, const float (&x)[GROUP]) {
  if (row.store == BARE || is_copy(row)) {
    if (is_copy(row)) store_spread(row.beside, F32, i, count, x);
    return store_spread(row.parameter, row.parameter_dtype, i, count, x);
  }
  uint32_t code[GROUP], rest[GROUP];
  if (row.store == STOCHASTIC) {
    round_by_chance(row, i, x, code);
  } else {
    if (row.store == KAHAN) compensate(row.parameter_dtype, x, code, rest);
    else split_halves(x, code, rest);
    put_spread(row.beside, BF16, i, count, rest);
  }
  // Codes of sixteen bits, of whichever type.
  put_spread(row.parameter, BF16, i, count, code);
}
