// Rows of a table, by index, and the gradient of the table.
//
// Oracle: `cases/embedding.rs`; agreement: bits, any NaN for any NaN where gradients are summed, and 0 for subnormals where the
// driver flushes them.
//
// `embedding`, `embedding_backward`: a grid of any size strides over groups of four elements, of the result and of the table.
//
// An index that points nowhere is left in `fault`, its row is NaN, and backward passes over it. Backward sums in f32 and in the
// order of the indices, without atomics: each element of the table looks through all indices, which is slow for large tables.
//!use lib/fault.wgsl
//!use lib/operands.wgsl

struct Params {
  len: u32,
  dtype: u32,
  // Of the table, or of the gradient.
  a_start: u32,
  b_start: u32,
  // Elements of the result in front of the first.
  first: u32,
  rows: u32,
  width: u32,
  // Indices, and words before the first in their binding.
  count: u32,
  indices_start: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(4) var<storage, read> indices: array<u32>;

fn index_at(position: u32) -> vec2<u32> {
  let at = params.indices_start + 2u * position;
  return vec2(indices[at], indices[at + 1u]);
}

fn looked_up(i: u32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let position = (params.first + i) / params.width;
  let column = params.first + i - position * params.width;
  let index = index_at(position);
  if (!is_below(index, params.rows)) {
    if (column == 0u) {
      leave_fault(EMBEDDING, index, position, params.rows);
    }
    return narrowed(params.dtype, INFINITY_BITS | QUIET_BIT);
  }
  return a_code_at(index.x * params.width + column);
}

@compute @workgroup_size(256)
fn embedding(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    store(i, vec4(looked_up(i), looked_up(i + 1u), looked_up(i + 2u), looked_up(i + 3u)));
  }
}

@compute @workgroup_size(256)
fn embedding_backward(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x * GROUP; i < params.len; i += stride(groups)) {
    let at = params.first + i + vec4(0u, 1u, 2u, 3u);
    let rows = at / params.width;
    let columns = at - rows * params.width;
    var sums = vec4(0.0);
    for (var position = 0u; position < params.count; position++) {
      let index = index_at(position);
      if (!is_below(index, params.rows)) {
        if (at.x == 0u) {
          leave_fault(EMBEDDING, index, position, params.rows);
        }
        continue;
      }
      for (var k = 0u; k < GROUP; k++) {
        if (rows[k] == index.x) {
          sums[k] += a_at(position * params.width + columns[k]);
        }
      }
    }
    store(i, vec4(narrow(sums.x), narrow(sums.y), narrow(sums.z), narrow(sums.w)));
  }
}
