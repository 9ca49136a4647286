// Products of f16 or bf16 matrices on Tensor Cores of 8.0 and later, f32 inside: C = op(A)·op(B) + bias for a batch, of any
// extents, rows and alignment, any of the two transposed as it lies, C in f32 or in the operands' type.
//
// requires: compute_80
// Oracle: `cases/matmul.rs`; agreement: within the bound for Tensor Cores, which drop low bits of the terms they add. An
// element's terms are added in the order of K, sixteen at a time, whatever the tile and the alignment: its bits follow from
// its row of A, its column of B, its bias and the number of ranges that K is cut into alone.
//
// `matmul_80_TYPE_AB`, A and B being t where transposed and n where not: a block of 256 for each tile of 128 by 256, and
// 98304 bytes of shared memory; nt alone adds a bias. `matmul_80_TYPE_small`: a block of 128 for each tile of 64 by 64, and 32768 bytes; either
// operand may be transposed. Tiles are numbered matrix by matrix, and range by range of each one's K.
//
// Four tiles of each operand are in shared memory: while one is multiplied, three are on their way by cp.async, in copies of
// 16, 8 or 4 bytes: the most that an operand's start and rows are multiples of. Where they are odd elements, these are brought
// one by one instead. Where both operands come in 16 bytes, the loop is one in which pointers step from tile to tile.
#include "lib/stream.cuh"

// Tiles of each operand in shared memory.
constexpr uint32_t STAGES = 4;

// `copy_chunk` in copies of 8 or 4 bytes each, which `unit` says. None goes beyond what is left: where nothing is, `anywhere` is
// a place that may be read.
__device__ __forceinline__ void copy_in_parts(uint32_t to, const Piece& piece, const void* anywhere, uint32_t unit) {
#pragma unroll 1
  for (uint32_t at = 0; at < 16; at += unit) {
    uint32_t left = piece.left * 2, bytes = left <= at ? 0 : left - at < unit ? left - at : unit;
    const void* from = bytes == 0 ? anywhere : (const uint8_t*)piece.from + at;
    if (unit == 8) {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to + at), "l"(from), "r"(bytes) : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + at), "l"(from), "r"(bytes) : "memory");
    }
  }
}

__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// All but the STAGES - 2 latest groups have come.
__device__ __forceinline__ void wait_for_next() { asm volatile("cp.async.wait_group 2;" ::: "memory"); }

static_assert(STAGES == 4, "as `wait_for_next` has it");

// Starts to bring the tile that begins with term `k`, in copies of less than 16 bytes where it must be so.
template <uint32_t EXTENT, uint32_t THREADS>
__device__ __forceinline__ void fetch(
    const Operand<EXTENT, THREADS>& operand, uint32_t unit, uint32_t k, uint8_t* tile) {
#pragma unroll 1
  for (uint32_t i = 0; i < operand.PIECES; i++) {
    Piece piece = operand.piece(k, i);
    uint32_t to = shared_address(tile + piece.to);
    if (unit == 16) copy_chunk(to, piece.left == 0 ? operand.matrix : piece.from, piece.left * 2);
    else if (unit >= 4) copy_in_parts(to, piece, operand.matrix, unit);
    else *(uint4*)(tile + piece.to) = gather(piece);
  }
}

// The stage behind one of STAGES in a ring.
template <uint32_t STAGE>
__device__ __forceinline__ uint32_t next_of(uint32_t stage) {
  return stage == (STAGES - 1) * STAGE ? 0 : stage + STAGE;
}

// Adds up `tiles` tiles. `bring(number, stage)` starts to bring each, in order.
//
// The fragments of the next step are loaded between the products of this one: loaded all at once they would fill the queue to
// shared memory, and products would wait behind it.
template <uint32_t STAGE, uint32_t A_BYTES, class Warp, class Bring>
__device__ __forceinline__ void add_up(
    Warp& warp, uint32_t memory, uint32_t tiles, bool a_along_k, bool b_along_k, Bring bring) {
  static_assert(Warp::ACROSS / 2 <= Warp::DOWN, "columns come along with the rows");
  typename Warp::Fragments fragments[2];
  uint32_t filled = 0, read = 0;
  auto load = [&](uint32_t step, uint32_t i, typename Warp::Fragments& to) {
    warp.load_a(memory + read, a_along_k, step, i, to);
    if (i < Warp::ACROSS / 2) warp.load_b(memory + read + A_BYTES, b_along_k, step, i, to);
  };
  auto bring_next = [&](uint32_t tile) {
    if (tile < tiles) bring(tile, filled);
    filled = next_of<STAGE>(filled);
    commit();
  };
#pragma unroll 1
  for (uint32_t ahead = 0; ahead + 1 < STAGES; ahead++) bring_next(ahead);
  wait_for_next();
  __syncthreads();
  if (tiles > 0) {
#pragma unroll
    for (uint32_t i = 0; i < Warp::DOWN; i++) load(0, i, fragments[0]);
  }
#pragma unroll 1
  for (uint32_t tile = 0; tile < tiles; tile++) {
    static_assert(STEPS == 2, "a step, and the step that ends the tile");
#pragma unroll
    for (uint32_t i = 0; i < Warp::DOWN; i++) {
      load(1, i, fragments[1]);
      warp.add(fragments[0], i);
      // In the place of the tile before, which all have read: they have passed the barrier below.
      if (i == 0) bring_next(tile + STAGES - 1);
    }
    // Behind the last tile nothing is, and what is loaded of it again is not used.
    if (tile + 1 < tiles) read = next_of<STAGE>(read);
    wait_for_next();
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < Warp::DOWN; i++) {
      load(0, i, fragments[0]);
      warp.add(fragments[1], i);
    }
  }
  __syncthreads();
}

template <DType TYPE, uint32_t TILE_ROWS, uint32_t TILE_COLUMNS, uint32_t ROWS, uint32_t COLUMNS, bool BIAS>
__device__ __forceinline__ void product(const Product& p, bool a_along_k, bool b_along_k) {
  constexpr uint32_t THREADS = TILE_ROWS / ROWS * (TILE_COLUMNS / COLUMNS) * 32;
  constexpr uint32_t A_BYTES = BYTES<TILE_ROWS>, STAGE = A_BYTES + BYTES<TILE_COLUMNS>;
  using Warp = WarpTile<TYPE, TILE_ROWS, TILE_COLUMNS, ROWS, COLUMNS>;
  static_assert(Warp::WAY_OUT <= STAGES * STAGE, "the way out is the way in");
  extern __shared__ __align__(128) uint8_t memory[];

  Place place = place_of<TILE_ROWS, TILE_COLUMNS>(p);
  Operand<TILE_ROWS, THREADS> a = {
      (const uint16_t*)p.a + place.matrix * p.a_step, p.a_row, p.m, place.row, p.k, a_along_k};
  Operand<TILE_COLUMNS, THREADS> b = {
      (const uint16_t*)p.b + place.matrix * p.b_step, p.b_row, p.n, place.column, p.k, b_along_k};
  uint32_t a_unit = a.unit(), b_unit = b.unit(), at = shared_address(memory);
  Range range = range_of<DEEP>(p, place);
  uint32_t tiles = range.first < range.end ? range.end - range.first : 0;

  Warp warp(a_along_k, b_along_k);
  if (a_unit == 16 && b_unit == 16) {
    Stream<TILE_ROWS, THREADS> of_a(a, range.first * DEEP);
    Stream<TILE_COLUMNS, THREADS> of_b(b, range.first * DEEP);
    add_up<STAGE, A_BYTES>(warp, at, tiles, a_along_k, b_along_k, [&](uint32_t, uint32_t stage) {
      of_a.bring(at + stage);
      of_b.bring(at + stage + A_BYTES);
      of_a.advance();
      of_b.advance();
    });
  } else {
    add_up<STAGE, A_BYTES>(warp, at, tiles, a_along_k, b_along_k, [&](uint32_t tile, uint32_t stage) {
      fetch(a, a_unit, (range.first + tile) * DEEP, memory + stage);
      fetch(b, b_unit, (range.first + tile) * DEEP, memory + stage + A_BYTES);
    });
  }
  Product out = p;
  if (!BIAS) out.bias = nullptr;
  warp.store(out, place, memory);
}

#define LARGE(type, code, name, a_transposed, b_transposed, bias)                                      \
  extern "C" __global__ void __launch_bounds__(256, 1) matmul_80_##type##_##name(const Product p) {    \
    product<code, 128, 256, 64, 64, bias>(p, !a_transposed, b_transposed);                              \
  }

#define SMALL(type, code)                                                                   \
  extern "C" __global__ void __launch_bounds__(128) matmul_80_##type##_small(const Product p) { \
    product<code, 64, 64, 32, 32, true>(p, p.a_transposed == 0, p.b_transposed != 0);         \
  }

LARGE(bf16, BF16, nn, false, false, false)
LARGE(bf16, BF16, nt, false, true, true)
LARGE(bf16, BF16, tn, true, false, false)
SMALL(bf16, BF16)
LARGE(f16, F16_, nn, false, false, false)
LARGE(f16, F16_, nt, false, true, true)
LARGE(f16, F16_, tn, true, false, false)
SMALL(f16, F16_)
// sass: matmul_80_bf16_nn loads 2 hmma 64 slots 266 shared 98304
// sass: matmul_80_bf16_nn loads 6 hmma 64 slots 222 shared 98304
// sass: matmul_80_bf16_nt loads 2 hmma 64 slots 262 shared 98304
// sass: matmul_80_bf16_nt loads 6 hmma 64 slots 221 shared 98304
// sass: matmul_80_bf16_tn loads 2 hmma 64 slots 272 shared 98304
// sass: matmul_80_bf16_tn loads 6 hmma 64 slots 230 shared 98304
// sass: matmul_80_bf16_small loads 2 hmma 16 slots 164 shared 32768
// sass: matmul_80_bf16_small loads 4 hmma 16 slots 153 shared 32768
// sass: matmul_80_f16_nn loads 2 hmma 64 slots 266 shared 98304
// sass: matmul_80_f16_nn loads 6 hmma 64 slots 222 shared 98304
// sass: matmul_80_f16_nt loads 2 hmma 64 slots 262 shared 98304
// sass: matmul_80_f16_nt loads 6 hmma 64 slots 221 shared 98304
// sass: matmul_80_f16_tn loads 2 hmma 64 slots 272 shared 98304
// sass: matmul_80_f16_tn loads 6 hmma 64 slots 230 shared 98304
// sass: matmul_80_f16_small loads 2 hmma 16 slots 164 shared 32768
// sass: matmul_80_f16_small loads 4 hmma 16 slots 153 shared 32768
