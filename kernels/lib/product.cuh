// A matrix product as the host describes it, which tile of it a block computes, and how a result leaves: bias added in f32,
// what is negative cut off where that is asked for, rounded once, eight neighbours of a row at a time.
#pragma once
#include "elements.cuh"

// C = op(A)·op(B) + bias, once for each matrix of a batch; `ProductBits` of `structs.rs`. Where K is cut into ranges, each range
// has a C of its own, `c_step` from the one before, range by range and matrix by matrix; `matmul_join` adds them up.
struct Product {
  const void *a, *b;
  // One value a column of C, of A's and B's type; null where there is none.
  const void* bias;
  void* c;
  // Elements from one matrix of the batch to the next.
  uint64_t a_step, b_step, c_step;
  // Elements from one row to the next, as they lie in memory.
  uint64_t a_row, b_row, c_row;
  // Of C: rows, columns, and terms of each sum.
  uint32_t m, n, k;
  DType dtype, c_dtype;
  // Whether A lies as [K, M] and B as [N, K].
  uint32_t a_transposed, b_transposed;
  // Ranges that K is cut into: as many whole tiles each, but for the last ones.
  uint32_t ranges;
  // What is not above it leaves as it: 0 for the rectified linear unit, minus infinity for the product itself.
  float least;
  uint32_t unused;
};

static_assert(sizeof(Product) == 120, "as `structs.rs`");

// A sum as it leaves but for its rounding, which keeps signs. Comparisons with NaN are false: written this way round, it passes.
// A number and no branch, so that a product without it takes no other way.
__device__ __forceinline__ float cut_off(const Product& p, float x) { return x <= p.least ? p.least : x; }

// Rows of tiles that blocks of neighbouring numbers share, so that what they read of B is in the cache for all of them.
constexpr uint32_t BAND = 8;

// The first row and column of a block's tile, its matrix of the batch, and which C it is a tile of.
struct Place {
  uint32_t row, column;
  uint64_t matrix;
  uint32_t part;
};

// Tiles of DEEP terms, from `first` to before `end`.
struct Range {
  uint32_t first, end;
};

// Those that a block adds up.
template <uint32_t DEEP>
__device__ __forceinline__ Range range_of(const Product& p, const Place& place) {
  uint32_t tiles = p.k / DEEP + (p.k % DEEP != 0), each = (tiles + p.ranges - 1) / p.ranges;
  uint32_t first = place.part % p.ranges * each, end = first + each;
  return {first, end < tiles ? end : tiles};
}

template <uint32_t ROWS, uint32_t COLUMNS>
__device__ __forceinline__ Place place_of(const Product& p) {
  uint32_t down = (p.m - 1) / ROWS + 1, across = (p.n - 1) / COLUMNS + 1;
  uint32_t part = blockIdx.x / (down * across), tile = blockIdx.x % (down * across);
  uint32_t first = tile / (BAND * across) * BAND, in_band = tile % (BAND * across);
  uint32_t rows = down - first < BAND ? down - first : BAND;
  return {(first + in_band % rows) * ROWS, in_band / rows * COLUMNS, part / p.ranges, part};
}

// Elements i to i + 8 of a line of `length`, which may end before.
__device__ __forceinline__ uint32_t left_of(uint32_t length, uint32_t i) {
  return i >= length ? 0 : length - i < GROUP ? length - i : GROUP;
}

// Two values in 16 bits each, the first below; rounded to nearest, ties to even.
template <DType TYPE>
__device__ __forceinline__ uint32_t packed(float low, float high) {
#if __CUDA_ARCH__ >= 800
  uint32_t word;
  if (TYPE == BF16) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return to_16(TYPE, low) | to_16(TYPE, high) << 16;
#endif
}

// Whether C is whole groups of eight, each at a multiple of 16 bytes, and so is the bias.
__device__ __forceinline__ bool leaves_in_groups(const Product& p) {
  return ((p.n | p.c_row | p.c_step) % GROUP == 0) && is_aligned(p.c, 16) && is_aligned(p.bias, 16);
}

__device__ __forceinline__ uint64_t element_of(const Product& p, const Place& place, uint32_t row, uint32_t column) {
  return place.part * p.c_step + row * p.c_row + column;
}

// Eight sums of a row as they leave, to C's type, which is f32 or TYPE; those beyond the matrix do not leave.
template <DType TYPE>
__device__ __forceinline__ void finish_group(
    const Product& p, const Place& place, uint32_t row, uint32_t column, float (&x)[GROUP]) {
  if (row >= p.m || column >= p.n) return;
  if (p.bias != nullptr) {
    float bias[GROUP];
    load_group(p.bias, TYPE, column, GROUP, bias);
#pragma unroll
    for (uint32_t i = 0; i < GROUP; i++) x[i] = __fadd_rn(x[i], bias[i]);
  }
  uint64_t at = element_of(p, place, row, column);
#pragma unroll
  for (uint32_t i = 0; i < GROUP; i++) x[i] = cut_off(p, x[i]);
  if (TYPE == F32 || p.c_dtype == F32) {
    float4* to = (float4*)((float*)p.c + at);
    to[0] = make_float4(x[0], x[1], x[2], x[3]), to[1] = make_float4(x[4], x[5], x[6], x[7]);
  } else {
    *(uint4*)((uint16_t*)p.c + at) = make_uint4(
        packed<TYPE>(x[0], x[1]), packed<TYPE>(x[2], x[3]), packed<TYPE>(x[4], x[5]), packed<TYPE>(x[6], x[7]));
  }
}

// One sum, the same way.
template <DType TYPE>
__device__ __forceinline__ void finish_one(const Product& p, const Place& place, uint32_t row, uint32_t column, float x) {
  if (row >= p.m || column >= p.n) return;
  if (p.bias != nullptr) x = __fadd_rn(x, load(p.bias, TYPE, column));
  x = cut_off(p, x);
  uint64_t at = element_of(p, place, row, column);
  if (TYPE == F32 || p.c_dtype == F32) ((float*)p.c)[at] = x;
  else ((uint16_t*)p.c)[at] = (uint16_t)packed<TYPE>(x, 0.0f);
}

// Rows of sums that lie in shared memory, WIDTH of them in a row and a row every PITCH: thread `first` of `threads` that
// share the work brings its part to C, from (row, column) on. `row_of` says which row of C a line is.
template <DType TYPE, uint32_t LINES, uint32_t WIDTH, uint32_t PITCH, class RowOf>
__device__ __forceinline__ void finish_rows(
    const Product& p, const Place& place, const float* rows, uint32_t column, uint32_t first, uint32_t threads,
    RowOf row_of) {
  if (leaves_in_groups(p)) {
#pragma unroll 1
    for (uint32_t group = first; group < LINES * (WIDTH / GROUP); group += threads) {
      uint32_t line = group / (WIDTH / GROUP), at = group % (WIDTH / GROUP) * GROUP;
      const float4* from = (const float4*)(rows + line * PITCH + at);
      float4 low = from[0], high = from[1];
      float x[GROUP] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      finish_group<TYPE>(p, place, row_of(line), column + at, x);
    }
    return;
  }
#pragma unroll 1
  for (uint32_t i = first; i < LINES * WIDTH; i += threads) {
    uint32_t line = i / WIDTH, at = i % WIDTH;
    finish_one<TYPE>(p, place, row_of(line), column + at, rows[line * PITCH + at]);
  }
}
