// One value in the place of elements whose mask is not 0.
//
// Oracle: `cases/masked_fill.rs`; agreement: bits, those of NaN among them.
//
// `masked_fill`: a grid of any size strides over groups of four elements. The mask serves again and again.
//!use lib/group.wgsl

struct Params {
  len: u32,
  dtype: u32,
  start: u32,
  // Elements of the result in front of the first.
  first: u32,
  mask_dtype: u32,
  mask_start: u32,
  mask_len: u32,
  // Bits of the value as an f32.
  value: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read> mask: array<u32>;
@group(0) @binding(3) var<storage, read_write> output: array<u32>;

fn is_masked(i: u32) -> bool {
  let element = params.mask_start + (params.first + i) % params.mask_len;
  let code = code_in(params.mask_dtype, mask[word_of(params.mask_dtype, element)], element);
  return (code & select(0x7fffu, MAGNITUDE_BITS, params.mask_dtype == F32)) != 0u;
}

fn filled(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let element = params.start + i;
  let kept = code_in(params.dtype, input[word_of(params.dtype, element)], element);
  return select(kept, narrowed(params.dtype, params.value), is_masked(i));
}

@compute @workgroup_size(256)
fn masked_fill(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = filled(i + k);
    }
    store_group(params.dtype, i, params.len, codes);
  }
}
