// Rows that are normalised about a mean, or about 0, with a weight of the width, and sums over a row by a team of invocations.
//!use lib/rows.wgsl

@group(0) @binding(5) var<storage, read> weight: array<u32>;

fn parameter(word: u32, element: u32) -> f32 {
  return bitcast<f32>(widened(params.parameter_dtype, code_in(params.parameter_dtype, word, element)));
}

fn weight_at(column: u32) -> f32 {
  let element = params.weight_start + column;
  return parameter(weight[word_of(params.parameter_dtype, element)], element);
}

fn normal(row: u32, x: f32) -> f32 {
  return (x - numbers[2u * row]) * numbers[2u * row + 1u];
}

// The mean of the squares of what a row's elements are off `mean`.
fn mean_square_off(row: u32, thread: u32, width: u32, mean: f32) -> f32 {
  var square = 0.0;
  for (var i = thread % params.team; i < width; i += params.team) {
    let off = a_at(row * params.width + i) - mean;
    square += off * off;
  }
  square = sum_of_team(square, thread, params.team);
  return square / f32(params.width);
}
