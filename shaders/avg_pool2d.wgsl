// The mean of each window of images, and the gradient of the images, for windows that slide and for adaptive ones.
//
// Oracle: `cases/avg_pool2d.rs`; agreement: bound: f32 sums in row-major order, a division, and one rounding.
//
// `avg_pool2d`, `avg_pool2d_backward`: a grid of any size strides over groups of four windows, and of four elements of the image.
//
// Backward gathers, without atomics: an element adds up the shares of the windows that cover it, in order.
//!use lib/operands.wgsl
//!use lib/planes.wgsl

struct Params {
  len: u32,
  dtype: u32,
  a_start: u32,
  b_start: u32,
  // Window `i` begins at floor(i * step / by) - padding, and ends before ceil((i * step + length) / by) - padding.
  height: u32,
  rows: u32,
  step_rows: u32,
  by_rows: u32,
  length_rows: u32,
  padding_rows: u32,
  width: u32,
  columns: u32,
  step_columns: u32,
  by_columns: u32,
  length_columns: u32,
  padding_columns: u32,
  // 0 where a window's elements in the image are counted.
  divisor: u32,
  // Elements from one pixel of a channel to the next: 1, or the number of channels if they are last.
  pixel: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// Windows along an axis.
struct Windows {
  image: u32,
  count: u32,
  step: u32,
  by: u32,
  length: u32,
  padding: u32,
}

fn along_rows() -> Windows {
  return Windows(
    params.height, params.rows, params.step_rows, params.by_rows, params.length_rows, params.padding_rows);
}

fn along_columns() -> Windows {
  return Windows(
    params.width, params.columns, params.step_columns, params.by_columns, params.length_columns, params.padding_columns);
}

// The part of the image that window `i` covers: start and end. Never empty: padding is at most half a window.
fn covered(axis: Windows, i: u32) -> vec2<u32> {
  let first = i * axis.step;
  let end = (first + axis.length + axis.by - 1u) / axis.by - axis.padding;
  return vec2(max(first / axis.by, axis.padding) - axis.padding, min(end, axis.image));
}

// The windows that cover an element.
fn covering(axis: Windows, at: u32) -> vec2<u32> {
  let place = (at + axis.padding) * axis.by;
  let first = select((max(place, axis.length) - axis.length) / axis.step + 1u, 0u, place < axis.length);
  return vec2(first, min((place + axis.by - 1u) / axis.step + 1u, axis.count));
}

// The number that the sum of a window is divided by.
fn elements(ys: vec2<u32>, xs: vec2<u32>) -> f32 {
  return f32(select(params.divisor, (ys.y - ys.x) * (xs.y - xs.x), params.divisor == 0u));
}

fn mean(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let window = place_of(i, params.rows * params.columns, params.height * params.width);
  let ys = covered(along_rows(), window.x / params.columns);
  let xs = covered(along_columns(), window.x % params.columns);
  var sum = 0.0;
  for (var y = ys.x; y < ys.y; y++) {
    for (var x = xs.x; x < xs.y; x++) {
      sum += a_at(window.y + (y * params.width + x) * params.pixel);
    }
  }
  return narrow(sum / elements(ys, xs));
}

fn slope(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let pixel = place_of(i, params.height * params.width, params.rows * params.columns);
  let rows = covering(along_rows(), pixel.x / params.width);
  let columns = covering(along_columns(), pixel.x % params.width);
  var sum = 0.0;
  for (var row = rows.x; row < rows.y; row++) {
    let ys = covered(along_rows(), row);
    for (var column = columns.x; column < columns.y; column++) {
      let g = a_at(pixel.y + (row * params.columns + column) * params.pixel);
      sum += g / elements(ys, covered(along_columns(), column));
    }
  }
  return narrow(sum);
}

@compute @workgroup_size(256)
fn avg_pool2d(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(mean(i), mean(i + 1u), mean(i + 2u), mean(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn avg_pool2d_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(slope(i), slope(i + 1u), slope(i + 2u), slope(i + 3u)));
  }
}
