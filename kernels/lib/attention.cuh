// Attention in tiles of scores: 64 lines by 64 terms, which are queries and keys or keys and queries. Of 256 threads each has four by
// four.
#pragma once
#include "math.cuh"
#include "product.cuh"
#include "reduce.cuh"
#include "softmax.cuh"

// Operands and extents as the host describes them: `AttentionBits` of `structs.rs`.
struct Attention {
  const void *query, *key, *value, *mask;
  // Of the mask: neighbouring places that share a matrix, and matrices.
  uint64_t repeats, matrices;
  // Queries and keys of a place, elements of each, and elements of a value.
  uint32_t rows, key_count, width, columns;
  DType dtype, mask_dtype;
  // 1 if the mask has a row for each query; 1 if a query attends to no later key.
  uint32_t mask_has_rows, causal;
  float scale;
  uint32_t unused;
};

static_assert(sizeof(Attention) == 88, "as `structs.rs`");

// Lines and terms of a tile, terms of a dot product in a stage, and lines or terms of a thread.
constexpr uint32_t TILE = 64, TERMS = 16, EACH = 4;

// Floats from one term to the next: four more than there are, so that threads of a warp meet in few banks.
constexpr uint32_t PITCH = TILE + 4;

// Matrices of one operand's place: `count` lines of `width` elements.
struct Lines {
  const void* from;
  DType dtype;
  uint32_t count, width;
  uint64_t start;

  __device__ __forceinline__ float at(uint32_t line, uint32_t i) const {
    return line < count && i < width ? load(from, dtype, start + (uint64_t)line * width + i) : 0.0f;
  }
};

// The place of a block, its first line, and its first column.
struct Tile {
  uint64_t place;
  uint32_t first, column;
};

// One tile for each 64 of `lines` and each 64 of `columns`, place by place.
__device__ __forceinline__ Tile tile_of(uint32_t lines, uint32_t columns) {
  uint32_t tiles = (lines + TILE - 1) / TILE, chunks = (columns + TILE - 1) / TILE, number = blockIdx.x / chunks;
  return {number / tiles, number % tiles * TILE, blockIdx.x % chunks * TILE};
}

// The first line and the first term of a thread.
__device__ __forceinline__ uint32_t down() { return threadIdx.x / 16 * EACH; }
__device__ __forceinline__ uint32_t across() { return threadIdx.x % 16 * EACH; }

__device__ __forceinline__ Lines queries_of(const Attention& of, const void* from, uint32_t width, uint64_t place) {
  return {from, of.dtype, of.rows, width, place * of.rows * width};
}

__device__ __forceinline__ Lines keys_of(const Attention& of, const void* from, uint32_t width, uint64_t place) {
  return {from, of.dtype, of.key_count, width, place * of.key_count * width};
}

// The end of the keys that the tile's queries attend to.
__device__ __forceinline__ uint32_t end_of_keys(const Attention& of, uint32_t first_query) {
  uint32_t end = first_query + TILE;
  return of.causal && end < of.key_count ? end : of.key_count;
}

// A place's matrix of the mask: its first element, and elements from a query's row to the next, none where all share one.
struct MaskRows {
  uint64_t start;
  uint32_t step;
};

// A launch has less than 2^32 places.
__device__ __forceinline__ MaskRows mask_of(const Attention& of, uint64_t place) {
  uint32_t matrix = (uint32_t)place / (uint32_t)of.repeats % (uint32_t)of.matrices, rows = of.mask_has_rows ? of.rows : 1;
  return {(uint64_t)matrix * rows * of.key_count, of.mask_has_rows ? of.key_count : 0u};
}

// The score of a query and a key from their product; minus infinity where the query does not attend to the key.
__device__ __forceinline__ float score(const Attention& of, const MaskRows& mask, uint32_t query, uint32_t key, float product) {
  if (query >= of.rows || key >= of.key_count || (of.causal && key > query)) return nothing();
  float score = __fmul_rn(product, of.scale);
  if (of.mask == nullptr) return score;
  return __fadd_rn(score, load(of.mask, of.mask_dtype, mask.start + (uint64_t)query * mask.step + key));
}

using Stage = float[TERMS][PITCH];

// Sums of products of a thread's lines of `a` and `b`, each by one fma a term, in order.
__device__ __forceinline__ void add_products(const Stage& a, const Stage& b, float (&sums)[EACH][EACH]) {
#pragma unroll 4
  for (uint32_t term = 0; term < TERMS; term++) {
    float4 x = *(const float4*)&a[term][down()], y = *(const float4*)&b[term][across()];
    float lines[EACH] = {x.x, x.y, x.z, x.w}, others[EACH] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (uint32_t i = 0; i < EACH; i++) {
#pragma unroll
      for (uint32_t j = 0; j < EACH; j++) sums[i][j] = __fmaf_rn(lines[i], others[j], sums[i][j]);
    }
  }
}

__device__ __forceinline__ void clear(float (&sums)[EACH][EACH]) {
#pragma unroll
  for (uint32_t i = 0; i < EACH; i++) {
#pragma unroll
    for (uint32_t j = 0; j < EACH; j++) sums[i][j] = 0.0f;
  }
}

// Products of the lines of `a` from `first_a` on with those of `b`, as wide as both are. All threads must come.
__device__ __forceinline__ void dot_products(
    Stage (&stages)[2], const Lines& a, uint32_t first_a, const Lines& b, uint32_t first_b, float (&sums)[EACH][EACH]) {
  clear(sums);
#pragma unroll 1
  for (uint32_t term = 0; term < a.width; term += TERMS) {
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < TILE * TERMS; i += THREADS) {
      uint32_t line = i / TERMS, at = i % TERMS;
      stages[0][at][line] = a.at(first_a + line, term + at);
      stages[1][at][line] = b.at(first_b + line, term + at);
    }
    __syncthreads();
    add_products(stages[0], stages[1], sums);
    // Before others are written there.
    __syncthreads();
  }
}

// A value of each thread of the sixteen that share lines.
template <class Join>
__device__ __forceinline__ float all_across(float value) {
#pragma unroll 1
  for (int distance = 8; distance > 0; distance /= 2) {
    value = Join::join(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

struct RoundedSum {
  __device__ static float join(float a, float b) { return __fadd_rn(a, b); }
};

// The result that a sum of weighted lines is: weights times values or gradients, or slopes times keys or queries.
enum Result { OUTPUT, OF_QUERY, OF_KEY, OF_VALUE };

// Inputs of a sum besides the operands: two statistics of each query, the mean of its gradient, and the output's gradient.
struct SumInputs {
  const float *statistics, *means;
  const void* grad;
};

template <Result RESULT>
__device__ __forceinline__ void weighted_sums(const Attention& of, const SumInputs& given, void* to) {
  constexpr bool BY_KEY = RESULT == OF_KEY || RESULT == OF_VALUE, SLOPES = RESULT == OF_QUERY || RESULT == OF_KEY;
  __shared__ __align__(16) Stage stages[2];
  __shared__ __align__(16) float weights[TILE][PITCH];
  uint32_t columns = SLOPES ? of.width : of.columns, lines = BY_KEY ? of.key_count : of.rows;
  Tile tile = tile_of(lines, columns);
  Lines query = queries_of(of, of.query, of.width, tile.place), grad = queries_of(of, given.grad, of.columns, tile.place);
  Lines key = keys_of(of, of.key, of.width, tile.place), value = keys_of(of, of.value, of.columns, tile.place);
  Lines summed = RESULT == OUTPUT ? value : RESULT == OF_QUERY ? key : RESULT == OF_KEY ? query : grad;
  uint64_t first_query = tile.place * of.rows;
  MaskRows mask = mask_of(of, tile.place);

  float sums[EACH][EACH];
  clear(sums);
  // Queries before a tile of keys attend to none of it.
  uint32_t term = BY_KEY && of.causal ? tile.first : 0, end = BY_KEY ? of.rows : end_of_keys(of, tile.first);
#pragma unroll 1
  for (; term < end; term += TILE) {
    float scores[EACH][EACH], slopes[EACH][EACH];
    if (BY_KEY) dot_products(stages, key, tile.first, query, term, scores);
    else dot_products(stages, query, tile.first, key, term, scores);
    if (SLOPES && BY_KEY) dot_products(stages, value, tile.first, grad, term, slopes);
    else if (SLOPES) dot_products(stages, grad, tile.first, value, term, slopes);
#pragma unroll
    for (uint32_t i = 0; i < EACH; i++) {
#pragma unroll
      for (uint32_t j = 0; j < EACH; j++) {
        uint32_t line = tile.first + down() + i, other = term + across() + j;
        uint32_t of_query = BY_KEY ? other : line, of_key = BY_KEY ? line : other;
        float own = score(of, mask, of_query, of_key, scores[i][j]), weight = 0.0f;
        if (own != nothing()) {
          const float* of_row = given.statistics + 2 * (first_query + of_query);
          weight = exp_of(__fsub_rn(__fsub_rn(own, of_row[0]), of_row[1]));
          if (SLOPES) {
            float slope = __fsub_rn(slopes[i][j], given.means[first_query + of_query]);
            weight = __fmul_rn(__fmul_rn(weight, slope), of.scale);
          }
        }
        weights[across() + j][down() + i] = weight;
      }
    }
#pragma unroll 1
    for (uint32_t part = 0; part < TILE; part += TERMS) {
#pragma unroll 1
      for (uint32_t i = threadIdx.x; i < TILE * TERMS; i += THREADS) {
        uint32_t at = i / TILE, column = i % TILE;
        stages[0][at][column] = summed.at(term + part + at, tile.column + column);
      }
      __syncthreads();
      add_products(*(const Stage*)weights[part], stages[0], sums);
      __syncthreads();
    }
  }
#pragma unroll
  for (uint32_t i = 0; i < EACH; i++) {
#pragma unroll
    for (uint32_t j = 0; j < EACH; j++) {
      uint32_t line = tile.first + down() + i, column = tile.column + across() + j;
      if (line >= lines || column >= columns) continue;
      uint64_t at = (tile.place * lines + line) * columns + column;
      put<SIXTEEN_AND_32>(to, of.dtype, at, code_of<SIXTEEN_AND_32>(of.dtype, sums[i][j]));
    }
  }
}
