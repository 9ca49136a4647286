// Attention, softmax(scale * Q * transposed K + mask) * V for each place, and its gradients.
//
// Oracle: `cases/scaled_dot_product_attention.rs`; agreement: bound: products are accumulated in f32 in the order of their terms, and
// rounded once.
//
// `scaled_dot_product_attention_statistics`: groups of 256 invocations stride over tiles of 32 queries. `.._means`: a grid of any size
// strides over queries. `scaled_dot_product_attention`: groups stride over tiles of 32 lines and 32 columns of one result, an invocation
// has 2 x 2. The result is f32, or has an even number of columns: lines begin at whole words.
//
// A tile of scores, lines by terms, stays in the group's memory: weights or slopes, with which lines of another operand are summed up.
//!use lib/elements.wgsl
//!use lib/math.wgsl
//!use lib/teams.wgsl

struct Params {
  dtype: u32,
  // Of the result.
  to: u32,
  mask_dtype: u32,
  // OUTPUT to OF_VALUE.
  result: u32,
  // Queries and keys of a place, elements of each, and elements of a value.
  places: u32,
  rows: u32,
  keys: u32,
  width: u32,
  columns: u32,
  causal: u32,
  scale: f32,
  // 1 if there is a mask; 1 if it has a row for each query; neighbouring places that share a matrix, and matrices.
  has_mask: u32,
  mask_has_rows: u32,
  repeats: u32,
  matrices: u32,
  // Elements before the first.
  query_start: u32,
  key_start: u32,
  value_start: u32,
  mask_start: u32,
  grad_start: u32,
  statistics_start: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> query: array<u32>;
@group(0) @binding(2) var<storage, read> key: array<u32>;
@group(0) @binding(3) var<storage, read> value: array<u32>;
@group(0) @binding(4) var<storage, read> mask: array<u32>;
@group(0) @binding(5) var<storage, read> grad: array<u32>;
@group(0) @binding(6) var<storage, read> statistics: array<f32>;
@group(0) @binding(7) var<storage, read> means: array<f32>;
@group(0) @binding(8) var<storage, read_write> output: array<u32>;

// Results: weights times values or gradients, or slopes times keys or queries.
const OUTPUT = 0u;
const OF_QUERY = 1u;
const OF_KEY = 2u;
const OF_VALUE = 3u;

// Operands that are gone through line by line.
const QUERY = 0u;
const KEY = 1u;
const VALUE = 2u;
const GRAD = 3u;

const TILE = 32u;
const DEPTH = 16u;
const NOTHING = 0xff800000u;

var<workgroup> lines_a: array<f32, 512>;
var<workgroup> lines_b: array<f32, 512>;
var<workgroup> weights: array<f32, 1024>;

fn widened_of(word: u32, element: u32) -> f32 {
  return bitcast<f32>(widened(params.dtype, code_in(params.dtype, word, element)));
}

// Element `i` of a line; 0 beyond the last of either.
fn element_of(operand: u32, place: u32, line: u32, i: u32) -> f32 {
  let by_query = operand == QUERY || operand == GRAD;
  let count = select(params.keys, params.rows, by_query);
  let width = select(params.columns, params.width, operand == QUERY || operand == KEY);
  if (line >= count || i >= width) {
    return 0.0;
  }
  let element = (place * count + line) * width + i;
  switch (operand) {
    case QUERY: {
      let at = params.query_start + element;
      return widened_of(query[word_of(params.dtype, at)], at);
    }
    case KEY: {
      let at = params.key_start + element;
      return widened_of(key[word_of(params.dtype, at)], at);
    }
    case VALUE: {
      let at = params.value_start + element;
      return widened_of(value[word_of(params.dtype, at)], at);
    }
    default: {
      let at = params.grad_start + element;
      return widened_of(grad[word_of(params.dtype, at)], at);
    }
  }
}

fn is_nothing(x: f32) -> bool {
  return bitcast<u32>(x) == NOTHING;
}

// The score of a query and a key from their product; minus infinity where the query does not attend to the key.
fn score(place: u32, row: u32, of_key: u32, product: f32) -> f32 {
  if (row >= params.rows || of_key >= params.keys || (params.causal == 1u && of_key > row)) {
    return float_of(NOTHING);
  }
  let own = product * params.scale;
  if (params.has_mask == 0u) {
    return own;
  }
  let matrix = place / params.repeats % params.matrices;
  let line = select(matrix, matrix * params.rows + row, params.mask_has_rows == 1u);
  let at = params.mask_start + line * params.keys + of_key;
  let code = code_in(params.mask_dtype, mask[word_of(params.mask_dtype, at)], at);
  return own + bitcast<f32>(widened(params.mask_dtype, code));
}

// Products of lines of two operands, two by two: (0, 0), (0, 1), (1, 0), (1, 1). All of the group must come.
fn dot_products(a: u32, first_a: u32, b: u32, first_b: u32, place: u32, thread: u32) -> vec4<f32> {
  let width = select(params.columns, params.width, a == QUERY || a == KEY);
  var sums = vec4(0.0);
  for (var depth = 0u; depth < width; depth += DEPTH) {
    for (var i = thread; i < TILE * DEPTH; i += THREADS) {
      let line = i / DEPTH;
      let at = i % DEPTH;
      lines_a[at * TILE + line] = element_of(a, place, first_a + line, depth + at);
      lines_b[at * TILE + line] = element_of(b, place, first_b + line, depth + at);
    }
    workgroupBarrier();
    sums = added(sums, thread);
    workgroupBarrier();
  }
  return sums;
}

fn added(before: vec4<f32>, thread: u32) -> vec4<f32> {
  var sums = before;
  for (var k = 0u; k < DEPTH; k++) {
    let a = k * TILE + thread / 16u * 2u;
    let b = k * TILE + thread % 16u * 2u;
    let others = vec2(lines_b[b], lines_b[b + 1u]);
    sums += vec4(lines_a[a] * others, lines_a[a + 1u] * others);
  }
  return sums;
}

@compute @workgroup_size(256)
fn scaled_dot_product_attention_statistics(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  let tiles = (params.rows + TILE - 1u) / TILE;
  for (var tile = group.x; tile < tiles * params.places; tile += groups.x) {
    let place = tile / tiles;
    let first = tile % tiles * TILE;
    let row = first + thread / 16u * 2u;
    var largest = vec2(float_of(NOTHING));
    var sums = vec2(0.0);
    let end = select(params.keys, min(params.keys, first + TILE), params.causal == 1u);
    for (var from_key = 0u; from_key < end; from_key += TILE) {
      let products = dot_products(QUERY, first, KEY, from_key, place, thread);
      for (var i = 0u; i < 2u; i++) {
        let of_key = from_key + thread % 16u * 2u;
        let low = score(place, row + i, of_key, products[2u * i]);
        let high = score(place, row + i, of_key + 1u, products[2u * i + 1u]);
        let before = largest[i];
        let now = max(before, largest_of_team(max(low, high), thread, 16u));
        // Without any key yet there is nothing to be less than.
        let base = select(now, 0.0, is_nothing(now));
        let own = sum_of_team(exp_of(low - base) + exp_of(high - base), thread, 16u);
        sums[i] = sums[i] * exp_of(before - base) + own;
        largest[i] = now;
      }
    }
    for (var i = 0u; i < 2u; i++) {
      if (thread % 16u == 0u && row + i < params.rows) {
        let log_sum = bitcast<u32>(log_of(sums[i]));
        let at = 2u * (place * params.rows + row + i);
        // NaN may be passed over by the largest, but not by the sum.
        output[at] = select(bitcast<u32>(largest[i]), log_sum, is_nan_bits(log_sum));
        output[at + 1u] = log_sum;
      }
    }
  }
}

// The sum of the products of a query's output, which is bound as the value, and its gradient.
@compute @workgroup_size(256)
fn scaled_dot_product_attention_means(
  @builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var line = id.x; line < params.places * params.rows; line += groups.x * THREADS) {
    var sum = 0.0;
    for (var i = 0u; i < params.columns; i++) {
      let at = params.value_start + line * params.columns + i;
      let of_grad = params.grad_start + line * params.columns + i;
      sum += widened_of(value[word_of(params.dtype, at)], at) * widened_of(grad[word_of(params.dtype, of_grad)], of_grad);
    }
    output[line] = bitcast<u32>(sum);
  }
}

// The factor of a line of the summed operand.
fn weight(place: u32, row: u32, of_key: u32, product: f32, slope: f32) -> f32 {
  let own = score(place, row, of_key, product);
  if (is_nothing(own)) {
    return 0.0;
  }
  let of_query = place * params.rows + row;
  let at = params.statistics_start + 2u * of_query;
  let share = exp_of((own - statistics[at]) - statistics[at + 1u]);
  if (params.result == OUTPUT || params.result == OF_VALUE) {
    return share;
  }
  return share * (slope - means[of_query]) * params.scale;
}

fn leave(element: u32, column: u32, count: u32, values: vec2<f32>) {
  if (params.to == F32) {
    for (var j = 0u; j < 2u && column + j < count; j++) {
      output[element + j] = bitcast<u32>(values[j]);
    }
  } else if (column < count) {
    var word = 0u;
    for (var j = 0u; j < 2u; j++) {
      word |= narrowed(params.to, bitcast<u32>(values[j])) << (16u * j);
    }
    output[element / 2u] = word;
  }
}

@compute @workgroup_size(256)
fn scaled_dot_product_attention(
  @builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>) {
  let by_key = params.result == OF_KEY || params.result == OF_VALUE;
  let has_slopes = params.result == OF_QUERY || params.result == OF_KEY;
  let count = select(params.rows, params.keys, by_key);
  let terms = select(params.keys, params.rows, by_key);
  let columns = select(params.columns, params.width, has_slopes);
  var summed = VALUE;
  if (has_slopes) {
    summed = select(KEY, QUERY, by_key);
  } else if (by_key) {
    summed = GRAD;
  }
  let across = (columns + TILE - 1u) / TILE;
  let down = (count + TILE - 1u) / TILE;
  for (var tile = group.x; tile < across * down * params.places; tile += groups.x) {
    let place = tile / (across * down);
    let first = tile / across % down * TILE;
    let column = tile % across * TILE;
    var sums = vec4(0.0);
    var begin = 0u;
    var end = terms;
    if (params.causal == 1u && by_key) {
      begin = first;
    } else if (params.causal == 1u) {
      end = min(terms, first + TILE);
    }
    for (var term = begin; term < end; term += TILE) {
      let products = dot_products(select(QUERY, KEY, by_key), first, select(KEY, QUERY, by_key), term, place, thread);
      var slopes = vec4(0.0);
      if (has_slopes) {
        slopes = dot_products(select(GRAD, VALUE, by_key), first, select(VALUE, GRAD, by_key), term, place, thread);
      }
      for (var i = 0u; i < 4u; i++) {
        let line = thread / 16u * 2u + i / 2u;
        let other = thread % 16u * 2u + i % 2u;
        let row = select(first + line, term + other, by_key);
        let of_key = select(term + other, first + line, by_key);
        weights[other * TILE + line] = weight(place, row, of_key, products[i], slopes[i]);
      }
      for (var part = 0u; part < TILE; part += DEPTH) {
        workgroupBarrier();
        for (var i = thread; i < TILE * DEPTH; i += THREADS) {
          lines_a[i] = weights[part * TILE + i];
          lines_b[i] = element_of(summed, place, term + part + i / TILE, column + i % TILE);
        }
        workgroupBarrier();
        sums = added(sums, thread);
      }
      workgroupBarrier();
    }
    for (var i = 0u; i < 2u; i++) {
      let line = first + thread / 16u * 2u + i;
      let at = column + thread % 16u * 2u;
      if (line < count) {
        leave((place * count + line) * columns + at, at, columns, vec2(sums[2u * i], sums[2u * i + 1u]));
      }
    }
  }
}
