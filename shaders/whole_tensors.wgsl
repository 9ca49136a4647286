// One step of LAMB, NovoGrad, LARS or LARC on a parameter: rules that step by norms of whole tensors.
//
// Oracle: `cases/whole_tensors.rs`; agreement: a bound, since quotients and roots are the driver's.
//
// `whole_tensors_measure`: a workgroup of 256 for each of the tensor's chunks, or fewer, which stride, after `prepare`. It leaves two
// sums of squares for each chunk, and moves LAMB's moments. `whole_tensors_join`, after that: one workgroup of 32, which puts what
// follows from the norms into the parameter's constants. `whole_tensors`, after that: a grid of any size strides over groups of four elements.
// None does anything where the step is skipped.
//
// Sums of squares are integers, so that a norm has the same bits in any order, and is rounded once. All other arithmetic is the
// driver's, which may flush and fuse; the term added to a master keeps subnormals. One file steps by all of these rules, because most
// of it is loads and stores; the last constant tells them apart.
//!use lib/chunks.wgsl
//!use lib/norm.wgsl
//!use lib/state.wgsl
//!use lib/step.wgsl

@group(0) @binding(5) var<storage, read_write> means: array<f32>;
@group(0) @binding(6) var<storage, read_write> squares: array<f32>;

// The last constant, as `rules/row.rs` writes it; LARS is 3.
const KIND = 15u;
const LAMB = 1.0;
const NOVOGRAD = 2.0;

// `LambConstants` and `NovoGradConstants`.
const SQUARE_CORRECTION = 0u;
const MEAN_CORRECTION = 1u;
const FIRST_STEP = 2u;
const LR = 3u;
const BETA1 = 4u;
const BETA2 = 5u;
const MEAN_WEIGHT = 6u;
const SQUARE_WEIGHT = 7u;
const EPS = 8u;
const WEIGHT_DECAY = 9u;

// Of LAMB alone; the join writes the ratio.
const IS_DECOUPLED = 10u;
const ADAPTS = 11u;
const MAX_GRAD_NORM = 12u;
const RATIO = 14u;

// Of NovoGrad alone; the join writes the denominator.
const IS_INSIDE = 10u;
const BY_LARGEST = 11u;
const INIT_ZERO = 12u;
const DENOMINATOR = 13u;

// `LarsConstants`; the join writes the ratio, and a decay of 0 where a norm is.
const LARS_FIRST_STEP = 0u;
const NEGATIVE_LR = 1u;
const MOMENTUM = 3u;
const UNDAMPED = 4u;
const NESTEROV = 5u;
const LARS_DECAY = 6u;
const TRUST_COEFFICIENT = 7u;
const CLIPS = 8u;
const LARS_EPS = 9u;
const LARS_RATIO = 10u;

fn number(place: u32) -> f32 {
  return bitcast<f32>(constant(place));
}

// A chunk's first or second numbers: the largest magnitude, where NaN is largest, and the sum of squares times 4^-exponent, which
// means nothing where one is not finite.
struct Measured {
  largest: u32,
  exponent: i32,
  squares: vec2<u32>,
}

// Two for each chunk.
@group(0) @binding(7) var<storage, read_write> measured: array<Measured>;
// A verdict with the norm of all gradients together, where a rule divides by it.
@group(0) @binding(8) var<storage, read> together: Found;

var<workgroup> largest: array<atomic<u32>, 2>;

// What LAMB divides gradients by.
fn divisor() -> f32 {
  let most = number(MAX_GRAD_NORM);
  if (most > 0.0) {
    let norm = bitcast<f32>(together.norm);
    if (norm > most) {
      return norm / most;
    }
  }
  return 1.0;
}

// Moves LAMB's moments of an element.
fn move_moments(i: u32, gradient: f32, parameter: f32) {
  var slope = gradient;
  let divisor = divisor();
  // A quotient may be off.
  if (divisor != 1.0) {
    slope /= divisor;
  }
  if (number(IS_DECOUPLED) == 0.0) {
    slope += number(WEIGHT_DECAY) * parameter;
  }
  means[i] = means[i] * number(BETA1) + number(MEAN_WEIGHT) * slope;
  squares[i] = squares[i] * number(BETA2) + (number(SQUARE_WEIGHT) * slope) * slope;
}

fn update_of_lamb(i: u32, parameter: f32) -> f32 {
  let root = sqrt(squares[i] / number(SQUARE_CORRECTION));
  let update = (means[i] / number(MEAN_CORRECTION)) / (root + number(EPS));
  if (number(IS_DECOUPLED) == 0.0) {
    return update;
  }
  return update + number(WEIGHT_DECAY) * parameter;
}

// The magnitudes of an element's two numbers, whose squares are added up over the tensor. LAMB's moments move the first time.
fn numbers_at(i: u32, is_first: bool) -> vec2<u32> {
  let kind = number(KIND);
  let kept = value_at(i);
  var slope = 0u;
  if (is_first || kind != LAMB) {
    slope = gradient_of(i);
  }
  var numbers = vec2(kept, slope);
  if (kind == NOVOGRAD) {
    numbers = vec2(slope, 0u);
  } else if (kind == LAMB) {
    if (is_first) {
      move_moments(i, bitcast<f32>(slope), bitcast<f32>(kept));
    }
    numbers.y = bitcast<u32>(update_of_lamb(i, bitcast<f32>(kept)));
  }
  return numbers & vec2(MAGNITUDE_BITS);
}

// Goes through a chunk's elements: the first time for the largest of their numbers, the second time for the squares, in fixed point
// below the largest.
fn measure(start: u32, end: u32, is_first: bool, units: array<i32, 2>) {
  var most = vec2(0u);
  var sums: array<vec2<u32>, 2>;
  for (var i = start; i < end; i += THREADS) {
    let numbers = numbers_at(i, is_first);
    if (is_first) {
      most = max(most, numbers);
    } else {
      for (var k = 0u; k < 2u; k++) {
        sums[k] = plus(sums[k], squared(numbers[k], units[k]));
      }
    }
  }
  for (var k = 0u; k < 2u && start < end; k++) {
    if (is_first) {
      atomicMax(&largest[k], most[k]);
    } else {
      add_squares_of_thread(3u * k, sums[k]);
    }
  }
}

@compute @workgroup_size(256)
fn whole_tensors_measure(
  @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let len = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var chunk = group.x; chunk * CHUNK < params.len; chunk += groups.x) {
    if (thread < 2u) {
      atomicStore(&largest[thread], 0u);
    }
    if (thread == 0u) {
      clear_sums();
    }
    workgroupBarrier();
    let start = chunk * CHUNK;
    var units: array<i32, 2>;
    for (var turn = 0u; turn < 2u; turn++) {
      measure(start + thread, min(start + CHUNK, len), turn == 0u, units);
      workgroupBarrier();
      for (var k = 0u; k < 2u; k++) {
        units[k] = unit_of(atomicLoad(&largest[k]));
      }
    }
    if (thread < 2u) {
      let sum = squares_of_chunk(3u * thread, unit_of(atomicLoad(&largest[thread])));
      let place = 2u * (params.chunk + chunk) + thread;
      measured[place] = Measured(atomicLoad(&largest[thread]), sum.exponent, sum.sum);
    }
    workgroupBarrier();
  }
}

struct JoinParams {
  // The parameter's number.
  slot: u32,
  chunks: u32,
}

@group(0) @binding(0) var<uniform> join: JoinParams;
@group(0) @binding(1) var<storage, read_write> places: array<Move>;
// The tensor's running norm, where the rule keeps one.
@group(0) @binding(2) var<storage, read_write> running: array<f32>;

// Few, since most tensors have few chunks, and each barrier costs a driver on the CPU a turn of all invocations.
const JOINING = 32u;

fn sum_of_chunk(i: u32) -> Squares {
  return Squares(measured[i].squares, measured[i].exponent);
}

fn joined_at(place: u32) -> f32 {
  return bitcast<f32>(places[join.slot].constants[place]);
}

fn leave(place: u32, value: f32) {
  places[join.slot].constants[place] = bitcast<u32>(value);
}

// The bits of a norm.
fn norm_of(largest: u32, sum: Squares) -> u32 {
  if (largest > INFINITY_BITS) {
    return QUIET_NAN;
  }
  if (largest == INFINITY_BITS || largest == 0u) {
    return largest;
  }
  return rounded_root(root_of(sum));
}

// False for norms that drivers may take for 0.
fn are_normal(norms: vec2<u32>) -> bool {
  return min(norms.x, norms.y) >= 0x800000u;
}

fn join_lamb(norms: vec2<u32>) {
  var ratio = joined_at(LR);
  if (joined_at(ADAPTS) != 0.0 && are_normal(norms)) {
    ratio *= bitcast<f32>(norms.x) / bitcast<f32>(norms.y);
  }
  leave(RATIO, ratio);
}

fn join_novograd(norm: f32, most: f32) {
  let by_largest = joined_at(BY_LARGEST) != 0.0;
  let now = select(norm, most, by_largest);
  var before = running[0];
  if (joined_at(FIRST_STEP) != 0.0 && joined_at(INIT_ZERO) == 0.0) {
    before = now;
  }
  let kept = joined_at(BETA2) * before;
  let taken = joined_at(SQUARE_WEIGHT) * now;
  var after = kept + taken;
  if (!by_largest) {
    after = sqrt(kept * before + taken * now);
  }
  running[0] = after;
  leave(DENOMINATOR, after / sqrt(joined_at(SQUARE_CORRECTION)) + joined_at(EPS));
}

fn join_lars(norms: vec2<u32>) {
  if (!are_normal(norms)) {
    leave(LARS_DECAY, 0.0);
    leave(LARS_RATIO, 1.0);
    return;
  }
  let parameter = bitcast<f32>(norms.x);
  let decayed = bitcast<f32>(norms.y) + parameter * joined_at(LARS_DECAY);
  var ratio = (joined_at(TRUST_COEFFICIENT) * parameter) / (decayed + joined_at(LARS_EPS));
  if (joined_at(CLIPS) != 0.0) {
    let lr = -joined_at(NEGATIVE_LR);
    if (lr > 0.0) {
      ratio /= lr;
    } else {
      ratio = 1.0;
    }
    if (!is_nan_bits(bitcast<u32>(ratio))) {
      ratio = min(ratio, 1.0);
    }
  }
  leave(LARS_RATIO, ratio);
}

fn leave_joined(norms: vec2<u32>, most: u32) {
  let kind = joined_at(KIND);
  if (kind == LAMB) {
    join_lamb(norms);
  } else if (kind == NOVOGRAD) {
    join_novograd(bitcast<f32>(norms.x), bitcast<f32>(most));
  } else {
    join_lars(norms);
  }
}

@compute @workgroup_size(32)
fn whole_tensors_join(@builtin(local_invocation_index) thread: u32) {
  var norms: vec2<u32>;
  for (var k = 0u; k < 2u; k++) {
    if (thread == 0u) {
      clear_sums();
      atomicStore(&largest[k], 0u);
    }
    workgroupBarrier();
    for (var i = thread; i < join.chunks; i += JOINING) {
      atomicMax(&largest[k], measured[2u * i + k].largest);
      join_exponent(sum_of_chunk(2u * i + k));
    }
    workgroupBarrier();
    let unit = atomicLoad(&exponent);
    join_squares(2u * thread + k, 2u * join.chunks, 2u * JOINING, unit);
    workgroupBarrier();
    if (thread == 0u) {
      norms[k] = norm_of(atomicLoad(&largest[k]), joined(unit));
    }
    workgroupBarrier();
  }
  if (thread == 0u && places[join.slot].is_stepped != 0u) {
    leave_joined(norms, atomicLoad(&largest[0]));
  }
}

fn update_of_novograd(i: u32, gradient: f32, parameter: f32) -> f32 {
  let decay = number(WEIGHT_DECAY) * parameter;
  let is_inside = number(IS_INSIDE) != 0.0;
  var slope = gradient;
  if (is_inside) {
    slope = slope / number(DENOMINATOR) + decay;
  }
  let mean = number(BETA1) * means[i] + number(MEAN_WEIGHT) * slope;
  means[i] = mean;
  let update = mean / number(MEAN_CORRECTION);
  if (is_inside) {
    return update;
  }
  return update / number(DENOMINATOR) + decay;
}

fn update_of_lars(i: u32, gradient: f32, parameter: f32) -> f32 {
  let slope = (gradient + number(LARS_DECAY) * parameter) * number(LARS_RATIO);
  if (number(MOMENTUM) == 0.0) {
    return slope;
  }
  var mean = slope;
  if (number(LARS_FIRST_STEP) == 0.0) {
    mean = slope * number(UNDAMPED) + means[i] * number(MOMENTUM);
  }
  means[i] = mean;
  if (number(NESTEROV) == 0.0) {
    return mean;
  }
  return mean * number(MOMENTUM) + slope;
}

fn moved(i: u32) -> Moved {
  let kept = value_at(i);
  let parameter = bitcast<f32>(kept);
  let kind = number(KIND);
  var rate = constant(RATIO) ^ SIGN_BIT;
  var update = 0.0;
  if (kind == LAMB) {
    update = update_of_lamb(i, parameter);
  } else {
    let gradient = bitcast<f32>(gradient_of(i));
    if (kind == NOVOGRAD) {
      rate = constant(LR) ^ SIGN_BIT;
      update = update_of_novograd(i, gradient, parameter);
    } else {
      rate = constant(NEGATIVE_LR);
      update = update_of_lars(i, gradient, parameter);
    }
  }
  let change = multiplied(rate, bitcast<u32>(update));
  return Moved(added(change, kept), is_nonzero(change));
}

@compute @workgroup_size(256)
fn whole_tensors(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let end = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var i = id.x * GROUP; i < end; i += stride(groups)) {
    move_group(i);
  }
}
