// Attention on Tensor Cores of 8.0 and later: a block of four warps has 64 lines, which are queries or keys, and goes over tiles of
// terms, which are the others. Each warp has sixteen lines, and all terms of a tile.
//
// A tile's lines are D elements long, zeros behind an operand's own. Chunks of 16 bytes are permuted by the line's number, so that the
// eight rows of a matrix that `ldmatrix` reads lie in eight different groups of banks, and so do those that a copy writes.
//
// Scores lie over the lanes as a C of `mma`. Two neighbours of eight terms each are an A of sixteen terms, so that weights go from
// registers into the next product.
#pragma once
#include "attention.cuh"
#include "stream.cuh"

// Threads of a block, and lines of a warp.
constexpr uint32_t BLOCK = 128, WARP_LINES = 16;

// Bytes of a tile.
template <uint32_t D, uint32_t LINES>
constexpr uint32_t TILE_BYTES = LINES * D * 2;

// Bytes from a tile's begin, a multiple of a line's bytes, to a chunk of a line.
template <uint32_t D>
__device__ __forceinline__ uint32_t chunk_at(uint32_t line, uint32_t chunk) {
  return line * (D * 2) + (chunk ^ (line & 7)) * 16;
}

__device__ __forceinline__ uint32_t lane_of() { return threadIdx.x % 32; }

// The first of a warp's lines in the block's tile.
__device__ __forceinline__ uint32_t warp_line() { return threadIdx.x / 32 * WARP_LINES; }

// The line and the term of a lane's element `i` of the `n`th eight terms, counted from the warp's first line and the tile's first term.
__device__ __forceinline__ uint32_t line_of(uint32_t i) { return lane_of() / 4 + i / 2 * 8; }
__device__ __forceinline__ uint32_t term_of(uint32_t n, uint32_t i) { return n * 8 + lane_of() % 4 * 2 + i % 2; }

// Chunks of an operand's tiles that a thread brings, one tile after the other.
template <uint32_t D, uint32_t LINES>
struct Copies {
  // Lines from a thread's chunk to its next, which is permuted alike.
  static constexpr uint32_t APART = BLOCK / (D / GROUP);
  static_assert(APART % 8 == 0 && LINES % APART == 0, "a thread has one chunk of each of its lines");

  // The tile's first line, the thread's first chunk in it, and bytes from a line to the next.
  const uint8_t* from;
  uint32_t offset, pitch;
  // Bytes from a tile's begin to the first chunk.
  uint32_t to;
  // Lines of the operand from that of the first chunk on; none are left of a chunk behind their end.
  int32_t left;

  __device__ __forceinline__ Copies(const Lines& of, uint32_t first) {
    uint32_t line = threadIdx.x / (D / GROUP), chunk = threadIdx.x % (D / GROUP);
    from = (const uint8_t*)of.from + (of.start + (uint64_t)first * of.width) * 2, pitch = of.width * 2;
    offset = line * pitch + chunk * 16, to = chunk_at<D>(line, chunk);
    left = chunk * GROUP < of.width ? (int32_t)(of.count - first - line) : 0;
  }

  // Starts to bring the next tile. A copy of no bytes reads nothing, wherever it is from.
  __device__ __forceinline__ void bring(uint32_t tile) {
#pragma unroll
    for (uint32_t i = 0; i < LINES / APART; i++) {
      copy_chunk(tile + to + i * (APART * D * 2), from + (offset + i * APART * pitch), left > (int32_t)(i * APART) ? 16 : 0);
    }
    from += LINES * pitch, left -= LINES;
  }
};

// Waits for all copies that the thread has started. Other threads' have come behind a barrier.
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

// A warp's lines of a tile as A, sixteen elements a step: in registers, or left in shared memory where those are few.
template <uint32_t D, bool HELD>
struct LineFragments {
  uint32_t held[HELD ? D / 16 : 1][4];
  uint32_t at;

  __device__ __forceinline__ LineFragments(uint32_t tile) {
    at = tile + chunk_at<D>(warp_line() + lane_of() % 16, lane_of() / 16);
#pragma unroll
    for (uint32_t step = 0; HELD && step < D / 16; step++) load_matrices(at ^ step * 32, held[step]);
  }

  __device__ __forceinline__ void step(uint32_t step, uint32_t (&to)[4]) const {
    if constexpr (HELD) {
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) to[i] = held[step][i];
    } else {
      load_matrices(at ^ step * 32, to);
    }
  }
};

// The operands with types that the compiler knows: TYPE, and for the mask TYPE or f32.
template <DType TYPE>
__device__ __forceinline__ Attention typed(Attention of) {
  of.dtype = TYPE, of.mask_dtype = of.mask_dtype == F32 ? F32 : TYPE;
  return of;
}

template <uint32_t N>
__device__ __forceinline__ void clear(float (&sums)[N][4]) {
#pragma unroll
  for (uint32_t n = 0; n < N; n++) {
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) sums[n][i] = 0.0f;
  }
}

// Products of a warp's lines with 8 N terms. Four matrices, both halves of the elements of terms 0 on and then of terms 8 on, are
// two fragments of B.
template <DType TYPE, uint32_t D, bool HELD, uint32_t N>
__device__ __forceinline__ void products_of(const LineFragments<D, HELD>& lines, uint32_t terms, float (&sums)[N][4]) {
  uint32_t at = terms + chunk_at<D>(lane_of() % 8 + lane_of() / 16 * 8, lane_of() / 8 % 2);
  clear(sums);
#pragma unroll
  for (uint32_t step = 0; step < D / 16; step++) {
    uint32_t a[4];
    lines.step(step, a);
#pragma unroll
    for (uint32_t n = 0; n < N; n += 2) {
      uint32_t b[4];
      load_matrices((at ^ step * 32) + n * (8 * D * 2), b);
      multiply<TYPE>(sums[n], a, b[0], b[1]);
      multiply<TYPE>(sums[n + 1], a, b[2], b[3]);
    }
  }
}

// Adds terms times their weights to D columns of a warp's lines. Four matrices turned over, both halves of the terms of columns 0 on
// and then of columns 8 on, are two fragments of B.
template <DType TYPE, uint32_t D, uint32_t STEPS>
__device__ __forceinline__ void add_weighted(const uint32_t (&weights)[STEPS][4], uint32_t terms, float (&sums)[D / 8][4]) {
  uint32_t at = terms + chunk_at<D>(lane_of() % 16, lane_of() / 16);
#pragma unroll
  for (uint32_t step = 0; step < STEPS; step++) {
#pragma unroll
    for (uint32_t n = 0; n < D / 8; n += 2) {
      uint32_t b[4];
      load_transposed((at ^ n * 16) + step * (16 * D * 2), b);
      multiply<TYPE>(sums[n], weights[step], b[0], b[1]);
      multiply<TYPE>(sums[n + 1], weights[step], b[2], b[3]);
    }
  }
}

// Puts the weights of the `n`th eight terms where `multiply` wants them.
template <DType TYPE, uint32_t STEPS>
__device__ __forceinline__ void put_weights(const float (&from)[4], uint32_t n, uint32_t (&weights)[STEPS][4]) {
  weights[n / 2][n % 2 * 2] = packed<TYPE>(from[0], from[1]);
  weights[n / 2][n % 2 * 2 + 1] = packed<TYPE>(from[2], from[3]);
}

// Moves all eight terms to those before, and puts others behind the last: a loop that is not unrolled can go over registers so.
template <uint32_t N>
__device__ __forceinline__ void move_up(float (&all)[N][4], const float (&last)[4]) {
#pragma unroll
  for (uint32_t n = 0; n < N; n++) {
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) all[n][i] = n + 1 < N ? all[(n + 1) % N][i] : last[i];
  }
}

// Makes scores of products where the tile has a mask, an end, or keys behind a query. Returns what is left to multiply them by: the
// products of most tiles stay as they are.
template <bool BY_KEY, uint32_t N>
__device__ __forceinline__ float scored(
    const Attention& of, uint64_t place, uint32_t line, uint32_t term, float (&products)[N][4]) {
  uint32_t end = term + 8 * N, last_key = BY_KEY ? line + WARP_LINES - 1 : end - 1, first_query = BY_KEY ? term : line;
  bool is_whole = end <= (BY_KEY ? of.rows : of.key_count) && (!of.causal || last_key <= first_query);
  if (is_whole && of.mask == nullptr) return of.scale;
  // Here and not before the first tile: registers are few.
  MaskRows mask = mask_of(of, place);
#pragma unroll 1
  for (uint32_t n = 0; n < N; n++) {
    float scores[4];
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
      uint32_t own = line + line_of(i), other = term + term_of(n, i);
      scores[i] = score(of, mask, BY_KEY ? other : own, BY_KEY ? own : other, products[0][i]);
    }
    move_up(products, scores);
  }
  return 1.0f;
}

// Below this an exponential is 0 here: it is less than 2^-125.
constexpr float LEAST = -87.0f;

// e^x for x from LEAST to 80, in fewer operations than `exp_of`: one part of ln 2, and a polynomial of degree five. Measured over all
// x from LEAST to 0, the error is 2.1 units of the last place down to -8, and 4.8 at LEAST. The rounding of such an x brings more.
// NaN gives NaN.
__device__ __forceinline__ float exp_above(float x) {
  constexpr float SHIFT = 12582912.0f;
  float shifted = __fmaf_rn(x, 1.44269504f, SHIFT);
  float r = __fmaf_rn(__fsub_rn(shifted, SHIFT), -0.693147182f, x);
  // e^r by relative error, to 2^-23.4, with a constant term of 1.
  const float coefficients[] = {0x1.0fa82p-7f, 0x1.573a6cp-5f, 0x1.555a6cp-3f, 0x1.fffdc6p-2f, 0x1.fffff6p-1f, 1.0f};
  return __fmul_rn(polynomial(r, coefficients), __uint_as_float((__float_as_uint(shifted) << 23) + 0x3f800000u));
}

__device__ __forceinline__ float exp_or_zero(float x) { return x < LEAST ? 0.0f : exp_above(x); }

// A value of each of the four lanes that share lines.
template <class Join>
__device__ __forceinline__ float all_of_line(float value) {
  value = Join::join(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return Join::join(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

// Rounds a warp's lines of results, and stores them by way of `memory`, which has a tile's size and which no other warp reads. A line's
// chunks then leave side by side. `of` says where lines end; its address is not read.
template <DType TYPE, uint32_t D>
__device__ __forceinline__ void store_lines(
    const float (&sums)[D / 8][4], uint8_t* memory, const Lines& of, uint32_t first, void* to) {
  uint8_t* own = memory + warp_line() * (D * 2);
#pragma unroll
  for (uint32_t n = 0; n < D / 8; n++) {
    *(uint32_t*)(own + chunk_at<D>(line_of(0), n) + lane_of() % 4 * 4) = packed<TYPE>(sums[n][0], sums[n][1]);
    *(uint32_t*)(own + chunk_at<D>(line_of(2), n) + lane_of() % 4 * 4) = packed<TYPE>(sums[n][2], sums[n][3]);
  }
  __syncwarp();
#pragma unroll 1
  for (uint32_t i = lane_of(); i < WARP_LINES * (D / GROUP); i += 32) {
    uint32_t line = i / (D / GROUP), chunk = i % (D / GROUP), at = first + warp_line() + line;
    if (at >= of.count || chunk * GROUP >= of.width) continue;
    uint4 codes = *(const uint4*)(own + chunk_at<D>(line, chunk));
    uint64_t element = of.start + (uint64_t)at * of.width + chunk * GROUP;
    store_16((uint16_t*)to + element, codes.x, codes.y, codes.z, codes.w);
  }
  __syncwarp();
}
