// Attention, softmax(factor * Q·Kᵀ + mask) · V for each place, and its gradients, of any extents and in any element type.
//
// Oracle: `cases/scaled_dot_product_attention.rs`; agreement: the bound for rounding: products are f32, added by one fma in the
// order of their terms; exponentials by `math.cuh`; each result is rounded once. Bits follow from the operands alone.
//
// `.._statistics`: a block of 256 for each tile of 64 queries. `.._means`: blocks of 256, a warp for each query, or fewer that stride.
// Each of the others: a block of 256 for each tile of 64 lines, queries or keys, and 64 columns of its result. Tiles are numbered
// place by place.
//
// Scores are never in global memory (Dao 2023, arXiv 2307.08691): a block computes a tile of them after the other, 64 lines by 64
// terms, makes weights of them in shared memory, and multiplies these with 64 columns. Forward takes a query's largest score
// and the logarithm of its sum from a pass of its own, so that all four results are one sum of weighted lines.
#include "lib/attention.cuh"

extern "C" __global__ void __launch_bounds__(256) scaled_dot_product_attention_statistics(const Attention of, float2* to) {
  Tile tile = tile_of(of.rows, 1);
  Lines query = queries_of(of, of.query, of.width, tile.place), key = keys_of(of, of.key, of.width, tile.place);
  MaskRows mask = mask_of(of, tile.place);
  __shared__ __align__(16) Stage stages[2];
  float max[EACH], sum[EACH];
#pragma unroll
  for (uint32_t i = 0; i < EACH; i++) max[i] = nothing(), sum[i] = 0.0f;
#pragma unroll 1
  for (uint32_t first = 0; first < end_of_keys(of, tile.first); first += TILE) {
    float scores[EACH][EACH];
    dot_products(stages, query, tile.first, key, first, scores);
#pragma unroll
    for (uint32_t i = 0; i < EACH; i++) {
      uint32_t query = tile.first + down() + i;
      float largest = max[i];
#pragma unroll
      for (uint32_t j = 0; j < EACH; j++) {
        scores[i][j] = score(of, mask, query, first + across() + j, scores[i][j]);
        largest = fmaxf(largest, scores[i][j]);
      }
      largest = all_across<Max>(largest);
      // Without any key yet there is nothing to be less than.
      float base = largest == nothing() ? 0.0f : largest, own = 0.0f;
#pragma unroll
      for (uint32_t j = 0; j < EACH; j++) own = __fadd_rn(own, exp_of(__fsub_rn(scores[i][j], base)));
      sum[i] = __fmaf_rn(sum[i], exp_of(__fsub_rn(max[i], base)), all_across<RoundedSum>(own));
      max[i] = largest;
    }
  }
#pragma unroll
  for (uint32_t i = 0; i < EACH; i++) {
    uint32_t query = tile.first + down() + i;
    float log_sum = log_of(sum[i]);
    // NaN is passed over by the largest, but not by the sum.
    float largest = log_sum != log_sum ? log_sum : max[i];
    if (across() == 0 && query < of.rows) to[tile.place * of.rows + query] = make_float2(largest, log_sum);
  }
}

// The sum of the products of a query's output and its gradient, both of TYPE.
template <DType TYPE>
__device__ __forceinline__ void means(const void* grad, const void* output, float* to, uint64_t rows, uint64_t width) {
  constexpr uint64_t WARPS = THREADS / 32;
#pragma unroll 1
  for (uint64_t row = blockIdx.x * WARPS + threadIdx.x / 32; row < rows; row += gridDim.x * WARPS) {
    double sum = 0.0;
#pragma unroll 1
    for (uint64_t i = threadIdx.x % 32; i < width; i += 32) {
      sum = __fma_rn((double)load(grad, TYPE, row * width + i), (double)load(output, TYPE, row * width + i), sum);
    }
#pragma unroll 1
    for (int distance = 16; distance > 0; distance /= 2) sum = __dadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, distance));
    if (threadIdx.x % 32 == 0) to[row] = __double2float_rn(sum);
  }
}

extern "C" __global__ void __launch_bounds__(256) scaled_dot_product_attention_means(
    const void* grad, const void* output, DType dtype, float* to, uint64_t rows, uint64_t width) {
  if (dtype == F32) means<F32>(grad, output, to, rows, width);
  else if (dtype == BF16) means<BF16>(grad, output, to, rows, width);
  else means<F16_>(grad, output, to, rows, width);
}

extern "C" __global__ void __launch_bounds__(256) scaled_dot_product_attention(
    const Attention of, const float* statistics, void* to) {
  weighted_sums<OUTPUT>(of, {statistics, nullptr, nullptr}, to);
}

extern "C" __global__ void __launch_bounds__(256) scaled_dot_product_attention_backward_of_query(
    const Attention of, const void* grad, const float* statistics, const float* means, void* to) {
  weighted_sums<OF_QUERY>(of, {statistics, means, grad}, to);
}

extern "C" __global__ void __launch_bounds__(256) scaled_dot_product_attention_backward_of_key(
    const Attention of, const void* grad, const float* statistics, const float* means, void* to) {
  weighted_sums<OF_KEY>(of, {statistics, means, grad}, to);
}

extern "C" __global__ void __launch_bounds__(256) scaled_dot_product_attention_backward_of_value(
    const Attention of, const void* grad, const float* statistics, void* to) {
  weighted_sums<OF_VALUE>(of, {statistics, nullptr, grad}, to);
}
// sass: scaled_dot_product_attention_statistics scalar 1 slots 31; elements go one by one into tiles, of any type and alignment
// sass: scaled_dot_product_attention_means scalar 2 slots 20; a line of one query, element by element
// sass: scaled_dot_product_attention scalar 1 slots 36; elements go one by one into tiles, of any type and alignment
// sass: scaled_dot_product_attention_backward_of_query slots 350; elements go one by one into tiles, of any type and alignment
// sass: scaled_dot_product_attention_backward_of_key slots 347; elements go one by one into tiles, of any type and alignment
// sass: scaled_dot_product_attention_backward_of_value scalar 1 slots 37; elements go one by one into tiles, of any type and alignment
