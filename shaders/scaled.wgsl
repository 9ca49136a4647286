// Masters in f16 with an exponent a tensor: opened as f32 for a step, and packed again by an exponent of the tensor's largest.
//
// Oracle: `cases/scaled_f16.rs`; agreement: bits. The exponent is `stores/scaled.rs`'s.
//
// `scaled_open` gives the f32 copy that a rule's shader moves; `scaled_largest`, behind the step, looks for the largest finite
// magnitude, and `scaled_pack` rounds. Each is a grid of any size, and does nothing where the step is skipped.
//
// In integers alone, and a maximum has no order: no driver and no grid shows. Where `counts` is not 0 an element of the copy is two
// words, the second of which says whether the step had anything to add, and the last entry counts lost updates.
//!use lib/elements.wgsl
//!use lib/multiply.wgsl
//!use lib/lost.wgsl

struct Params {
  len: u32,
  // The word of `stepped` that is 0 where the step is skipped.
  flag: u32,
  // The parameter's number.
  slot: u32,
  counts: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> stepped: array<u32>;
// What one entry leaves to the next: the bits of the largest finite magnitude, and the exponent that was.
@group(0) @binding(2) var<storage, read_write> between: array<atomic<u32>, 2>;
@group(0) @binding(3) var<storage, read_write> exponent: array<i32>;
// f16, times 2 to the exponent.
@group(0) @binding(4) var<storage, read_write> values: array<u32>;
@group(0) @binding(5) var<storage, read_write> wide: array<u32>;
// For `lib/lost.wgsl`.
@group(0) @binding(6) var<storage, read_write> applied: array<atomic<u32>>;

const TOP = 14;
const MOST = 125;
const BIAS = 127;

var<workgroup> largest: atomic<u32>;

// The bits of 2 to an exponent of a normal number.
fn power(by: i32) -> u32 {
  return u32(by + BIAS) << 23u;
}

fn exponent_of(magnitude: u32) -> i32 {
  if (magnitude == 0u) {
    return 0;
  }
  return min(TOP + BIAS - max(i32(magnitude >> 23u), 1), MOST);
}

fn word_of_wide(i: u32) -> u32 {
  return select(i, 2u * i, params.counts != 0u);
}

fn code_at(i: u32) -> u32 {
  return code_in(F16, values[word_of(F16, i)], i);
}

fn unpacked(code: u32, by: i32) -> u32 {
  return multiplied(f32_of_f16(code), power(-by));
}

fn end() -> u32 {
  return select(0u, params.len, stepped[params.flag] != 0u);
}

@compute @workgroup_size(256)
fn scaled_open(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let now = exponent[0];
  if (id.x == 0u && stepped[params.flag] != 0u) {
    atomicStore(&between[0], 0u);
    atomicStore(&between[1], bitcast<u32>(now));
  }
  for (var i = id.x; i < end(); i += groups.x * THREADS) {
    wide[word_of_wide(i)] = unpacked(code_at(i), now);
  }
}

@compute @workgroup_size(256)
fn scaled_largest(
  @builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  if (thread == 0u) {
    atomicStore(&largest, 0u);
  }
  workgroupBarrier();
  var most = 0u;
  for (var i = id.x; i < end(); i += groups.x * THREADS) {
    let magnitude = wide[word_of_wide(i)] & MAGNITUDE_BITS;
    most = max(most, select(0u, magnitude, magnitude < INFINITY_BITS));
  }
  atomicMax(&largest, most);
  workgroupBarrier();
  if (thread == 0u) {
    atomicMax(&between[0], atomicLoad(&largest));
  }
}

// The code that an element is kept as, or 0 beyond the last.
fn packed(i: u32, now: i32, old: i32) -> u32 {
  if (i >= params.len) {
    return 0u;
  }
  let code = f16_of_f32(multiplied(wide[word_of_wide(i)], power(now)));
  if (params.counts != 0u) {
    count_update(unpacked(code_at(i), old), unpacked(code, now), wide[2u * i + 1u] != 0u);
  }
  return code;
}

@compute @workgroup_size(256)
fn scaled_pack(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let now = exponent_of(atomicLoad(&between[0]));
  let old = bitcast<i32>(atomicLoad(&between[1]));
  if (id.x == 0u && stepped[params.flag] != 0u) {
    exponent[0] = now;
  }
  for (var i = 2u * id.x; i < end(); i += 2u * groups.x * THREADS) {
    let first = packed(i, now, old);
    values[i / 2u] = first | (packed(i + 1u, now, old) << 16u);
  }
}
