// Attention and its gradients on Tensor Cores of 8.0 and later, for f16 and bf16, f32 inside: widths of queries and of values are
// multiples of eight up to 128, and operands and results begin at multiples of 16 bytes.
//
// requires: compute_80
// Oracle: `cases/scaled_dot_product_attention.rs`; agreement: within four times the bound for rounding, which Tensor Cores need, with
// weights and gradients of scores rounded to the element type. Bits follow from the operands alone.
//
// `scaled_dot_product_attention_80_TYPE_D`: D is 64 or 128, and neither width is more. A block of 128 for each tile of 64 queries, and
// 256 D bytes of shared memory. `.._backward_of_query`: the same. `.._backward_of_key_value`: a block for each tile of 64 keys, and
// 384 D bytes at 64, 512 D at 128. Tiles are numbered place by place.
//
// FlashAttention-2 (Dao 2023, arXiv 2307.08691): scores never leave the registers. Forward is one pass: where a tile has a larger
// score, what was summed before is multiplied by the exponential of the difference. A tile of values comes while scores are computed,
// and the next tile of keys while values are summed. Gradients compute weights again from the logarithms. No sum is atomic: a kernel
// goes over the keys of its queries, and another over the queries of its keys.
#include "lib/attention_80.cuh"

// A lane's two lines so far: the largest score, and its own share of the sum of exponentials.
struct OnlineSoftmax {
  float max[2], sum[2];

  // Makes exponentials of scores, which are `unit` times what is given. Returns by what to multiply earlier sums.
  template <uint32_t N>
  __device__ __forceinline__ float2 next(float (&scores)[N][4], float unit) {
    float factors[2];
#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
      float largest = nothing(), own = 0.0f;
#pragma unroll
      for (uint32_t n = 0; n < N; n++) largest = fmaxf(largest, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
      largest = fmaxf(max[half], __fmul_rn(all_of_line<Max>(largest), unit));
      // Without any key yet there is nothing to be less than.
      float base = largest == nothing() ? 0.0f : largest;
#pragma unroll
      for (uint32_t n = 0; n < N; n++) {
#pragma unroll
        for (uint32_t i = 2 * half; i < 2 * half + 2; i++) {
          scores[n][i] = exp_or_zero(__fmaf_rn(scores[n][i], unit, -base));
          own = __fadd_rn(own, scores[n][i]);
        }
      }
      factors[half] = exp_or_zero(__fsub_rn(max[half], base));
      sum[half] = __fmaf_rn(sum[half], factors[half], own), max[half] = largest;
    }
    return make_float2(factors[0], factors[1]);
  }
};

template <uint32_t N>
__device__ __forceinline__ void multiply_lines(float (&sums)[N][4], float2 by) {
#pragma unroll
  for (uint32_t n = 0; n < N; n++) {
    sums[n][0] = __fmul_rn(sums[n][0], by.x), sums[n][1] = __fmul_rn(sums[n][1], by.x);
    sums[n][2] = __fmul_rn(sums[n][2], by.y), sums[n][3] = __fmul_rn(sums[n][3], by.y);
  }
}

// Leaves the largest scores, and the logarithms of the sums. Returns what each line is to be multiplied by.
__device__ __forceinline__ float2 finish(const OnlineSoftmax& online, const Lines& query, uint32_t first, uint64_t place, float* statistics) {
  float factors[2];
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) {
    float sum = all_of_line<RoundedSum>(online.sum[half]);
    // A sum of 0 beside another largest score comes of one that is infinite: its line is NaN.
    bool is_empty = sum == 0.0f && online.max[half] == nothing(), is_nan = !(sum > 0.0f) && !is_empty;
    uint32_t line = first + warp_line() + line_of(2 * half);
    if (lane_of() % 4 == 0 && line < query.count) {
      float* to = statistics + 2 * (place * query.count + line);
      to[0] = is_nan ? __uint_as_float(0x7fc00000u) : online.max[half], to[1] = is_nan ? __uint_as_float(0x7fc00000u) : log_of(sum);
    }
    factors[half] = is_empty ? 0.0f : __frcp_rn(sum);
  }
  return make_float2(factors[0], factors[1]);
}

template <DType TYPE, uint32_t D>
__device__ __forceinline__ void attend(const Attention& of, float* statistics, void* to) {
  extern __shared__ __align__(256) uint8_t memory[];
  Tile tile = tile_of(of.rows, 1);
  Lines query = queries_of(of, of.query, of.width, tile.place);
  Copies<D, TILE> of_query(query, tile.first), of_key(keys_of(of, of.key, of.width, tile.place), 0);
  Copies<D, TILE> of_value(keys_of(of, of.value, of.columns, tile.place), 0);
  uint32_t keys = shared_address(memory), values = keys + TILE_BYTES<D, TILE>;

  of_query.bring(values);
  of_key.bring(keys);
  wait_for_copies();
  __syncthreads();
  LineFragments<D, true> queries(values);
  OnlineSoftmax online = {{nothing(), nothing()}, {0.0f, 0.0f}};
  float sums[D / 8][4];
  clear(sums);
#pragma unroll 1
  for (uint32_t first = 0, end = end_of_keys(of, tile.first); first < end; first += TILE) {
    wait_for_copies();
    // The keys are there, and nobody reads values any more.
    __syncthreads();
    of_value.bring(values);
    float scores[TILE / 8][4];
    products_of<TYPE>(queries, keys, scores);
    wait_for_copies();
    __syncthreads();
    of_key.bring(keys);
    float unit = scored<false>(of, tile.place, tile.first + warp_line(), first, scores);
    multiply_lines(sums, online.next(scores, unit));
    uint32_t weights[TILE / 16][4];
#pragma unroll
    for (uint32_t n = 0; n < TILE / 8; n++) put_weights<TYPE>(scores[n], n, weights);
    add_weighted<TYPE, D>(weights, values, sums);
  }
  wait_for_copies();
  __syncthreads();
  multiply_lines(sums, finish(online, query, tile.first, tile.place, statistics));
  store_lines<TYPE, D>(sums, memory, queries_of(of, to, of.columns, tile.place), tile.first, to);
}

// Terms of a tile of gradients: half of a block's lines, so that weights and slopes leave room for the sums in registers.
constexpr uint32_t GRAD_TERMS = TILE / 2;

// Numbers of a query for weights and their gradients: the largest score, the logarithm of the sum, and the mean of the gradient.
struct QueryNumbers {
  float largest, log_sum, mean;
};

__device__ __forceinline__ QueryNumbers numbers_of(const Attention& of, const SumInputs& given, uint64_t place, uint32_t query) {
  if (query >= of.rows) return {0.0f, 0.0f, 0.0f};
  uint64_t at = place * of.rows + query;
  return {given.statistics[2 * at], given.statistics[2 * at + 1], given.means[at]};
}

// Numbers of a query for `weigh`, with the mean times the scale. A query without any key has minus infinity twice: infinity in the
// largest score's place gives each of its scores an exponential of 0.
__device__ __forceinline__ QueryNumbers prepared(const QueryNumbers& of, float scale) {
  bool is_empty = of.log_sum == nothing();
  return {is_empty ? -nothing() : of.largest, is_empty ? 0.0f : of.log_sum, __fmul_rn(of.mean, scale)};
}

// Makes a weight of a score, and of its slope the score's gradient. What has no weight has none, whatever its slope.
__device__ __forceinline__ void weigh(float& score, float& slope, float unit, float factor, const QueryNumbers& of) {
  float x = __fsub_rn(__fmaf_rn(score, unit, -of.largest), of.log_sum), weight = exp_above(x);
  float gradient = __fmul_rn(weight, __fmaf_rn(slope, factor, -of.mean));
  score = x < LEAST ? 0.0f : weight, slope = x < LEAST ? 0.0f : gradient;
}

// QueryNumbers of the queries that are a tile's terms, one thread's of each: loaded a tile ahead, and shared once they have come.
struct TermNumbers {
  QueryNumbers own;

  __device__ __forceinline__ void load(const Attention& of, const SumInputs& given, uint64_t place, uint32_t term) {
    if (threadIdx.x < GRAD_TERMS) own = numbers_of(of, given, place, term + threadIdx.x);
  }
  __device__ __forceinline__ void put(QueryNumbers (&to)[GRAD_TERMS], float factor) {
    if (threadIdx.x < GRAD_TERMS) to[threadIdx.x] = prepared(own, factor);
  }
};

// The gradient of the lines, which are queries, or keys BY_KEY, and that of the keys' values along with it.
template <DType TYPE, uint32_t D, bool BY_KEY>
__device__ __forceinline__ void gradients(const Attention& of, const SumInputs& given, void* to, void* to_value) {
  constexpr uint32_t LINES = TILE_BYTES<D, TILE>, TERMS = TILE_BYTES<D, GRAD_TERMS>, STAGE = 2 * TERMS;
  // Keys have two sums, which leave no room for values in registers, and at 128 columns none for keys.
  constexpr bool HELD = !BY_KEY || D == 64, SLOPES_HELD = !BY_KEY;
  constexpr uint32_t LEFT = (HELD ? 0 : LINES) + (SLOPES_HELD ? 0 : LINES);
  extern __shared__ __align__(256) uint8_t memory[];
  // Of one tile they are read while those of the next are put.
  __shared__ QueryNumbers term_numbers[2][GRAD_TERMS];
  Tile tile = tile_of(BY_KEY ? of.key_count : of.rows, 1);
  Lines query = queries_of(of, of.query, of.width, tile.place), grad = queries_of(of, given.grad, of.columns, tile.place);
  Lines key = keys_of(of, of.key, of.width, tile.place), value = keys_of(of, of.value, of.columns, tile.place);
  uint32_t left = shared_address(memory), stages = left + LEFT, own = tile.first + warp_line();

  // Lines that are held come by way of the stages, which have room for both.
  uint32_t lines = HELD ? stages : left + LINES, lines_of_slopes = SLOPES_HELD ? stages + LINES : left;
  Copies<D, TILE>(BY_KEY ? key : query, tile.first).bring(lines);
  Copies<D, TILE>(BY_KEY ? value : grad, tile.first).bring(lines_of_slopes);
  wait_for_copies();
  __syncthreads();
  LineFragments<D, HELD> line(lines);
  LineFragments<D, SLOPES_HELD> line_of_slopes(lines_of_slopes);
  if (HELD) __syncthreads();

  // Queries before a tile of keys attend to none of it.
  uint32_t term = BY_KEY && of.causal ? tile.first : 0, end = BY_KEY ? of.rows : end_of_keys(of, tile.first), stage = 0;
  Copies<D, GRAD_TERMS> terms(BY_KEY ? query : key, term), terms_of_slopes(BY_KEY ? grad : value, term);
  TermNumbers next = {{0.0f, 0.0f, 0.0f}};
  auto bring = [&](uint32_t first, uint32_t stage) {
    terms.bring(stages + stage * STAGE);
    terms_of_slopes.bring(stages + stage * STAGE + TERMS);
    if (BY_KEY) next.load(of, given, tile.place, first);
  };
  bring(term, 0);
  if (BY_KEY) next.put(term_numbers[0], of.scale);
  QueryNumbers line_numbers[2];
#pragma unroll
  for (uint32_t half = 0; !BY_KEY && half < 2; half++) {
    line_numbers[half] = prepared(numbers_of(of, given, tile.place, own + line_of(2 * half)), of.scale);
  }

  float sums[D / 8][4], value_sums[D / 8][4];
  clear(sums), clear(value_sums);
#pragma unroll 1
  for (; term < end; term += GRAD_TERMS, stage ^= 1) {
    wait_for_copies();
    // This tile is there, and nobody reads the one before any more.
    __syncthreads();
    if (term + GRAD_TERMS < end) bring(term + GRAD_TERMS, stage ^ 1);
    uint32_t here = stages + stage * STAGE;
    float scores[GRAD_TERMS / 8][4], slopes[GRAD_TERMS / 8][4];
    products_of<TYPE>(line, here, scores);
    float unit = scored<BY_KEY>(of, tile.place, own, term, scores);
    products_of<TYPE>(line_of_slopes, here + TERMS, slopes);
    uint32_t weights[GRAD_TERMS / 16][4], score_gradients[GRAD_TERMS / 16][4];
#pragma unroll
    for (uint32_t n = 0; n < GRAD_TERMS / 8; n++) {
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) {
        weigh(scores[n][i], slopes[n][i], unit, of.scale, BY_KEY ? term_numbers[stage][term_of(n, i)] : line_numbers[i / 2]);
      }
      put_weights<TYPE>(scores[n], n, weights);
      put_weights<TYPE>(slopes[n], n, score_gradients);
    }
    if (BY_KEY) add_weighted<TYPE, D>(weights, here + TERMS, value_sums);
    add_weighted<TYPE, D>(score_gradients, here, sums);
    if (BY_KEY) next.put(term_numbers[stage ^ 1], of.scale);
  }
  wait_for_copies();
  __syncthreads();
  store_lines<TYPE, D>(sums, memory, BY_KEY ? key : query, tile.first, to);
  if (BY_KEY) store_lines<TYPE, D>(value_sums, memory, value, tile.first, to_value);
}

#define ENTRIES(type, code, d)                                                                                             \
  extern "C" __global__ void __launch_bounds__(128, d == 64 ? 3 : 2) scaled_dot_product_attention_80_##type##_##d(                         \
      const Attention of, float* statistics, void* to) {                                                                     \
    attend<code, d>(typed<code>(of), statistics, to);                                                                        \
  }                                                                                                                        \
  extern "C" __global__ void __launch_bounds__(128, d == 64 ? 3 : 2) scaled_dot_product_attention_80_##type##_##d##_backward_of_query(     \
      const Attention of, const void* grad, const float* statistics, const float* means, void* to) {                         \
    gradients<code, d, false>(typed<code>(of), {statistics, means, grad}, to, nullptr);                                        \
  }                                                                                                                        \
  extern "C" __global__ void __launch_bounds__(128, d == 64 ? 3 : 2) scaled_dot_product_attention_80_##type##_##d##_backward_of_key_value( \
      const Attention of, const void* grad, const float* statistics, const float* means, void* to, void* to_value) {         \
    gradients<code, d, true>(typed<code>(of), {statistics, means, grad}, to, to_value);                                        \
  }

ENTRIES(bf16, BF16, 64)
ENTRIES(bf16, BF16, 128)
ENTRIES(f16, F16_, 64)
ENTRIES(f16, F16_, 128)
// sass: scaled_dot_product_attention_80_bf16_64 loads 8 hmma 64 slots 535
// sass: scaled_dot_product_attention_80_bf16_64 stores 1 slots 29
// sass: scaled_dot_product_attention_80_bf16_64_backward_of_query loads 4 hmma 48 slots 429
// sass: scaled_dot_product_attention_80_bf16_64_backward_of_query stores 1 slots 24
// sass: scaled_dot_product_attention_80_bf16_64_backward_of_key_value loads 4 hmma 64 slots 533
// sass: scaled_dot_product_attention_80_bf16_64_backward_of_key_value stores 1 slots 25
// sass: scaled_dot_product_attention_80_bf16_128 loads 16 hmma 128 slots 704
// sass: scaled_dot_product_attention_80_bf16_128 stores 1 slots 29
// sass: scaled_dot_product_attention_80_bf16_128_backward_of_query loads 8 hmma 96 slots 529
// sass: scaled_dot_product_attention_80_bf16_128_backward_of_query stores 1 slots 25
// sass: scaled_dot_product_attention_80_bf16_128_backward_of_key_value loads 8 hmma 128 slots 679
// sass: scaled_dot_product_attention_80_bf16_128_backward_of_key_value stores 1 slots 25
// sass: scaled_dot_product_attention_80_f16_64 loads 8 hmma 64 slots 538
// sass: scaled_dot_product_attention_80_f16_64 stores 1 slots 29
// sass: scaled_dot_product_attention_80_f16_64_backward_of_query loads 4 hmma 48 slots 428
// sass: scaled_dot_product_attention_80_f16_64_backward_of_query stores 1 slots 24
// sass: scaled_dot_product_attention_80_f16_64_backward_of_key_value loads 4 hmma 64 slots 525
// sass: scaled_dot_product_attention_80_f16_64_backward_of_key_value stores 1 slots 25
// sass: scaled_dot_product_attention_80_f16_128 loads 16 hmma 128 slots 704
// sass: scaled_dot_product_attention_80_f16_128 stores 1 slots 29
// sass: scaled_dot_product_attention_80_f16_128_backward_of_query loads 8 hmma 96 slots 528
// sass: scaled_dot_product_attention_80_f16_128_backward_of_query stores 1 slots 25
// sass: scaled_dot_product_attention_80_f16_128_backward_of_key_value loads 8 hmma 128 slots 682
// sass: scaled_dot_product_attention_80_f16_128_backward_of_key_value stores 1 slots 25
