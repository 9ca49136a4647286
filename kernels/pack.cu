// Copies every gradient of a set into one vector, in its own type, and looks at it on the way: what `unscale` finds, and what it leaves to
// multiply.
//
// Oracle: `cases/unscale.rs`, and the elements themselves; agreement: bits, any NaN for any NaN.
//
// `pack`: a block of 256 for each chunk of the set's rows, at least one block, as `unscale`. A row's `parameter` is what the finding names.
//
// A chunk is read once, and one with an infinity or a NaN again: see `lib/inspect.cuh`.
#include "lib/inspect.cuh"

struct Row {
  const void* values;
  void* to;
  uint64_t len, first_chunk;
  uint32_t parameter;
  DType dtype;
};

static_assert(sizeof(Row) == 40, "as `structs.rs`");

extern "C" __global__ void __launch_bounds__(THREADS) pack(
    const Row* rows, uint32_t row_count, uint64_t chunks, uint64_t chunk_len, const Scale* scale, Partial* partials,
    uint32_t* done, Found* found, Owed* owed) {
  Partial partial = {0.0, 0, 0, 0, 0, 0, 0, 0};
  if (blockIdx.x < chunks) {
    Chunk chunk = chunk_of(rows, row_count, blockIdx.x, chunk_len);
    const Row row = rows[chunk.row];
    uint64_t i = chunk.start + threadIdx.x * GROUP;
    partial = quick(row, chunk, scale, [&](const float (&x)[GROUP]) {
      uint64_t left = chunk.end - i;
      uint32_t code[GROUP];
#pragma unroll
      for (uint32_t k = 0; k < GROUP; k++) {
        // A bf16 is the upper half as it was read.
        uint32_t bits = __float_as_uint(x[k]);
        code[k] = row.dtype == F32 ? bits : row.dtype == BF16 ? bits >> 16 : to_16(F16_, x[k]);
        // Opaque, or the compiler joins codes by `prmt`, which is in no other kernel.
        asm volatile("" : "+r"(code[k]));
      }
      put_group<SIXTEEN_AND_32>(row.to, row.dtype, i, left < GROUP ? (uint32_t)left : GROUP, code);
      i += THREADS * GROUP;
    });
    if (partial.bad) careful(rows, chunk, scale->inverse, partial);
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = partial;
  if (is_last_block(done)) join(rows, partials, scale, found, owed);
}
// sass: pack loads 4 stores 4 read 2 written 2 slots 336
// sass: pack loads 2 stores 2 read 2 written 2 slots 98
