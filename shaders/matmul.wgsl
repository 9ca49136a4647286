// Matrix products A * B, for each of a batch and of each group, with a bias or without, of matrices that may be transposed.
//
// Oracle: `cases/matmul.rs`; agreement: bound: products are accumulated in f32 in the order of K, and rounded once.
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
  // Each group is a batch, and these are the elements from one to the next.
  groups: u32,
  a_group: u32,
  b_group: u32,
  c_group: u32,
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

// Where a product's matrix begins. Those of all groups come after one another, before the next of the batch.
fn place_of(matrix: u32, step: u32, group_step: u32) -> u32 {
  return matrix / params.groups * step + matrix % params.groups * group_step;
}

fn element_of_a(matrix: u32, row: u32, k: u32) -> f32 {
  if (row >= params.m || k >= params.k) {
    return 0.0;
  }
  let element = params.a_start + place_of(matrix, params.a_step, params.a_group) + row * params.a_row + k * params.a_column;
  return value(a[word_of(params.dtype, element)], element);
}

fn element_of_b(matrix: u32, k: u32, column: u32) -> f32 {
  if (column >= params.n || k >= params.k) {
    return 0.0;
  }
  let element = params.b_start + place_of(matrix, params.b_step, params.b_group) + k * params.b_row + column * params.b_column;
  return value(b[word_of(params.dtype, element)], element);
}

fn bias_at(matrix: u32, row: u32, column: u32) -> f32 {
  let i = select(matrix % params.groups * params.m + row, column, params.bias == 1u);
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
  let first = place_of(matrix, params.c_step, params.c_group) + row * params.c_row + column;
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
  for (var tile = group.x; tile < across * down * params.batch * params.groups; tile += groups.x) {
    let matrix = tile / (across * down);
    let row = tile / across % down * TILE;
    let column = tile % across * TILE;
    var sums: array<vec4<f32>, 4>;
    for (var i = 0u; i < 16u; i++) {
      sums[i / 4u][i % 4u] = bias_at(matrix, row + r + i / 4u, column + c + i % 4u);
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
