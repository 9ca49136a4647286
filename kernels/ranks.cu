// Meetings of ranks: the header that each states, and the comparison of all, by which a rank that differs halts everyone.
//
// Oracles: `binade_grad_scaler::join_findings`, and the tests `peers` of binade-cuda; agreement: bits.
//
// `rank_header`: one thread writes this rank's header, and counts the meeting. `rank_join`: one thread joins the findings of `all` in
// the order of ranks into `joint`, compares the headers with rank 0's, keeps the first difference for good in `kept`, and halts `joint`
// while there is one. `numbers` turns a place in the set into this device's number of a parameter; it may be null.
// `rank_presence`: a grid of any size strides over parameters. `all` has a flag of each, rank behind rank; `any` and `every` say which
// gradients one rank has at least, and which all have.
//
// The host reads nothing of it in a step: it asks for `kept` where a finding is halted.
#include "lib/merge.cuh"

// `is_shared` asks for equal findings, which are then not added up.
struct Header {
  uint64_t number, call, setting, model;
  uint32_t is_shared, pad[3];
  Scale scale;
  Found found;
};

// First difference between ranks. `what` is 1 for the call, 2 the setting, 3 the scale, 4 the model, 5 the finding; 0 for none.
struct Difference {
  uint32_t what, rank;
  uint64_t pad;
  Header first, other;
};

static_assert(sizeof(Header) == 208 && sizeof(Difference) == 432, "as `structs.rs`");

extern "C" __global__ void rank_header(
    Header* header, uint64_t* meetings, uint64_t call, uint64_t setting, uint64_t model, uint32_t is_shared,
    const Scale* scale, const Found* found) {
  *meetings += 1;
  *header = {*meetings, call, setting, model, is_shared, {0, 0, 0}, *scale, *found};
}

// Returns true if both have the same words, bit by bit.
__device__ __forceinline__ bool is_same(const void* a, const void* b, uint32_t bytes) {
  bool same = true;
  for (uint32_t i = 0; i < bytes / 4; i++) same &= ((const uint32_t*)a)[i] == ((const uint32_t*)b)[i];
  return same;
}

__device__ __forceinline__ uint32_t difference(const Header* a, const Header* b) {
  if (a->number != b->number || a->call != b->call || a->is_shared != b->is_shared) return 1;
  if (a->setting != b->setting) return 2;
  if (!is_same(&a->scale, &b->scale, sizeof(Scale))) return 3;
  if (a->model != b->model) return 4;
  if (a->is_shared && !is_same(&a->found, &b->found, sizeof(Found))) return 5;
  return 0;
}

// The finding, with the rank of its overflow.
__device__ __forceinline__ Found found_on(const Header* all, uint32_t rank) {
  Found found = all[rank].found;
  if (found.raised != 0 && found.rank == 0) found.rank = rank + 1;
  return found;
}

extern "C" __global__ void rank_join(
    const Header* all, uint32_t ranks, Difference* kept, Found* joint, const uint32_t* numbers, uint32_t count) {
  Found found = ranks == 1 || all[0].is_shared ? all[0].found : found_on(all, 0);
#pragma unroll 1
  for (uint32_t rank = 1; rank < ranks; rank++) {
    if (!all[0].is_shared) found = join_findings(found, found_on(all, rank), 0);
    uint32_t what = difference(&all[0], &all[rank]);
    if (what != 0 && kept->what == 0) {
      kept->rank = rank;
      kept->first = all[0];
      kept->other = all[rank];
      kept->what = what;
    }
  }
  if (kept->what != 0) found.halted = 1;
  if (numbers != nullptr && found.parameter < count) found.parameter = numbers[found.parameter];
  *joint = found;
}

extern "C" __global__ void __launch_bounds__(256) rank_presence(
    const uint32_t* all, uint32_t ranks, uint32_t count, uint32_t* any, uint32_t* every) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    uint32_t number = 0, rank = 0;
#pragma unroll 1
    do number += all[rank * count + i] != 0;
    while (++rank < ranks);
    any[i] = number != 0;
    every[i] = number == ranks;
  }
}
// sass: rank_header slots 69
// sass: rank_join slots 17
// sass: rank_presence scalar 3; a flag of each rank in turn, one parameter a thread
