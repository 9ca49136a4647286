// The windows of images as the columns of a matrix, which makes convolution a matrix product, and the sum of such columns back
// into images.
//
// Oracle: `cases/conv2d.rs`; agreement: bound: elements are moved without rounding; a pixel's gradient is an f32 sum over the
// windows that it lies in, in the order of their taps, rounded once.
//
// `conv2d_columns`, `conv2d_pixels`: a grid of any size strides over groups of four elements, of the matrix and of the images.
//
// The matrix is [taps, images * windows]. Backward gathers, and so needs no atomics.
//!use lib/operands.wgsl

struct Params {
  len: u32,
  // Of the operand.
  dtype: u32,
  a_start: u32,
  b_start: u32,
  // Of the result.
  to: u32,
  images: u32,
  channels: u32,
  height: u32,
  width: u32,
  kernel_rows: u32,
  kernel_columns: u32,
  // Of the result of the convolution.
  rows: u32,
  columns: u32,
  stride_rows: u32,
  stride_columns: u32,
  padding_rows: u32,
  padding_columns: u32,
  dilation_rows: u32,
  dilation_columns: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn windows() -> u32 {
  return params.rows * params.columns;
}

fn tap_of_window(i: u32) -> u32 {
  let line = params.images * windows();
  let tap = i / line;
  let image = i % line / windows();
  let window = i % windows();
  let kernel_row = tap / params.kernel_columns;
  let channel = kernel_row / params.kernel_rows;
  // Below 0 in the padding, and then beyond every extent.
  let y = window / params.columns * params.stride_rows + kernel_row % params.kernel_rows * params.dilation_rows - params.padding_rows;
  let across = tap % params.kernel_columns * params.dilation_columns;
  let x = window % params.columns * params.stride_columns + across - params.padding_columns;
  if (i >= params.len || y >= params.height || x >= params.width) {
    return 0u;
  }
  return a_code_at(((image * params.channels + channel) * params.height + y) * params.width + x);
}

// The position of the window that has `at` in the place `k` behind its first, or beyond all.
fn window_at(at: u32, k: u32, step: u32, padding: u32) -> u32 {
  let start = at + padding - k;
  return select(start / step, 0xffffffffu, at + padding < k || start % step != 0u);
}

fn pixel(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let x = i % params.width;
  let y = i / params.width % params.height;
  let plane = i / (params.width * params.height);
  let channel = plane % params.channels;
  let image = plane / params.channels;
  let line = params.images * windows();
  var sum = 0.0;
  for (var ky = 0u; ky < params.kernel_rows; ky++) {
    let row = window_at(y, ky * params.dilation_rows, params.stride_rows, params.padding_rows);
    for (var kx = 0u; kx < params.kernel_columns; kx++) {
      let column = window_at(x, kx * params.dilation_columns, params.stride_columns, params.padding_columns);
      if (row < params.rows && column < params.columns) {
        let tap = (channel * params.kernel_rows + ky) * params.kernel_columns + kx;
        sum += a_at(tap * line + image * windows() + row * params.columns + column);
      }
    }
  }
  return narrowed(params.to, bitcast<u32>(sum));
}

@compute @workgroup_size(256)
fn conv2d_columns(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(tap_of_window(i), tap_of_window(i + 1u), tap_of_window(i + 2u), tap_of_window(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn conv2d_pixels(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store_as(params.to, i, vec4(pixel(i), pixel(i + 1u), pixel(i + 2u), pixel(i + 3u)));
  }
}
