// Masters in f16 with an exponent a tensor: opened as f32 for a step, and packed again by an exponent of the tensor's largest.
//
// Oracle: `cases/scaled_f16.rs`; agreement: bits. The exponent is `stores/scaled.rs`'s, in integers.
//
// A block of 256 for each chunk of the set's rows, and nothing where `found`, which may be 0, is raised. `scaled_f16_open` gives
// the f32 copy that a rule's kernel moves; `scaled_f16_largest`, behind the step, looks for the largest finite magnitude, and
// `scaled_f16_pack` rounds. Where `counts` is not 0, the last counts lost updates too, as the rule's kernel does for other stores, of
// the words that it has put behind the copy.
//
// A maximum of integers has no order, so that blocks do not show. Who packs first would change the exponent under those who
// count: what it was before is put aside by the first of the three.
#include "lib/lost.cuh"

// What one launch leaves to the next.
struct Between {
  // Bits of the largest finite magnitude.
  uint32_t largest;
  int32_t exponent;
};

struct Row {
  // f16, times 2 to the exponent.
  void* values;
  int32_t* exponent;
  float* wide;
  Between* between;
  // 0 where the gradient is there for certain; otherwise it is only if this is not 0.
  const uint32_t* present;
  uint64_t len, first_chunk;
  uint32_t slot, pad;
};

static_assert(sizeof(Between) == 8 && sizeof(Row) == 64, "as `structs.rs`");

constexpr int32_t TOP = 14, LARGEST = 125, BIAS = 127;

__device__ __forceinline__ bool is_stepped(const Row& row, const Found* found) {
  return (found == nullptr || !is_raised(found)) && (row.present == nullptr || *row.present != 0);
}

__device__ __forceinline__ bool is_first(const Chunk& chunk) {
  return chunk.start == 0 && threadIdx.x == 0;
}

// 2 to an exponent of a normal number.
__device__ __forceinline__ float power(int32_t exponent) {
  return __int_as_float((exponent + BIAS) << 23);
}

__device__ __forceinline__ int32_t exponent_of(uint32_t largest) {
  if (largest == 0) return 0;
  int32_t binade = (int32_t)(largest >> 23);
  int32_t exponent = TOP + BIAS - (binade < 1 ? 1 : binade);
  return exponent < LARGEST ? exponent : LARGEST;
}

// The f32 values of masters.
__device__ __forceinline__ void unpack(const Row& row, uint64_t i, uint32_t count, int32_t exponent, float (&x)[GROUP]) {
  load_spread(row.values, F16_, i, count, x);
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) x[k] = __fmul_rn(x[k], power(-exponent));
}

extern "C" __global__ void __launch_bounds__(THREADS) scaled_f16_open(
    const Row* rows, uint32_t row_count, uint64_t chunk_len, const Found* found) {
  Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
  const Row& row = rows[chunk.row];
  if (!is_stepped(row, found)) return;
  int32_t exponent = *row.exponent;
  if (is_first(chunk)) *row.between = {0, exponent};
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    unpack(row, i, count, exponent, x);
    store_spread(row.wide, F32, i, count, x);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) scaled_f16_largest(
    const Row* rows, uint32_t row_count, uint64_t chunk_len, const Found* found) {
  Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
  const Row& row = rows[chunk.row];
  if (!is_stepped(row, found)) return;
  uint32_t largest = 0;
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    load_spread(row.wide, F32, i, count, x);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      uint32_t magnitude = __float_as_uint(x[k]) & 0x7fffffffu;
      if (magnitude < 0x7f800000u) largest = Max::join(largest, magnitude);
    }
  });
  largest = reduce<Max>(largest);
  if (threadIdx.x == 0) atomicMax(&row.between->largest, largest);
}

extern "C" __global__ void __launch_bounds__(THREADS) scaled_f16_pack(
    const Row* rows, uint32_t row_count, uint64_t chunk_len, const Found* found, LostCount* counts) {
  Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
  const Row& row = rows[chunk.row];
  if (!is_stepped(row, found)) return;
  int32_t exponent = exponent_of(row.between->largest), old = row.between->exponent;
  if (is_first(chunk)) *row.exponent = exponent;
  LostSum sum{counts};
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
    float x[GROUP], before[GROUP];
    uint32_t code[GROUP];
    load_spread(row.wide, F32, i, count, x);
    if (counts != nullptr) unpack(row, i, count, old, before);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      code[k] = to_16(F16_, __fmul_rn(x[k], power(exponent)));
      x[k] = __fmul_rn(from_16(F16_, code[k]), power(-exponent));
    }
    put_spread(row.values, F16_, i, count, code);
    if (counts == nullptr) return;
    const uint32_t* updated = (const uint32_t*)row.wide + row.len;
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      if (offset_in<SPREAD>(k) < count) sum.add(updated[i + offset_in<SPREAD>(k)] != 0, before[k], x[k]);
    }
  });
  if (counts != nullptr) sum.done(row.slot);
}
// sass: scaled_f16_open stores 2 scalar 2 slots 55; four f16 of a lane, which lie next to each other
// sass: scaled_f16_largest loads 2 slots 53
// sass: scaled_f16_pack loads 2 scalar 2 slots 70; four f16 of a lane, which lie next to each other
