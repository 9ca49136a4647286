// A stable sort of positions by the index there, eight bits of it at a time from the lowest on: a pass counts how often each
// digit occurs in each chunk of positions, places the digits' parts one behind the other, and moves the positions there.
//
// Atomics add integers alone, and where a position goes follows from counts and from what stands before it: the result is the
// one stable order, whatever the grid and the chunks.
#pragma once
#include "reduce.cuh"

// What is sorted by. Indices that point nowhere come last, as if to one row more.
struct Keys {
  const int64_t* indices;
  uint64_t rows;

  // Negative ones are large ones.
  __device__ __forceinline__ bool is_row(uint64_t position) const { return (uint64_t)indices[position] < rows; }
  __device__ __forceinline__ uint64_t of(uint64_t position) const { return min((uint64_t)indices[position], rows); }
};

// As many digits as a block has threads.
constexpr uint32_t DIGITS = THREADS, WARPS = THREADS / 32;

// One pass.
struct Order {
  Keys keys;
  // What the pass before has left, or none.
  const uint64_t* from;
  // Elements of a chunk are a multiple of THREADS.
  uint64_t count, chunk_len;
  uint32_t shift;

  __device__ __forceinline__ uint64_t position(uint64_t i) const { return from == nullptr ? i : from[i]; }
  __device__ __forceinline__ uint32_t digit(uint64_t position) const {
    return (uint32_t)(keys.of(position) >> shift) % DIGITS;
  }
  __device__ __forceinline__ uint64_t chunks() const { return (count + chunk_len - 1) / chunk_len; }
};

// How often each digit occurs in each chunk, chunk by chunk; `look` sees each position.
template <class Look>
__device__ __forceinline__ void count_digits(const Order& order, uint32_t* counts, Look look) {
  __shared__ uint32_t seen[DIGITS];
  for (uint64_t chunk = blockIdx.x; chunk < order.chunks(); chunk += gridDim.x) {
    seen[threadIdx.x] = 0;
    __syncthreads();
    uint64_t start = chunk * order.chunk_len, end = min(start + order.chunk_len, order.count);
    for (uint64_t i = start + threadIdx.x; i < end; i += THREADS) {
      uint64_t position = order.position(i);
      look(position);
      atomicAdd(&seen[order.digit(position)], 1u);
    }
    __syncthreads();
    counts[chunk * DIGITS + threadIdx.x] = seen[threadIdx.x];
  }
  __threadfence();
  __syncthreads();
}

// The block that is last to come says where each chunk's positions of each digit go: behind all lower digits, and behind the
// same digit's of the chunks before. A digit a thread.
__device__ __forceinline__ void
place_digits(const Order& order, const uint32_t* counts, uint64_t* firsts, uint32_t* done) {
  if (!is_last_block(done)) return;
  __shared__ uint64_t totals[DIGITS];
  uint64_t chunks = order.chunks(), total = 0, first = 0;
#pragma unroll 4
  for (uint64_t chunk = 0; chunk < chunks; chunk++) total += counts[chunk * DIGITS + threadIdx.x];
  totals[threadIdx.x] = total;
  __syncthreads();
  for (uint32_t lower = 0; lower < threadIdx.x; lower++) first += totals[lower];
#pragma unroll 4
  for (uint64_t chunk = 0; chunk < chunks; chunk++) {
    firsts[chunk * DIGITS + threadIdx.x] = first;
    first += counts[chunk * DIGITS + threadIdx.x];
  }
}

// Writes the positions where they go. Each warp has a part of a chunk, and goes through it twice: to count, and then to move.
__device__ __forceinline__ void move_positions(const Order& order, const uint64_t* firsts, uint64_t* to) {
  __shared__ uint64_t next[WARPS][DIGITS];
  uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (uint64_t chunk = blockIdx.x; chunk < order.chunks(); chunk += gridDim.x) {
    for (uint32_t each = 0; each < WARPS; each++) next[each][threadIdx.x] = 0;
    __syncthreads();
    uint64_t part = order.chunk_len / WARPS, start = chunk * order.chunk_len + warp * part;
    uint64_t end = min(start + part, order.count);
#pragma unroll 1
    for (uint32_t pass = 0; pass < 2; pass++) {
      for (uint64_t i = start + lane; i - lane < end; i += 32) {
        bool is_there = i < end;
        uint64_t position = is_there ? order.position(i) : 0;
        uint32_t digit = is_there ? order.digit(position) : DIGITS;
        uint32_t same = __match_any_sync(0xffffffffu, digit), before = __popc(same & ((1u << lane) - 1));
        if (is_there && pass == 1) to[next[warp][digit] + before] = position;
        __syncwarp();
        if (is_there && before == 0) next[warp][digit] += __popc(same);
        __syncwarp();
      }
      __syncthreads();
      if (pass == 1) break;
      uint64_t first = firsts[chunk * DIGITS + threadIdx.x];
      for (uint32_t each = 0; each < WARPS; each++) {
        uint64_t count = next[each][threadIdx.x];
        next[each][threadIdx.x] = first, first += count;
      }
      __syncthreads();
    }
  }
}

// Where the first sorted position of this key or a later one is.
__device__ __forceinline__ uint64_t
start_of(const Keys& keys, const uint64_t* sorted, uint64_t count, uint64_t key) {
  uint64_t low = 0, high = count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (keys.of(sorted[middle]) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
