// A group of elements of the output: the shader declares it as `output`.
//!use lib/elements.wgsl

// Elements from `first` on, a multiple of GROUP; those from `len` on leave no trace.
fn store_group(dtype: u32, first: u32, len: u32, codes: vec4<u32>) {
  if (dtype == F32) {
    for (var k = 0u; k < GROUP && first + k < len; k++) {
      output[first + k] = codes[k];
    }
    return;
  }
  output[first / 2u] = codes.x | (codes.y << 16u);
  if (first + 2u < len) {
    output[first / 2u + 1u] = codes.z | (codes.w << 16u);
  }
}
