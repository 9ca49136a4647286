// Looks at every gradient of a set as it is and as it will be once multiplied by the scale's inverse: what is not
// finite, how large the rest is, and the sum of squares for clipping. Nothing is written to the gradients.
//
// Oracle: `cases/unscale.rs`; agreement: bits, and for the sum of squares (f64, in a fixed order) the bound of its terms.
//
// `unscale`: a block of 256 for each chunk of the set's rows, at least one block; the block that is done last joins what
// the others left in `partials`, one each, and writes `found` and `owed`. `done` is a counter that is 0 before and after.
// `from` is the number of the first block's chunk: 0 but in tests of far indices.
//
// A chunk is read once, and one with an infinity or a NaN again: see `lib/inspect.cuh`.
#include "lib/inspect.cuh"

struct Row {
  const void* values;
  // 0 where the gradient is there for certain; otherwise it is only if this is not 0.
  const uint32_t* present;
  uint64_t len, first_chunk;
  uint32_t parameter;
  DType dtype;
};

static_assert(sizeof(Row) == 40, "as `structs.rs`");

extern "C" __global__ void __launch_bounds__(THREADS, 6) unscale(
    const Row* rows, uint32_t row_count, uint64_t from, uint64_t chunks, uint64_t chunk_len, const Scale* scale,
    Partial* partials, uint32_t* done, Found* found, Owed* owed) {
  Partial partial = {0.0, 0, 0, 0, 0, 0, 0, 0};
  if (from + blockIdx.x < chunks) {
    Chunk chunk = chunk_of(rows, row_count, from + blockIdx.x, chunk_len);
    // A copy, so that its fields stay in registers: read through a reference, they cost a quarter of the loads on their way.
    const Row row = rows[chunk.row];
    if (row.present == nullptr || *row.present != 0) {
      partial = quick(row, chunk, scale, [](const float (&)[GROUP]) {});
      // Found once more, since `quick` needs the registers that would hold it.
      if (partial.bad) careful(rows, chunk_of(rows, row_count, from + blockIdx.x, chunk_len), scale->inverse, partial);
    }
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = partial;
  if (is_last_block(done)) join(rows, partials, scale, found, owed);
}
// sass: unscale loads 4 read 2 slots 203 flight 96
// sass: unscale loads 1 slots 76
// sass: unscale loads 2 read 2 slots 62
