// Operands `a` and `b` and an output of one type, element by element; the output begins where its binding does.
//!use lib/operands.wgsl

struct Params {
  // Elements of each.
  len: u32,
  dtype: u32,
  // Elements before the first, in the bindings of `a` and `b`.
  a_start: u32,
  b_start: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
