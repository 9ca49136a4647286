// From one of bf16, f16 and f32 to another, or to itself: a copy.
//
// Oracle: `oracle/cast.rs`; agreement: bits, NaN's payload among them.
//
// `cast_elements`, `cast` being a word of the language: a grid of any size strides over groups of four elements. Elements of a type that stays keep their bits.
//
// In integers alone: nothing departs from the oracle on any driver.
//!use lib/elements.wgsl

struct Params {
  // Elements of each.
  len: u32,
  dtype: u32,
  to: u32,
  // Elements before the first of `input`, in its binding; `output` begins with its own.
  start: u32,
  // Whether what is too large for a half becomes its largest finite number, infinities too.
  saturates: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

// The largest finite code of a half, under an infinite one.
fn within(code: u32) -> u32 {
  let infinity = select(0x7c00u, 0x7f80u, params.to == BF16);
  return select(code, code - 1u, (code & 0x7fffu) == infinity);
}

fn converted(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let element = params.start + i;
  let code = code_in(params.dtype, input[word_of(params.dtype, element)], element);
  if (params.to == params.dtype) {
    return code;
  }
  let bits = widened(params.dtype, code);
  let narrow = narrowed(params.to, bits);
  if (params.saturates == 0u || params.to == F32) {
    return narrow;
  }
  return within(narrow);
}

@compute @workgroup_size(256)
fn cast_elements(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    let codes = vec4(converted(i), converted(i + 1u), converted(i + 2u), converted(i + 3u));
    if (params.to == F32) {
      for (var k = 0u; k < GROUP && i + k < params.len; k++) {
        output[i + k] = codes[k];
      }
    } else {
      output[i / 2u] = codes.x | (codes.y << 16u);
      if (i + 2u < params.len) {
        output[i / 2u + 1u] = codes.z | (codes.w << 16u);
      }
    }
  }
}
