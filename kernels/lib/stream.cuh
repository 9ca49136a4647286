// Tiles of an operand on their way to shared memory one after the other, where all chunks begin at multiples of 16 bytes: pointers
// step from tile to tile, and whatever no tile changes is computed once, before the first.
#pragma once
#include "tiles.cuh"

// 16 bytes of which those behind `bytes` become zeros.
__device__ __forceinline__ void copy_chunk(uint32_t to, const void* from, uint32_t bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Chunks of an operand's tiles that a thread brings. Their lines in a tile are a constant number apart.
template <uint32_t EXTENT, uint32_t THREADS>
struct Stream {
  static constexpr uint32_t PIECES = Operand<EXTENT, THREADS>::PIECES;

  const uint8_t* from;
  // Bytes from one chunk to the thread's next, and to the same of the next tile.
  uint64_t apart, step;
  // Where the first goes in a tile; the line or chunk's first term that is the thread's.
  uint32_t to, term, terms;
  // Along K a bit for each chunk whose line is in the matrix; else the bytes of each that are.
  uint32_t inside;
  bool along_k;

  // The lines from one of the thread's chunks to its next.
  static __device__ __forceinline__ uint32_t lines(bool along_k) {
    return THREADS / ((along_k ? DEEP : EXTENT) / GROUP);
  }

  __device__ __forceinline__ Stream(const Operand<EXTENT, THREADS>& operand, uint32_t k) {
    Piece piece = operand.piece(k, 0);
    uint32_t chunks = (operand.along_k ? DEEP : EXTENT) / GROUP, line = threadIdx.x / chunks, chunk = threadIdx.x % chunks;
    along_k = operand.along_k, from = (const uint8_t*)piece.from, to = piece.to, terms = operand.terms;
    apart = lines(along_k) * operand.row * 2, step = along_k ? DEEP * 2 : DEEP * operand.row * 2;
    term = k + (along_k ? chunk * GROUP : line);
    inside = along_k ? 0 : left_of(operand.extent, operand.first + chunk * GROUP) * 2;
#pragma unroll
    for (uint32_t i = 0; i < PIECES; i++) {
      if (along_k) inside |= (operand.first + line + i * lines(true) < operand.extent) << i;
    }
  }

  // Starts to bring the thread's part of a tile. A copy of no bytes reads nothing, wherever it is from.
  __device__ __forceinline__ void bring(uint32_t tile) {
    uint32_t bytes = along_k ? left_of(terms, term) * 2 : inside;
    // Behind the last term this is negative: extents are below 2^31.
    int32_t left = terms - term;
#pragma unroll
    for (uint32_t i = 0; i < PIECES; i++) {
      bool there = along_k ? (inside >> i & 1) != 0 : left > (int32_t)(i * lines(false));
      uint32_t pitch = (along_k ? DEEP : EXTENT) * 2;
      copy_chunk(tile + to + i * (lines(along_k) * pitch), from + i * apart, there ? bytes : 0);
    }
  }

  __device__ __forceinline__ void advance() { from += step, term += DEEP; }
};
