// Matrix products A * B, for each of a batch, with a bias or without, of matrices that may be transposed.
//
// Oracle: `oracle/matmul.rs`; agreement: bound: products are accumulated in f32 in the order of K, and rounded once.
//
// `matmul`: groups of 256 invocations stride over tiles of 64 x 64 of all products of the batch; an invocation has 4 x 4 elements,
// four neighbours of each of four rows. The output is f32, or has an even number of columns: rows begin at whole words.
//
// Tiles of A and B, 16 elements of K deep, are widened to f32 in shared memory, which is the same in all element types.
//!use lib/elements.wgsl

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

fn four_of_bias(row: u32, column: u32) -> vec4<f32> {
  return vec4(bias_at(row, column), bias_at(row, column + 1u), bias_at(row, column + 2u), bias_at(row, column + 3u));
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

fn leave(matrix: u32, row: u32, column: u32, values: vec4<f32>) {
  if (row >= params.m || column >= params.n) {
    return;
  }
  let codes = bitcast<vec4<u32>>(values);
  let first = matrix * params.c_step + row * params.c_row + column;
  if (params.to == F32) {
    for (var i = 0u; i < GROUP && column + i < params.n; i++) {
      output[first + i] = codes[i];
    }
    return;
  }
  output[first / 2u] = narrowed(params.to, codes.x) | (narrowed(params.to, codes.y) << 16u);
  if (column + 2u < params.n) {
    output[first / 2u + 1u] = narrowed(params.to, codes.z) | (narrowed(params.to, codes.w) << 16u);
  }
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
    var x = four_of_bias(row + r, column + c);
    var y = four_of_bias(row + r + 1u, column + c);
    var z = four_of_bias(row + r + 2u, column + c);
    var w = four_of_bias(row + r + 3u, column + c);
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
    leave(matrix, row + r, column + c, x);
    leave(matrix, row + r + 1u, column + c, y);
    leave(matrix, row + r + 2u, column + c, z);
    leave(matrix, row + r + 3u, column + c, w);
  }
}
