// The join of partial sums by row, where a block has many rows to join: a team of threads for each row in turn.
#pragma once
#include "reduce.cuh"

// Threads that join the chunks of one row.
constexpr uint32_t TEAM = 8;

// Calls `work(row, chunk, end)` for each row: a team's thread begins at its `chunk`, goes on by TEAM, and stops before `end`. All threads come
// as often; for those without a row, which have numbers from `count` on, there is no chunk. `chunks` is the number of all chunks.
template <class Row, class Work>
__device__ __forceinline__ void each_row_of_teams(const Row* rows, uint32_t count, uint64_t chunks, Work work) {
  for (uint32_t first = 0; first < count; first += THREADS / TEAM) {
    uint32_t row = first + threadIdx.x / TEAM;
    uint64_t chunk = chunks, end = chunks;
    if (row < count) chunk = rows[row].first_chunk + threadIdx.x % TEAM;
    if (row + 1 < count) end = rows[row + 1].first_chunk;
    work(row, chunk, end);
  }
}

// Joins a value of each of a team's threads; the first gets the result.
template <class Join, class T>
__device__ __forceinline__ T team_join(T value) {
  for (uint32_t distance = TEAM / 2; distance > 0; distance /= 2) {
    value = Join::join(value, __shfl_down_sync(0xffffffffu, value, distance, TEAM));
  }
  return value;
}
