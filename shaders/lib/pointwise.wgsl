// Operands `a` and `b` and an output of one type, element by element; the output begins where its binding does. A shader of three
// operands has the last behind the output.
//!use lib/operands.wgsl

struct Params {
  // Elements of each.
  len: u32,
  dtype: u32,
  // Elements before the first, in the bindings of the operands.
  a_start: u32,
  b_start: u32,
  c_start: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
