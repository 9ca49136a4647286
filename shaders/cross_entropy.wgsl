// The mean over the rows of -log_softmax(logits)[label], and the gradient of the logits.
//
// Oracle: `cases/cross_entropy.rs`; agreement: bound: all in f32. What a row is normalised by comes from `softmax_numbers`, and the
// mean of the rows' losses from `sum`.
//
// `cross_entropy`: a grid of any size strides over rows, an invocation each, and leaves a loss for each. `cross_entropy_backward`:
// a grid of any size strides over groups of four elements.
//
// A row whose label is no class is NaN and left in `fault`; nothing beyond the row is read.
//!use lib/fault.wgsl
//!use lib/multiply.wgsl
//!use lib/rows.wgsl

@group(0) @binding(5) var<storage, read> labels: array<u32>;
@group(0) @binding(6) var<storage, read> grad: array<f32>;

fn label_of(row: u32) -> vec2<u32> {
  let at = params.labels_start + 2u * row;
  return vec2(labels[at], labels[at + 1u]);
}

fn slope(i: u32, factor: f32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let row = (params.first + i) / params.width;
  let column = params.first + i - row * params.width;
  let label = label_of(row);
  if (!is_below(label, params.width)) {
    if (column == 0u) {
      leave_fault(CROSS_ENTROPY, label, row, params.width);
    }
    return narrow(float_of(INFINITY_BITS | QUIET_BIT));
  }
  let share = exp_over(a_at(i) - numbers[2u * row], numbers[2u * row + 1u]);
  let rest = bitcast<u32>(select(share, share - 1.0, column == label.x));
  return narrowed(params.dtype, multiplied(rest, bitcast<u32>(factor)));
}

@compute @workgroup_size(256)
fn cross_entropy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var row = id.x; row < params.rows; row += groups.x * THREADS) {
    let label = label_of(params.first + row);
    var loss = float_of(INFINITY_BITS | QUIET_BIT);
    if (is_below(label, params.width)) {
      let of_row = 2u * (params.first + row);
      loss = log_of(numbers[of_row + 1u]) - (a_at(row * params.width + label.x) - numbers[of_row]);
    } else {
      leave_fault(CROSS_ENTROPY, label, params.first + row, params.width);
    }
    output[params.at + row] = bitcast<u32>(loss);
  }
}

@compute @workgroup_size(256)
fn cross_entropy_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let factor = grad[params.grad_start] / params.divisor;
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    // In a loop, since drivers put the functions where they are called.
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = slope(i + k, factor);
    }
    store(i, codes);
  }
}
