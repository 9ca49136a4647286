// The elements of a tensor in another order of its axes.
//
// Oracle: `cases/permute.rs`; agreement: bits, those of NaN among them.
//
// `permute`: a grid of any size strides over groups of four elements of the result.
//!use lib/group.wgsl

struct Params {
  len: u32,
  dtype: u32,
  start: u32,
  // Elements of the result in front of the first.
  first: u32,
  // Axes of the result, the outermost first: extents, and elements from one place to the next in what is read. Those that are not
  // there have an extent of 1.
  extents: array<vec4<u32>, 2>,
  strides: array<vec4<u32>, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn moved(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  var rest = params.first + i;
  var place = params.start;
  for (var axis = 8u; axis > 0u; axis--) {
    let at = axis - 1u;
    let extent = params.extents[at / 4u][at % 4u];
    place += rest % extent * params.strides[at / 4u][at % 4u];
    rest /= extent;
  }
  return code_in(params.dtype, input[word_of(params.dtype, place)], place);
}

@compute @workgroup_size(256)
fn permute(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    var codes = vec4(0u);
    for (var k = 0u; k < GROUP; k++) {
      codes[k] = moved(i + k);
    }
    store_group(params.dtype, i, params.len, codes);
  }
}
