// Composed by `cargo xtask shaders`: change the sources, in `shaders`.

// shaders/lib/half_bits.wgsl
// bf16, f16 and f32 as bits: conversions in integers alone, the same on every driver. WGSL's own leave the rounding and the
// overflow to the driver, and lose the payload of NaN.

const SIGN_BIT = 0x80000000u;
const MAGNITUDE_BITS = 0x7fffffffu;
const INFINITY_BITS = 0x7f800000u;
const QUIET_BIT = 0x00400000u;

// Of an f32's bits. Comparisons of floats are no help: `x != x` is never true here.
fn is_nonfinite(bits: u32) -> bool {
  return (bits & INFINITY_BITS) == INFINITY_BITS;
}

fn is_nan_bits(bits: u32) -> bool {
  return (bits & MAGNITUDE_BITS) > INFINITY_BITS;
}

// Shifts `dropped` bits out, of 1 to 31, and rounds to nearest, ties to even.
fn shifted_out(significand: u32, dropped: u32) -> u32 {
  let kept = significand >> dropped;
  let rest = significand & ((1u << dropped) - 1u);
  let half = 1u << (dropped - 1u);
  let rounds_up = rest > half || (rest == half && (kept & 1u) == 1u);
  return kept + select(0u, 1u, rounds_up);
}

fn f16_of_f32(bits: u32) -> u32 {
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & MAGNITUDE_BITS;
  if (magnitude > INFINITY_BITS) {
    return sign | 0x7e00u | ((magnitude >> 13u) & 0x3ffu);
  }
  let exponent = magnitude >> 23u;
  // 13 bits have no place in an f16, and one more for each binade below its least normal one, 2^-14; at 25 all is gone.
  let dropped = min(max(126u, exponent + 13u) - exponent, 25u);
  let rounded = shifted_out((magnitude & 0x7fffffu) | 0x800000u, dropped);
  // The leading bit, which f16 does not store, is one of the exponent; so is what rounding carries.
  let base = (max(exponent, 113u) - 113u) << 10u;
  return sign | min(base + rounded, 0x7c00u);
}

fn f32_of_f16(code: u32) -> u32 {
  let sign = (code & 0x8000u) << 16u;
  let magnitude = code & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    let payload = (magnitude & 0x3ffu) << 13u;
    return sign | INFINITY_BITS | payload | select(0u, QUIET_BIT, payload != 0u);
  }
  if (magnitude >= 0x400u) {
    return sign | ((magnitude << 13u) + 0x38000000u);
  }
  if (magnitude == 0u) {
    return sign;
  }
  // So many units of 2^-24.
  let top = firstLeadingBit(magnitude);
  return sign | ((top + 103u) << 23u) | ((magnitude << (23u - top)) & 0x7fffffu);
}

fn bf16_of_f32(bits: u32) -> u32 {
  if (is_nan_bits(bits)) {
    return (bits >> 16u) | 0x40u;
  }
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

fn f32_of_bf16(code: u32) -> u32 {
  return code << 16u;
}

// shaders/lib/elements.wgsl
// Elements of bf16, f16 and f32 in words of 32 bits: halves lie two in a word, the first in its lower bits. `element` counts
// from the binding's start. An invocation owns a group of elements, and with it whole words of what it writes.

// As `crate::dispatch::structs::code` has them.
const BF16 = 0u;
const F16 = 1u;
const F32 = 2u;

const THREADS = 256u;
const GROUP = 4u;

// The word that holds an element.
fn word_of(dtype: u32, element: u32) -> u32 {
  return select(element >> 1u, element, dtype == F32);
}

// The element's bits, of the word that holds it.
fn code_in(dtype: u32, word: u32, element: u32) -> u32 {
  return select((word >> (16u * (element & 1u))) & 0xffffu, word, dtype == F32);
}

// The bits of the f32 that an element's bits stand for.
fn widened(dtype: u32, code: u32) -> u32 {
  if (dtype == BF16) {
    return f32_of_bf16(code);
  }
  if (dtype == F16) {
    return f32_of_f16(code);
  }
  return code;
}

// The element's bits for the bits of an f32, rounded to nearest even.
fn narrowed(dtype: u32, bits: u32) -> u32 {
  if (dtype == BF16) {
    return bf16_of_f32(bits);
  }
  if (dtype == F16) {
    return f16_of_f32(bits);
  }
  return bits;
}

// Elements that one invocation leaves out for the next round of a grid that strides.
fn stride(groups: vec3<u32>) -> u32 {
  return groups.x * THREADS * GROUP;
}

// shaders/matmul.wgsl
// Matrix products A * B, for each of a batch, with a bias or without, of matrices that may be transposed.
//
// Oracle: `cases/matmul.rs`; agreement: bound: products are accumulated in f32 in the order of K, and rounded once.
//
// `matmul`: groups of 256 invocations stride over tiles of 64 x 64 of all products of the batch; an invocation has 4 x 4 elements,
// four neighbours of each of four rows. The output is f32, or has an even number of columns: rows begin at whole words.
//
// Tiles of A and B, 16 elements of K deep, are widened to f32 in shared memory, which is the same in all element types.

struct Params {
  dtype: u32,
  // Of the output.
  to: u32,
  m: u32,
  n: u32,
  k: u32,
  batch: u32,
  // Elements before the first, and from one row, column and matrix to the next.
  a_start: u32,
  a_row: u32,
  a_column: u32,
  a_step: u32,
  b_start: u32,
  b_row: u32,
  b_column: u32,
  b_step: u32,
  c_row: u32,
  c_step: u32,
  // 0 for none, 1 for an element of each column, 2 for one of each row.
  bias: u32,
  bias_start: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
@group(0) @binding(3) var<storage, read> bias: array<u32>;
@group(0) @binding(4) var<storage, read_write> output: array<u32>;

const TILE = 64u;
const DEPTH = 16u;

var<workgroup> tile_a: array<f32, 1024>;
var<workgroup> tile_b: array<f32, 1024>;

fn value(word: u32, element: u32) -> f32 {
  return bitcast<f32>(widened(params.dtype, code_in(params.dtype, word, element)));
}

fn element_of_a(matrix: u32, row: u32, k: u32) -> f32 {
  if (row >= params.m || k >= params.k) {
    return 0.0;
  }
  let element = params.a_start + matrix * params.a_step + row * params.a_row + k * params.a_column;
  return value(a[word_of(params.dtype, element)], element);
}

fn element_of_b(matrix: u32, k: u32, column: u32) -> f32 {
  if (column >= params.n || k >= params.k) {
    return 0.0;
  }
  let element = params.b_start + matrix * params.b_step + k * params.b_row + column * params.b_column;
  return value(b[word_of(params.dtype, element)], element);
}

fn bias_at(row: u32, column: u32) -> f32 {
  let i = select(row, column, params.bias == 1u);
  if (params.bias == 0u || row >= params.m || column >= params.n) {
    return 0.0;
  }
  let element = params.bias_start + i;
  return value(bias[word_of(params.dtype, element)], element);
}

// Neighbouring invocations read neighbours of memory, whether a matrix is transposed or not.
fn fill_tiles(matrix: u32, row: u32, column: u32, depth: u32, thread: u32) {
  for (var i = thread; i < TILE * DEPTH; i += THREADS) {
    let by_k = params.a_column == 1u;
    let r = select(i % TILE, i / DEPTH, by_k);
    let k = select(i / TILE, i % DEPTH, by_k);
    tile_a[k * TILE + r] = element_of_a(matrix, row + r, depth + k);
  }
  for (var i = thread; i < TILE * DEPTH; i += THREADS) {
    let by_k = params.b_row == 1u;
    let c = select(i % TILE, i / DEPTH, by_k);
    let k = select(i / TILE, i % DEPTH, by_k);
    tile_b[k * TILE + c] = element_of_b(matrix, depth + k, column + c);
  }
}

// One by one, in loops: what is written out is inlined as often, and one driver takes minutes to compile that.
fn leave(matrix: u32, row: u32, column: u32, values: vec4<f32>) {
  if (row >= params.m) {
    return;
  }
  let first = matrix * params.c_step + row * params.c_row + column;
  for (var i = 0u; i < GROUP && column + i < params.n; i++) {
    if (params.to == F32) {
      output[first + i] = bitcast<u32>(values[i]);
    } else if (i % 2u == 0u) {
      let codes = pair_of(values[i], values[i + 1u]);
      output[(first + i) / 2u] = codes;
    }
  }
}

fn pair_of(low: f32, high: f32) -> u32 {
  var word = 0u;
  for (var i = 0u; i < 2u; i++) {
    word |= narrowed(params.to, bitcast<u32>(select(low, high, i == 1u))) << (16u * i);
  }
  return word;
}

@compute @workgroup_size(256)
fn matmul(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  let across = (params.n + TILE - 1u) / TILE;
  let down = (params.m + TILE - 1u) / TILE;
  let r = thread / 16u * GROUP;
  let c = thread % 16u * GROUP;
  for (var tile = group.x; tile < across * down * params.batch; tile += groups.x) {
    let matrix = tile / (across * down);
    let row = tile / across % down * TILE;
    let column = tile % across * TILE;
    var sums: array<vec4<f32>, 4>;
    for (var i = 0u; i < 16u; i++) {
      sums[i / 4u][i % 4u] = bias_at(row + r + i / 4u, column + c + i % 4u);
    }
    var x = sums[0];
    var y = sums[1];
    var z = sums[2];
    var w = sums[3];
    for (var depth = 0u; depth < params.k; depth += DEPTH) {
      fill_tiles(matrix, row, column, depth, thread);
      workgroupBarrier();
      for (var k = 0u; k < DEPTH; k++) {
        let at = k * TILE + c;
        let of_b = vec4(tile_b[at], tile_b[at + 1u], tile_b[at + 2u], tile_b[at + 3u]);
        let of_a = k * TILE + r;
        x += tile_a[of_a] * of_b;
        y += tile_a[of_a + 1u] * of_b;
        z += tile_a[of_a + 2u] * of_b;
        w += tile_a[of_a + 3u] * of_b;
      }
      // Before the next ones are written.
      workgroupBarrier();
    }
    sums = array(x, y, z, w);
    for (var i = 0u; i < 4u; i++) {
      leave(matrix, row + r + i, column + c, sums[i]);
    }
  }
}
