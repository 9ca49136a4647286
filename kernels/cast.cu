// Tensors in another element type: any of bf16, f16, f32, e4m3, e5m2 to any other, by way of f32, which holds them all.
//
// Oracles: `cases/cast/oracle.rs`, `cases/stochastic_cast.rs`; agreement: bits, any NaN for any NaN.
//
// `cast` rounds once, to nearest even; `cast_stochastic` up or down by the random words of (seed, step, parameter, index).
// A grid of any size of blocks of 256 strides over spread groups of eight elements. `cast_set` is `cast` for many tensors at once: a block of 256
// for each chunk of the rows; what overflows is not finite there.
//
// Elements are independent, so that the order does not show.
#include "lib/grid.cuh"
#include "lib/philox.cuh"
#include "lib/set.cuh"

struct Row {
  const void* from;
  void* to;
  uint64_t len, first_chunk;
  DType from_dtype, to_dtype;
};

static_assert(sizeof(Row) == 40, "as `structs.rs`");

__device__ __forceinline__ void nearest(
    const void* from, DType from_dtype, void* to, DType to_dtype, uint64_t i, uint32_t count, OnOverflow on_overflow) {
  float x[GROUP];
  uint32_t code[GROUP];
  load_group<EIGHT_TOO, SPREAD>(from, from_dtype, i, count, x);
#pragma unroll
  for (uint32_t k = 0; k < GROUP; k++) code[k] = code_of<EIGHT_TOO>(to_dtype, x[k], on_overflow);
  put_group<EIGHT_TOO, SPREAD>(to, to_dtype, i, count, code);
}

extern "C" __global__ void __launch_bounds__(256) cast(
    const void* from, DType from_dtype, void* to, DType to_dtype, uint64_t len, OnOverflow on_overflow) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    nearest(from, from_dtype, to, to_dtype, i, count, on_overflow);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) cast_set(
    const Row* rows, uint32_t row_count, uint64_t chunk_len) {
  Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
  const Row& row = rows[chunk.row];
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
    nearest(row.from, row.from_dtype, row.to, row.to_dtype, i, count, NON_FINITE);
  });
}

__device__ __forceinline__ uint32_t stochastic(DType to, float value, uint32_t random, OnOverflow on_overflow) {
  switch (to) {
    case BF16: return Bf16::stochastic(value, random, on_overflow);
    case F16_: return F16::stochastic(value, random, on_overflow);
    case E4M3: return E4m3::stochastic(value, random, on_overflow);
    case E5M2: return E5m2::stochastic(value, random, on_overflow);
    default: return __float_as_uint(value);
  }
}

extern "C" __global__ void __launch_bounds__(256) cast_stochastic(
    const void* from, DType from_dtype, void* to, DType to_dtype, uint64_t len, OnOverflow on_overflow, uint64_t seed,
    uint32_t step, uint32_t parameter) {
  each_group_of(len, [&](uint64_t i, uint32_t count) {
    float x[GROUP];
    load_group<EIGHT_TOO, SPREAD>(from, from_dtype, i, count, x);
    uint4 low = words_of(seed, step, parameter, i / 4), high = words_of(seed, step, parameter, (i + SPREAD) / 4);
    uint32_t random[GROUP] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    uint32_t code[GROUP];
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) code[k] = stochastic(to_dtype, x[k], random[k], on_overflow);
    put_group<EIGHT_TOO, SPREAD>(to, to_dtype, i, count, code);
  });
}
// sass: cast loads 2 stores 2 slots 48
// sass: cast_set loads 2 stores 2 slots 49
// sass: cast_stochastic loads 2 stores 2 slots 194
