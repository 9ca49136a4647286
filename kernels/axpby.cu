// A set of tensors times a number, plus another set times another, in f32, and the finding of the results.
//
// Oracle: `cases/multi_tensor.rs`; agreement: bits.
//
// `axpby`: a block of 256 for each chunk of the rows, at least one block; the block that is done last joins what the others left in
// `partials`, one each, and writes `found`. `done` is a counter that is 0 before and after. A row without `y` is `a * x`.
//
// Each product is rounded, and then their sum, so that every device gives the same bits. An operand that is not finite makes its result
// so, whatever the factors: the results alone are looked at.
#include "lib/reduce.cuh"
#include "lib/state.cuh"

struct Row {
  const void* x;
  // 0 where nothing is added.
  const void* y;
  float* result;
  uint64_t len, first_chunk;
  uint32_t parameter;
  DType x_dtype, y_dtype;
  uint32_t pad;
};

struct Partial {
  // Of the first result that is not finite, or `NO_INDEX`.
  uint64_t index;
  uint32_t row, magnitude;
  uint32_t infinities, nans;
};

static_assert(sizeof(Row) == 56 && sizeof(Partial) == 24, "as `structs.rs`");

constexpr uint32_t INFINITE = 0x7f800000u;
constexpr uint32_t NOWHERE = 0xffffffffu;
constexpr uint64_t NO_INDEX = ~0ull;

// A thread's share of a finding; `first` counts from the chunk's start.
struct Seen {
  uint32_t magnitude, infinities, nans, first;

  __device__ __forceinline__ void look(float result, uint32_t at) {
    uint32_t bits = __float_as_uint(result) & 0x7fffffffu;
    if (bits < INFINITE) {
      magnitude = Max::join(magnitude, bits);
      return;
    }
    infinities += bits == INFINITE;
    nans += bits > INFINITE;
    first = Min::join(first, at);
  }
};

__device__ __forceinline__ Seen compute(const Row& row, const Chunk& chunk, float a, float b) {
  Seen seen = {0, 0, 0, NOWHERE};
  each_group<SPREAD>(chunk, [&](uint64_t i, uint32_t count) {
    float x[GROUP], y[GROUP];
    bool is_sum = row.y != nullptr;
    load_spread(row.x, row.x_dtype, i, count, x);
    if (is_sum) load_spread(row.y, row.y_dtype, i, count, y);
#pragma unroll
    for (uint32_t k = 0; k < GROUP; k++) {
      x[k] = __fmul_rn(a, x[k]);
      if (is_sum) x[k] = __fadd_rn(x[k], __fmul_rn(b, y[k]));
      // Elements behind the last are products of 0, which are NaN where a factor is infinite.
      if (offset_in<SPREAD>(k) < count) seen.look(x[k], (uint32_t)(i - chunk.start) + offset_in<SPREAD>(k));
    }
    store_spread(row.result, F32, i, count, x);
  });
  return seen;
}

// All partials as one, by the last block.
__device__ __forceinline__ void join(const Row* rows, const Partial* partials, Found* found) {
  uint64_t infinities = 0, nans = 0;
  uint32_t magnitude = 0, first = NOWHERE;
  for (uint32_t i = threadIdx.x; i < gridDim.x; i += THREADS) {
    const Partial& partial = partials[i];
    infinities += partial.infinities;
    nans += partial.nans;
    magnitude = Max::join(magnitude, partial.magnitude);
    if (partial.index != NO_INDEX && first == NOWHERE) first = i;
  }
  infinities = reduce<Sum>(infinities);
  nans = reduce<Sum>(nans);
  magnitude = reduce<Max>(magnitude);
  first = reduce<Min>(first);
  if (threadIdx.x != 0) return;
  Found result = {0, 0, NOBODY, 0, 0, 0.0f, 0.0f, infinities, nans, __uint_as_float(magnitude), 0.0f, 0, 0};
  if (first != NOWHERE) {
    const Row& row = rows[partials[first].row];
    result.raised = 1;
    result.parameter = row.parameter;
    result.index = partials[first].index;
    result.scaled = result.unscaled = row.result[result.index];
  }
  *found = result;
}

extern "C" __global__ void __launch_bounds__(THREADS) axpby(
    const Row* rows, uint32_t row_count, uint64_t chunks, uint64_t chunk_len, float a, float b, Partial* partials,
    uint32_t* done, Found* found) {
  Partial partial = {NO_INDEX, 0, 0, 0, 0};
  if (blockIdx.x < chunks) {
    Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
    Seen seen = compute(rows[chunk.row], chunk, a, b);
    uint32_t first = reduce<Min>(seen.first);
    partial.row = chunk.row;
    partial.index = first == NOWHERE ? NO_INDEX : chunk.start + first;
    partial.magnitude = reduce<Max>(seen.magnitude);
    partial.infinities = reduce<Sum>(seen.infinities);
    partial.nans = reduce<Sum>(seen.nans);
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = partial;
  if (is_last_block(done)) join(rows, partials, found);
}
// sass: axpby loads 4 stores 2 slots 108
