// Tiles of 16-bit matrices in shared memory, and what a warp makes of them.
//
// A tile is DEEP terms of each of `extent` lines of its operand, as it lies in memory: lines along K, or K by K. It is kept
// in chunks of 16 bytes, whose places in a line are permuted by the line's number, so that the eight rows of a matrix that
// `ldmatrix` reads lie in eight different groups of banks, and so do those that a copy writes.
#pragma once
#include "product.cuh"
#include "tensor_core.cuh"

// Terms of each sum in one tile.
constexpr uint32_t DEEP = 32;

// Steps of sixteen terms.
constexpr uint32_t STEPS = DEEP / 16;

// Bytes of a tile.
template <uint32_t EXTENT>
constexpr uint32_t BYTES = EXTENT * DEEP * 2;

// Where a chunk lies in its tile. Along K four chunks are a line, and two lines have all 32 banks; K by K a line has a
// multiple of eight chunks.
template <uint32_t EXTENT>
__device__ __forceinline__ uint32_t offset_of(bool along_k, uint32_t line, uint32_t chunk) {
  if (along_k) return line * (DEEP * 2) + (chunk ^ (line >> 1 & 3)) * 16;
  return line * (EXTENT * 2) + (chunk ^ (line & 7)) * 16;
}

// A chunk of an operand: what is left of it inside the matrix, and where it goes in the tile.
struct Piece {
  const uint16_t* from;
  uint32_t left, to;
};

// One operand of a block's tile of C.
template <uint32_t EXTENT, uint32_t THREADS>
struct Operand {
  // Chunks of a tile that a thread brings.
  static constexpr uint32_t PIECES = EXTENT * DEEP / GROUP / THREADS;

  const uint16_t* matrix;
  uint64_t row;
  // Rows of A, or columns of B, and the tile's first; terms of a sum.
  uint32_t extent, first, terms;
  bool along_k;

  // Of 16, 8, 4 and 2 bytes the most that all chunks begin at multiples of.
  __device__ __forceinline__ uint32_t unit() const {
    uint32_t all = (uint32_t)(uint64_t)matrix | (uint32_t)row * 2 | 16;
    return all & (~all + 1);
  }

  // The thread's `i`th piece of the tile that begins with term `k`.
  __device__ __forceinline__ Piece piece(uint32_t k, uint32_t i) const {
    uint32_t number = threadIdx.x + i * THREADS, chunks = along_k ? DEEP / GROUP : EXTENT / GROUP;
    uint32_t line = number / chunks, chunk = number % chunks;
    uint32_t across = (along_k ? first : k) + line, along = (along_k ? k : first) + chunk * GROUP;
    uint32_t left = across < (along_k ? extent : terms) ? left_of(along_k ? terms : extent, along) : 0;
    return {matrix + across * row + along, left, offset_of<EXTENT>(along_k, line, chunk)};
  }
};

// Elements one by one, zeros behind the last.
__device__ __forceinline__ uint4 gather(const Piece& piece) {
  uint32_t words[4];
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t low = 2 * i < piece.left ? piece.from[2 * i] : 0, high = 2 * i + 1 < piece.left ? piece.from[2 * i + 1] : 0;
    words[i] = low | high << 16;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// The tile of C of a warp: ROWS by COLUMNS from (row, column) of the block's, a multiple of 16 each.
template <DType TYPE, uint32_t TILE_ROWS, uint32_t TILE_COLUMNS, uint32_t ROWS, uint32_t COLUMNS>
struct WarpTile {
  static constexpr uint32_t DOWN = ROWS / 16, ACROSS = COLUMNS / 8;
  static_assert((ROWS & (ROWS - 1)) == 0 && (COLUMNS & (COLUMNS - 1)) == 0, "a warp's chunks differ in whole bits");
  // Floats of a row on its way out: eight more than there are, so that rows begin in different banks.
  static constexpr uint32_t PITCH = COLUMNS + 8;
  // Bytes of a block's warps' rows on their way out.
  static constexpr uint32_t WAY_OUT = TILE_ROWS / ROWS * (TILE_COLUMNS / COLUMNS) * 16 * PITCH * 4;

  // Fragments of one step.
  struct Fragments {
    uint32_t a[DOWN][4], b[ACROSS / 2][4];
  };

  float sums[DOWN][ACROSS][4];
  uint32_t row, column;
  // Where the lane's rows of the first matrices lie in a tile of A, and in one of B.
  uint32_t in_a, in_b;

  __device__ __forceinline__ WarpTile(bool a_along_k, bool b_along_k) {
    uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    row = warp / (TILE_COLUMNS / COLUMNS) * ROWS, column = warp % (TILE_COLUMNS / COLUMNS) * COLUMNS;
    // Four matrices: rows 0 and 8 on, first of the first eight terms and then of the others, are a fragment of A.
    in_a = a_along_k ? offset_of<TILE_ROWS>(true, row + lane % 16, lane / 16)
                     : offset_of<TILE_ROWS>(false, lane % 8 + lane / 16 * 8, row / 8 + lane / 8 % 2);
    // Four matrices: both halves of the terms of columns 0 on, then those of columns 8 on, are two fragments of B.
    in_b = b_along_k ? offset_of<TILE_COLUMNS>(true, column + lane % 8 + lane / 16 * 8, lane / 8 % 2)
                     : offset_of<TILE_COLUMNS>(false, lane % 16, column / 8 + lane / 16);
#pragma unroll
    for (uint32_t i = 0; i < DOWN; i++) {
#pragma unroll
      for (uint32_t j = 0; j < ACROSS; j++) {
#pragma unroll
        for (uint32_t part = 0; part < 4; part++) sums[i][j][part] = 0.0f;
      }
    }
  }

  // The `i`th sixteen rows or columns of a step's terms. Permuted chunks are two apart in bits 5 and 6 of the address alone, of
  // which a line's own are those of the tile: it begins at a multiple of 128.
  template <uint32_t EXTENT>
  __device__ static __forceinline__ void load(uint32_t at, bool along_k, uint32_t step, uint32_t i, uint32_t (&to)[4]) {
    if (along_k) load_matrices((at ^ step * 32) + i * (16 * DEEP * 2), to);
    else load_transposed((at ^ i * 32) + step * (16 * EXTENT * 2), to);
  }

  __device__ __forceinline__ void load_a(uint32_t tile, bool along_k, uint32_t step, uint32_t i, Fragments& to) const {
    load<TILE_ROWS>(tile + in_a, along_k, step, i, to.a[i]);
  }

  __device__ __forceinline__ void load_b(uint32_t tile, bool along_k, uint32_t step, uint32_t i, Fragments& to) const {
    load<TILE_COLUMNS>(tile + in_b, along_k, step, i, to.b[i]);
  }

  // The `i`th sixteen rows times all columns: odd rows from the last column on, whose fragments were used last.
  __device__ __forceinline__ void add(const Fragments& of, uint32_t i) {
#pragma unroll
    for (uint32_t number = 0; number < ACROSS; number++) {
      uint32_t j = i % 2 == 0 ? number : ACROSS - 1 - number;
      multiply<TYPE>(sums[i][j], of.a[i], of.b[j / 2][j % 2 * 2], of.b[j / 2][j % 2 * 2 + 1]);
    }
  }

  // By way of shared memory, sixteen rows at a time, so that neighbours of a row leave together. Nobody else may be using it.
  __device__ __forceinline__ void store(const Product& p, const Place& place, uint8_t* memory) const {
    uint32_t lane = threadIdx.x % 32;
    float* rows = (float*)memory + threadIdx.x / 32 * (16 * PITCH);
#pragma unroll 1
    for (uint32_t i = 0, bit = 1; i < DOWN; i++, bit *= 2) {
      put_aside(bit, rows + lane / 4 * PITCH + lane % 4 * 2);
      __syncwarp();
      finish_rows<TYPE, 16, COLUMNS, PITCH>(p, place, rows, place.column + column, lane, 32, [&](uint32_t line) {
        return place.row + row + i * 16 + line;
      });
      __syncwarp();
    }
  }

  // Sixteen rows of sums. Registers go by constants, so that each case is written out; a bit that names it hides from the
  // compiler that it might index them instead.
  __device__ __forceinline__ void put_aside(uint32_t bit, float* to) const {
#pragma unroll
    for (uint32_t i = 0; i < DOWN; i++) {
      if (bit != 1u << i) continue;
#pragma unroll
      for (uint32_t j = 0; j < ACROSS; j++) {
        *(float2*)(to + j * 8) = make_float2(sums[i][j][0], sums[i][j][1]);
        *(float2*)(to + j * 8 + 8 * PITCH) = make_float2(sums[i][j][2], sums[i][j][3]);
      }
    }
  }
};
