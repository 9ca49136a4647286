// Rows of the last axis: first two numbers of each row by a team of invocations, then the elements one by one with their row's
// numbers. So elements of neighbouring rows may share a word, and a group of four may cross rows.
//!use lib/math.wgsl
//!use lib/operands.wgsl
//!use lib/teams.wgsl

struct Params {
  // Elements that are gone through one by one.
  len: u32,
  dtype: u32,
  a_start: u32,
  b_start: u32,
  // Of the tensor in front of the first of `len`, and rows in front of the first of `rows`.
  first: u32,
  rows: u32,
  width: u32,
  // Invocations that share a row: a power of two that follows from the width.
  team: u32,
  // Places before the first, in the bindings of the rows' numbers where they are written, of labels and of the gradient.
  at: u32,
  labels_start: u32,
  grad_start: u32,
  divisor: f32,
  // Of weights and biases, where there are such: places before the first, and their type.
  weight_start: u32,
  bias_start: u32,
  parameter_dtype: u32,
  eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
// Two for each row.
@group(0) @binding(4) var<storage, read> numbers: array<f32>;

// Rows that a group does at a time.
fn rows_at_once() -> u32 {
  return THREADS / params.team;
}

fn leave_numbers(row: u32, thread: u32, first: f32, second: f32) {
  if (row < params.rows && thread % params.team == 0u) {
    output[params.at + 2u * row] = bitcast<u32>(first);
    output[params.at + 2u * row + 1u] = bitcast<u32>(second);
  }
}

// The largest element of a row, and the sum of the exponentials of what the others fall short of it by. NaN comes out in the sum.
fn normaliser(row: u32, thread: u32) -> vec2<f32> {
  let width = select(0u, params.width, row < params.rows);
  var largest = float_of(SIGN_BIT | INFINITY_BITS);
  for (var i = thread % params.team; i < width; i += params.team) {
    largest = max(largest, a_at(row * params.width + i));
  }
  largest = largest_of_team(largest, thread, params.team);
  var sum = 0.0;
  for (var i = thread % params.team; i < width; i += params.team) {
    sum += exp_of(a_at(row * params.width + i) - largest);
  }
  sum = sum_of_team(sum, thread, params.team);
  return vec2(largest, sum);
}
