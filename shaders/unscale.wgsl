// Looks at every gradient of a set as it is and as it will be once multiplied by the scale's inverse: what is not finite, how
// large the rest is, and the sum of squares for clipping. Nothing is written to the gradients.
//
// Oracle: `cases/unscale.rs`; agreement: bits, and for the sum of squares the bound of its terms.
//
// `unscale`: for each tensor, a workgroup of 256 for each of its chunks, or fewer, which stride; it leaves a partial for each.
// `unscale_join`, after all of them: one workgroup, which reads the partials of the whole set, in its order, and writes `found`
// and `owed`.
//
// All of it is integers, and what threads add and compare in common memory hangs on no order: the bits are the same on every
// driver. Squares are in fixed point below the chunk's largest element.
//!use lib/chunks.wgsl
//!use lib/state.wgsl

struct Params {
  len: u32,
  dtype: u32,
  // Elements before the first, in the binding of `values`.
  start: u32,
  parameter: u32,
  chunks: u32,
  // Of the set's partials, the tensor's first.
  first_partial: u32,
  // The word of `present` that says whether the gradient is there.
  flag: u32,
  // Elements of the tensor before these, of one that is looked at in parts.
  before: u32,
}

struct Partial {
  // Of the first element that is not finite: its place, its parameter, and itself.
  index: u32,
  parameter: u32,
  scaled: u32,
  infinities: u32,
  nans: u32,
  // The largest that is finite, as it was made, and the largest of all, once unscaled.
  magnitude: u32,
  largest: u32,
  // The sum of squares, times 4^-exponent.
  exponent: i32,
  squares: vec2<u32>,
}

const NOWHERE = 0xffffffffu;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<u32>;
@group(0) @binding(2) var<storage, read> present: array<u32>;
@group(0) @binding(3) var<storage, read> factors: Scale;
@group(0) @binding(4) var<storage, read_write> partials: array<Partial>;

var<workgroup> magnitude: atomic<u32>;
var<workgroup> largest: atomic<u32>;
var<workgroup> largest_finite: atomic<u32>;
var<workgroup> infinities: atomic<u32>;
var<workgroup> nans: atomic<u32>;
var<workgroup> first: atomic<u32>;

fn bits_of(i: u32) -> u32 {
  let element = params.start + i;
  return widened(params.dtype, code_in(params.dtype, values[word_of(params.dtype, element)], element));
}

fn clear() {
  atomicStore(&magnitude, 0u);
  atomicStore(&largest, 0u);
  atomicStore(&largest_finite, 0u);
  atomicStore(&infinities, 0u);
  atomicStore(&nans, 0u);
  atomicStore(&first, NOWHERE);
  clear_sums();
}

fn look(start: u32, end: u32) {
  var scaled_most = 0u;
  var most = 0u;
  var most_finite = 0u;
  for (var i = start; i < end; i += THREADS) {
    let bits = bits_of(i);
    let scaled = bits & MAGNITUDE_BITS;
    let unscaled = multiplied(bits, factors.inverse) & MAGNITUDE_BITS;
    let worse = max(scaled, unscaled);
    most = max(most, unscaled);
    scaled_most = max(scaled_most, select(0u, scaled, scaled < INFINITY_BITS));
    most_finite = max(most_finite, select(0u, unscaled, unscaled < INFINITY_BITS));
    if (worse >= INFINITY_BITS) {
      atomicAdd(&infinities, select(0u, 1u, worse == INFINITY_BITS));
      atomicAdd(&nans, select(0u, 1u, worse > INFINITY_BITS));
      atomicMin(&first, i);
    }
  }
  atomicMax(&magnitude, scaled_most);
  atomicMax(&largest, most);
  atomicMax(&largest_finite, most_finite);
}

fn add_squares(start: u32, end: u32, unit: i32) {
  var sum = vec2(0u);
  for (var i = start; i < end; i += THREADS) {
    let unscaled = multiplied(bits_of(i), factors.inverse) & MAGNITUDE_BITS;
    if (unscaled < INFINITY_BITS) {
      sum = plus(sum, squared(unscaled, unit));
    }
  }
  add_squares_of_thread(0u, sum);
}

// What one thread writes when all are done.
fn result_of(unit: i32) -> Partial {
  let index = atomicLoad(&first);
  var partial: Partial;
  partial.index = index;
  partial.parameter = params.parameter;
  if (index != NOWHERE) {
    partial.index = params.before + index;
    partial.scaled = bits_of(index);
  }
  partial.infinities = atomicLoad(&infinities);
  partial.nans = atomicLoad(&nans);
  partial.magnitude = atomicLoad(&magnitude);
  partial.largest = atomicLoad(&largest);
  let sum = squares_of_chunk(0u, unit);
  partial.exponent = sum.exponent;
  partial.squares = sum.sum;
  return partial;
}

@compute @workgroup_size(256)
fn unscale(
  @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let is_there = present[params.flag] != 0u;
  for (var chunk = group.x; chunk < params.chunks; chunk += groups.x) {
    if (thread == 0u) {
      clear();
    }
    workgroupBarrier();
    let start = chunk * CHUNK + thread;
    // A gradient that is not there has no elements: nobody has written to it.
    let end = select(0u, min(chunk * CHUNK + CHUNK, params.len), is_there);
    look(start, end);
    workgroupBarrier();
    let unit = unit_of(atomicLoad(&largest_finite));
    add_squares(start, end, unit);
    workgroupBarrier();
    if (thread == 0u) {
      partials[params.first_partial + chunk] = result_of(unit);
    }
    workgroupBarrier();
  }
}

struct JoinParams {
  // Partials of the whole set.
  count: u32,
}

@group(0) @binding(0) var<uniform> join: JoinParams;
@group(0) @binding(1) var<storage, read> measured: array<Partial>;
@group(0) @binding(2) var<storage, read_write> found: Found;
@group(0) @binding(4) var<storage, read_write> owed: Owed;

var<workgroup> upper_infinities: atomic<u32>;
var<workgroup> upper_nans: atomic<u32>;

fn sum_of_chunk(i: u32) -> Squares {
  return Squares(measured[i].squares, measured[i].exponent);
}

// Adds to two words in common memory; a carry that comes late is counted all the same.
fn add_infinities(count: u32) {
  let before = atomicAdd(&infinities, count);
  atomicAdd(&upper_infinities, select(0u, 1u, before + count < before));
}

fn add_nans(count: u32) {
  let before = atomicAdd(&nans, count);
  atomicAdd(&upper_nans, select(0u, 1u, before + count < before));
}

// All but the squares; `first` is the first partial that has an offender.
fn gather(thread: u32) {
  for (var i = thread; i < join.count; i += THREADS) {
    let partial = measured[i];
    atomicMax(&magnitude, partial.magnitude);
    atomicMax(&largest, partial.largest);
    add_infinities(partial.infinities);
    add_nans(partial.nans);
    if (partial.index != NOWHERE) {
      atomicMin(&first, i);
    }
    join_exponent(Squares(partial.squares, partial.exponent));
  }
}

fn offender() -> Found {
  var offence: Found;
  offence.parameter = NOBODY;
  let partial = atomicLoad(&first);
  if (partial != NOWHERE) {
    offence.raised = 1u;
    offence.parameter = measured[partial].parameter;
    offence.index = vec2(measured[partial].index, 0u);
    offence.scaled = measured[partial].scaled;
    offence.unscaled = multiplied(measured[partial].scaled, factors.inverse);
  }
  return offence;
}

fn write_join(unit: i32) {
  var result = offender();
  result.halted = factors.diverged;
  result.infinities = vec2(atomicLoad(&infinities), atomicLoad(&upper_infinities));
  result.nans = vec2(atomicLoad(&nans), atomicLoad(&upper_nans));
  result.magnitude = atomicLoad(&magnitude);
  found = result;
  let squares = joined(unit);
  owed = Owed(factors.inverse, 0x3f800000u, atomicLoad(&largest), squares.exponent, squares.sum);
}

@compute @workgroup_size(256)
fn unscale_join(@builtin(local_invocation_index) thread: u32) {
  if (thread == 0u) {
    clear();
    atomicStore(&upper_infinities, 0u);
    atomicStore(&upper_nans, 0u);
  }
  workgroupBarrier();
  gather(thread);
  workgroupBarrier();
  let unit = atomicLoad(&exponent);
  join_squares(thread, join.count, THREADS, unit);
  workgroupBarrier();
  if (thread == 0u) {
    write_join(unit);
  }
}
