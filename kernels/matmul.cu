// Products of f16 or f32 matrices on any GPU, f32 inside: C = op(A)·op(B) + bias for a batch, of any extents, rows and
// alignment, any of the two transposed as it lies, C in f32 or in the operands' type.
//
// Oracle: `cases/matmul.rs`; agreement: f32 within the bound for rounding: true f32 products, never TF32, each added by one
// fma in the order of K. f16 within the bound for Tensor Cores, which drop low bits of the terms they add, eight at a time
// in the order of K. An element's bits follow from its row of A, its column of B, its bias and the number of ranges alone.
//
// `matmul_f16`: a block of 256 for each tile of 128 by 128, and 32768 bytes of shared memory. `matmul_f16_small`: a block of
// 128 for each tile of 64 by 64, and 16384 bytes. `matmul_f32`: a block of 256 for each tile of 128 by 128, and 33792 bytes;
// `matmul_f32_small`: of 64 by 64, and 17408 bytes. Tiles are numbered matrix by matrix, and range by range of each one's K.
//
// f16 goes to Tensor Cores by `mma` of 16 by 8 by 8 and `ldmatrix`, which 7.5 has, rather than by `wmma`: how fragments lie
// over the lanes is told by the ISA, so that they come out of permuted shared memory without conflicts, and leave by row.
// Of two tiles of each operand in shared memory one is multiplied while the next comes by way of registers.
#include "lib/tiles.cuh"

extern __shared__ __align__(128) uint8_t memory[];

// A tile on its way, in registers.
template <uint32_t EXTENT, uint32_t THREADS>
struct Carried {
  uint4 chunks[Operand<EXTENT, THREADS>::PIECES];

  __device__ __forceinline__ void fetch(const Operand<EXTENT, THREADS>& operand, bool aligned, uint32_t k) {
#pragma unroll
    for (uint32_t i = 0; i < operand.PIECES; i++) {
      Piece piece = operand.piece(k, i);
      if (aligned && piece.left == GROUP) chunks[i] = *(const uint4*)piece.from;
      else chunks[i] = gather(piece);
    }
  }

  __device__ __forceinline__ void put(const Operand<EXTENT, THREADS>& operand, uint8_t* tile) const {
#pragma unroll
    for (uint32_t i = 0; i < operand.PIECES; i++) *(uint4*)(tile + operand.piece(0, i).to) = chunks[i];
  }
};

template <uint32_t TILE, uint32_t ROWS, uint32_t COLUMNS>
__device__ __forceinline__ void product(const Product& p) {
  constexpr uint32_t THREADS = TILE / ROWS * (TILE / COLUMNS) * 32, STAGE = 2 * BYTES<TILE>;
  using Warp = WarpTile<F16_, TILE, TILE, ROWS, COLUMNS>;
  static_assert(Warp::WAY_OUT <= 2 * STAGE, "the way out is the way in");
  bool a_along_k = p.a_transposed == 0, b_along_k = p.b_transposed != 0;

  Place place = place_of<TILE, TILE>(p);
  Operand<TILE, THREADS> a = {
      (const uint16_t*)p.a + place.matrix * p.a_step, p.a_row, p.m, place.row, p.k, a_along_k};
  Operand<TILE, THREADS> b = {
      (const uint16_t*)p.b + place.matrix * p.b_step, p.b_row, p.n, place.column, p.k, b_along_k};
  bool a_aligned = a.unit() == 16, b_aligned = b.unit() == 16;
  Range range = range_of<DEEP>(p, place);
  Carried<TILE, THREADS> next_a, next_b;

  Warp warp(a_along_k, b_along_k);
  typename Warp::Fragments fragments;
  // Once more than there are tiles: in each turn one is brought, and the one before multiplied.
#pragma unroll 1
  for (uint32_t turn = range.first; turn <= range.end; turn++) {
    if (turn < range.end) {
      next_a.fetch(a, a_aligned, turn * DEEP);
      next_b.fetch(b, b_aligned, turn * DEEP);
    }
    if (turn > range.first) {
      uint32_t stage = shared_address(memory + (turn - 1) % 2 * STAGE);
#pragma unroll 1
      for (uint32_t step = 0; step < STEPS; step++) {
#pragma unroll
        for (uint32_t i = 0; i < warp.DOWN; i++) warp.load_a(stage, a_along_k, step, i, fragments);
#pragma unroll
        for (uint32_t j = 0; j < warp.ACROSS / 2; j++) warp.load_b(stage + BYTES<TILE>, b_along_k, step, j, fragments);
#pragma unroll
        for (uint32_t i = 0; i < warp.DOWN; i++) warp.add(fragments, i);
      }
    }
    if (turn < range.end) {
      uint8_t* stage = memory + turn % 2 * STAGE;
      next_a.put(a, stage);
      next_b.put(b, stage + BYTES<TILE>);
    }
    __syncthreads();
  }
  warp.store(p, place, memory);
}

extern "C" __global__ void __launch_bounds__(256, 2) matmul_f16(const Product p) { product<128, 64, 32>(p); }

extern "C" __global__ void __launch_bounds__(128) matmul_f16_small(const Product p) { product<64, 32, 32>(p); }

// Terms of each sum in one tile of f32.
constexpr uint32_t TERMS = 16;

// One f32 operand of a tile: kept term by term, whichever way it lies, with four floats more in a row than there are, so
// that eight terms of four neighbours lie in 32 banks.
template <uint32_t TILE>
struct Column {
  static constexpr uint32_t PITCH = TILE + 4, PIECES = TILE * TERMS / 256;

  const float* matrix;
  uint64_t row;
  uint32_t extent, first, terms;
  bool along_k;
  float carried[PIECES];

  // The thread's `i`th element of a tile: neighbours in memory go to neighbours among the threads.
  __device__ __forceinline__ uint2 element(uint32_t i) const {
    if (along_k) return make_uint2(threadIdx.x / 8 + i / 2 * 32, threadIdx.x % 8 + i % 2 * 8);
    uint32_t number = threadIdx.x + i * 256;
    return make_uint2(number % TILE, number / TILE);
  }

  __device__ __forceinline__ void fetch(uint32_t k) {
#pragma unroll
    for (uint32_t i = 0; i < PIECES; i++) {
      uint2 at = element(i);
      uint32_t line = first + at.x, term = k + at.y;
      uint64_t place = along_k ? line * row + term : term * row + line;
      carried[i] = line < extent && term < terms ? matrix[place] : 0.0f;
    }
  }

  __device__ __forceinline__ void put(float* tile) const {
#pragma unroll
    for (uint32_t i = 0; i < PIECES; i++) {
      uint2 at = element(i);
      tile[at.y * PITCH + at.x] = carried[i];
    }
  }
};

// Sixteen by sixteen threads, each with EACH by EACH sums: in fours of neighbouring rows and columns, 64 apart.
template <uint32_t EACH>
__device__ __forceinline__ void product_f32(const Product& p) {
  constexpr uint32_t TILE = 16 * EACH, PITCH = Column<TILE>::PITCH, STAGE = 2 * TERMS * PITCH;
  float* tiles_at = (float*)memory;
  uint32_t down = threadIdx.x / 16 * 4, across = threadIdx.x % 16 * 4;
  Place place = place_of<TILE, TILE>(p);
  Column<TILE> a = {
      (const float*)p.a + place.matrix * p.a_step, p.a_row, p.m, place.row, p.k, p.a_transposed == 0};
  Column<TILE> b = {
      (const float*)p.b + place.matrix * p.b_step, p.b_row, p.n, place.column, p.k, p.b_transposed != 0};
  Range range = range_of<TERMS>(p, place);

  float sums[EACH][EACH];
#pragma unroll
  for (uint32_t i = 0; i < EACH; i++) {
#pragma unroll
    for (uint32_t j = 0; j < EACH; j++) sums[i][j] = 0.0f;
  }
#pragma unroll 1
  for (uint32_t turn = range.first; turn <= range.end; turn++) {
    if (turn < range.end) {
      a.fetch(turn * TERMS);
      b.fetch(turn * TERMS);
    }
    if (turn > range.first) {
      const float* stage = tiles_at + (turn - 1) % 2 * STAGE;
#pragma unroll 2
      for (uint32_t term = 0; term < TERMS; term++) {
        float x[EACH], y[EACH];
#pragma unroll
        for (uint32_t four = 0; four < EACH; four += 4) {
          float4 of_a = *(const float4*)(stage + term * PITCH + down + four * 16);
          float4 of_b = *(const float4*)(stage + (TERMS + term) * PITCH + across + four * 16);
          x[four] = of_a.x, x[four + 1] = of_a.y, x[four + 2] = of_a.z, x[four + 3] = of_a.w;
          y[four] = of_b.x, y[four + 1] = of_b.y, y[four + 2] = of_b.z, y[four + 3] = of_b.w;
        }
#pragma unroll
        for (uint32_t i = 0; i < EACH; i++) {
#pragma unroll
          for (uint32_t j = 0; j < EACH; j++) sums[i][j] = __fmaf_rn(x[i], y[j], sums[i][j]);
        }
      }
    }
    if (turn < range.end) {
      float* stage = tiles_at + turn % 2 * STAGE;
      a.put(stage);
      b.put(stage + TERMS * PITCH);
    }
    __syncthreads();
  }
  // By way of shared memory, one row of each thread's at a time, so that neighbours of a row leave together. Registers go by
  // constants, so that each case is written out; `bit` hides from the compiler that it might index them instead.
#pragma unroll 1
  for (uint32_t which = 0, bit = 1; which < EACH; which++, bit *= 2) {
#pragma unroll
    for (uint32_t i = 0; i < EACH; i++) {
      if (bit != 1u << i) continue;
#pragma unroll
      for (uint32_t four = 0; four < EACH; four += 4) {
        *(float4*)(tiles_at + down / 4 * PITCH + across + four * 16) =
            make_float4(sums[i][four], sums[i][four + 1], sums[i][four + 2], sums[i][four + 3]);
      }
    }
    __syncthreads();
    finish_rows<F32, 16, TILE, PITCH>(p, place, tiles_at, place.column, threadIdx.x, 256, [&](uint32_t line) {
      return place.row + line * 4 + which % 4 + which / 4 * 64;
    });
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(256, 2) matmul_f32(const Product p) { product_f32<8>(p); }

extern "C" __global__ void __launch_bounds__(256) matmul_f32_small(const Product p) { product_f32<4>(p); }
// sass: matmul_f16 loads 4 hmma 32 slots 195
// sass: matmul_f16 loads 1 stores 2 slots 89
// sass: matmul_f16_small loads 4 hmma 16 slots 174
// sass: matmul_f16_small loads 1 stores 2 slots 88
// sass: matmul_f32 loads 2 stores 2 slots 63
// sass: matmul_f32_small loads 2 stores 2 slots 64
