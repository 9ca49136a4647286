// The largest element of each window of images, and the gradient of the images.
//
// Oracle: `cases/max_pool2d.rs`; agreement: bits, any NaN for any NaN, and backward 0 for subnormals where the driver flushes them.
//
// `max_pool2d`, `max_pool2d_backward`: a grid of any size strides over groups of four windows, and of four elements of the image.
//
// Elements are compared by their bits. Backward gathers, without atomics: an element looks through each window that covers it, in
// order, and takes the gradient of those whose first largest it is.
//!use lib/operands.wgsl
//!use lib/planes.wgsl

struct Params {
  len: u32,
  dtype: u32,
  // Of the image.
  a_start: u32,
  // Of the gradient.
  b_start: u32,
  height: u32,
  width: u32,
  // Of the result.
  rows: u32,
  columns: u32,
  kernel_rows: u32,
  kernel_columns: u32,
  stride_rows: u32,
  stride_columns: u32,
  padding_rows: u32,
  padding_columns: u32,
  // Elements from one pixel of a channel to the next: 1, or the number of channels if they are last.
  pixel: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// An integer that orders floats: both zeros alike, and NaN above all.
fn order(code: u32) -> i32 {
  let bits = widened(params.dtype, code);
  let magnitude = bitcast<i32>(bits & MAGNITUDE_BITS);
  if (is_nan_bits(bits)) {
    return 0x7fffffff;
  }
  return select(magnitude, -magnitude, (bits & SIGN_BIT) != 0u);
}

// The part of the image that a window covers along an axis: start and end. Never empty: padding is at most half a window.
fn covered(position: u32, step: u32, kernel: u32, padding: u32, extent: u32) -> vec2<u32> {
  let start = position * step;
  return vec2(max(start, padding) - padding, min(start + kernel - padding, extent));
}

// The windows along an axis that cover an element of it.
fn covering(at: u32, step: u32, kernel: u32, padding: u32, count: u32) -> vec2<u32> {
  let padded = at + padding;
  let first = select((max(padded, kernel) - kernel) / step + 1u, 0u, padded < kernel);
  return vec2(first, min(padded / step + 1u, count));
}

// The pixel of the first largest element of a window, in row-major order; the first NaN, where there is one. `plane` is where the
// image begins.
fn largest(plane: u32, row: u32, column: u32) -> u32 {
  let ys = covered(row, params.stride_rows, params.kernel_rows, params.padding_rows, params.height);
  let xs = covered(column, params.stride_columns, params.kernel_columns, params.padding_columns, params.width);
  var best = ys.x * params.width + xs.x;
  var most = order(a_code_at(plane + best * params.pixel));
  for (var y = ys.x; y < ys.y; y++) {
    for (var x = xs.x; x < xs.y; x++) {
      let at = y * params.width + x;
      let value = order(a_code_at(plane + at * params.pixel));
      if (value > most) {
        best = at;
        most = value;
      }
    }
  }
  return best;
}

fn pooled(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let window = place_of(i, params.rows * params.columns, params.height * params.width);
  let best = largest(window.y, window.x / params.columns, window.x % params.columns);
  return a_code_at(window.y + best * params.pixel);
}

fn slope(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let pixels = params.height * params.width;
  let own = place_of(i, pixels, pixels);
  let windows = place_of(i, pixels, params.rows * params.columns).y;
  let x = own.x % params.width;
  let y = own.x / params.width;
  let rows = covering(y, params.stride_rows, params.kernel_rows, params.padding_rows, params.rows);
  let columns = covering(x, params.stride_columns, params.kernel_columns, params.padding_columns, params.columns);
  var sum = 0.0;
  for (var row = rows.x; row < rows.y; row++) {
    for (var column = columns.x; column < columns.y; column++) {
      if (largest(own.y, row, column) == own.x) {
        sum += b_at(windows + (row * params.columns + column) * params.pixel);
      }
    }
  }
  return narrow(sum);
}

@compute @workgroup_size(256)
fn max_pool2d(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = pooled(i + k);
    }
    store(i, codes);
  }
}

@compute @workgroup_size(256)
fn max_pool2d_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = slope(i + k);
    }
    store(i, codes);
  }
}
