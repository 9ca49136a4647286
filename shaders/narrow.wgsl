// Lines of elements from one tensor to another: a part of a tensor along one axis, or its gradient, or tensors that are joined.
//
// Oracle: `cases/narrow.rs`, `cases/cat.rs`; agreement: bits, those of NaN among them.
//
// `narrow`: a grid of any size strides over groups of four elements of the result.
//
// An invocation owns whole words of the result, so that it goes through all of it and keeps what no line covers.
//!use lib/group.wgsl

struct Params {
  len: u32,
  dtype: u32,
  start: u32,
  // Elements of the result in front of the first.
  first: u32,
  // Elements of a line.
  line: u32,
  // Elements before the first line and from one to the next, in what is read.
  from_first: u32,
  from_stride: u32,
  // And in the result.
  to_first: u32,
  to_stride: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn copied(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let at = params.first + i;
  let line = at / params.to_stride;
  // Columns before the line wrap around to a large number.
  let column = at - line * params.to_stride - params.to_first;
  if (column >= params.line) {
    return code_in(params.dtype, output[word_of(params.dtype, i)], i);
  }
  let element = params.start + params.from_first + line * params.from_stride + column;
  return code_in(params.dtype, input[word_of(params.dtype, element)], element);
}

@compute @workgroup_size(256)
fn narrow(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = copied(i + k);
    }
    store_group(params.dtype, i, params.len, codes);
  }
}
