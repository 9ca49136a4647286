// Adds a micro-batch's gradients to a window's sums, in f32, unless the micro-batch is bad.
//
// Oracle: `cases/accumulate.rs`; agreement: bits, any NaN for any NaN.
//
// `accumulate`: for each tensor, a grid of any size strides over elements; it reads whether the sum has begun.
// `accumulate_mark`, one invocation after it, says that it has.
//
// As the plain loop: a sum that has not begun is not read, and becomes the gradient, a zero's sign included.
//!use lib/added.wgsl
//!use lib/elements.wgsl
//!use lib/multiply.wgsl
//!use lib/state.wgsl

struct Params {
  len: u32,
  dtype: u32,
  // Elements before the first, in the bindings of `values` and `sum`.
  start: u32,
  sum_start: u32,
  // The words that say whether the sum has begun, and whether the gradient is there.
  begun: u32,
  there: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<u32>;
@group(0) @binding(2) var<storage, read> also: array<u32>;
@group(0) @binding(3) var<storage, read> found: Found;
@group(0) @binding(4) var<storage, read> owed: Owed;
@group(0) @binding(5) var<storage, read_write> sum: array<u32>;
@group(0) @binding(6) var<storage, read_write> present: array<u32>;

fn is_added() -> bool {
  return (found.raised | found.halted) == 0u && also[params.there] != 0u;
}

@compute @workgroup_size(256)
fn accumulate(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let has_begun = present[params.begun] != 0u;
  let end = select(0u, params.len, is_added());
  for (var i = id.x; i < end; i += groups.x * THREADS) {
    let element = params.start + i;
    let bits = widened(params.dtype, code_in(params.dtype, values[word_of(params.dtype, element)], element));
    let more = multiplied(multiplied(bits, owed.inverse), owed.clip);
    let place = params.sum_start + i;
    if (has_begun) {
      sum[place] = added(sum[place], more);
    } else {
      sum[place] = more;
    }
  }
}

@compute @workgroup_size(1)
fn accumulate_mark() {
  if (is_added()) {
    present[params.begun] = 1u;
  }
}
