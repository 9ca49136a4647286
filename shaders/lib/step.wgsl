// Frame of every optimizer's fused step around its arithmetic: reads a gradient once, settles it, moves the master, and writes
// the low-precision copy. `binade_master_weights::step` is its model, and its `stores` are those of the masters.
//
// Floats are bits here, and sums and products those that keep subnormals: what a master has beyond its parameter is small.
//!asks moved
//!use lib/added.wgsl
//!use lib/elements.wgsl
//!use lib/multiply.wgsl
//!use lib/moves.wgsl
//!use lib/philox.wgsl
//!use lib/codec.wgsl
//!use lib/lost.wgsl

// How masters are kept: `MasterStore`, as `slot.rs` numbers it.
const BARE = 0u;
const COPY = 1u;
const REMAINDER = 2u;
const STOCHASTIC = 3u;
const KAHAN = 4u;
// A copy that `scaled.wgsl` opened and packs, and counts where it packs: two words an element then.
const SCALED = 5u;

struct Params {
  len: u32,
  // Groups of the parameter before the first of these: random words are named by the group.
  block: u32,
  gradient_dtype: u32,
  // Elements before the first, in the binding of `gradient`; the others begin with theirs.
  start: u32,
  dtype: u32,
  store: u32,
  // The parameter's number.
  slot: u32,
  // Of the random words.
  seed_low: u32,
  seed_high: u32,
  // Whether lost updates are counted.
  counts: u32,
  // Chunks of the tensor before the first of these, of one that is measured.
  chunk: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> moves: array<Move>;
@group(0) @binding(2) var<storage, read> gradient: array<u32>;
@group(0) @binding(3) var<storage, read_write> parameter: array<u32>;
// What the store keeps: masters, remainders, compensations.
@group(0) @binding(4) var<storage, read_write> beside: array<u32>;
// For `lib/lost.wgsl`.
@group(0) @binding(8) var<storage, read_write> applied: array<atomic<u32>>;

// An element of a parameter, and of what is kept beside it.
struct Saved {
  code: u32,
  rest: u32,
}

// What a rule made of an element, and whether it had anything to add.
struct Moved {
  value: u32,
  is_updated: bool,
}

fn constant(place: u32) -> u32 {
  return moves[params.slot].constants[place];
}

// As numbers are: both zeros are none.
fn is_nonzero(bits: u32) -> bool {
  return (bits & MAGNITUDE_BITS) != 0u;
}

// a * b + c, rounded twice.
fn product_and(a: u32, b: u32, c: u32) -> u32 {
  return added(multiplied(a, b), c);
}

fn difference(a: u32, b: u32) -> u32 {
  return added(a, b ^ SIGN_BIT);
}

// The word of `beside` that has an element's f32.
fn wide_word(i: u32) -> u32 {
  return select(i, 2u * i, params.store == SCALED && params.counts != 0u);
}

// As it was before it was scaled, and clipped.
fn gradient_of(i: u32) -> u32 {
  let element = params.start + i;
  let code = code_in(params.gradient_dtype, gradient[word_of(params.gradient_dtype, element)], element);
  let unscaled = multiplied(widened(params.gradient_dtype, code), moves[params.slot].inverse);
  return multiplied(unscaled, moves[params.slot].clip);
}

fn kept_at(i: u32) -> Saved {
  let code = code_in(params.dtype, parameter[word_of(params.dtype, i)], i);
  switch (params.store) {
    case COPY, SCALED: {
      return Saved(code, beside[wide_word(i)]);
    }
    case REMAINDER, KAHAN: {
      return Saved(code, (beside[i >> 1u] >> (16u * (i & 1u))) & 0xffffu);
    }
    default: {
      return Saved(code, 0u);
    }
  }
}

// The bits of the value that a step starts from.
fn opened(element: Saved) -> u32 {
  if (params.store == COPY || params.store == SCALED) {
    return element.rest;
  }
  let bits = widened(params.dtype, element.code);
  if (params.store == REMAINDER) {
    return (bits - ((element.rest >> 15u) << 16u)) | element.rest;
  }
  if (params.store == KAHAN) {
    return added(bits, widened(params.dtype, element.rest));
  }
  return bits;
}

fn value_at(i: u32) -> u32 {
  return opened(kept_at(i));
}

// The halves of a master, of which the parameter's is rounded with ties away from zero.
fn split(bits: u32) -> Saved {
  let quiet = select(bits, (bits & 0xffff0000u) | 0x400000u, is_nan_bits(bits));
  return Saved((quiet + 0x8000u) >> 16u, quiet & 0xffffu);
}

// A parameter, and what rounding it cut off: nothing where it is infinite.
fn compensated(bits: u32) -> Saved {
  let code = narrowed(params.dtype, bits);
  let kept = widened(params.dtype, code);
  return Saved(code, narrowed(params.dtype, select(difference(bits, kept), 0u, is_nonfinite(kept))));
}

fn rounded_by_chance(bits: u32, random: u32) -> u32 {
  if (params.dtype == BF16) {
    return stochastic(OF_BF16, bits, random);
  }
  return stochastic(OF_F16, bits, random);
}

fn saved(bits: u32, random: u32) -> Saved {
  switch (params.store) {
    case REMAINDER: {
      return split(bits);
    }
    case KAHAN: {
      return compensated(bits);
    }
    case STOCHASTIC: {
      return Saved(rounded_by_chance(bits, random), 0u);
    }
    default: {
      return Saved(narrowed(params.dtype, bits), bits);
    }
  }
}

// The random words of a group that begins at `first`, a multiple of GROUP.
fn randoms(first: u32) -> vec4<u32> {
  if (params.store != STOCHASTIC) {
    return vec4(0u);
  }
  let seed = vec2(params.seed_low, params.seed_high);
  return words_of(seed, moves[params.slot].step, params.slot, vec2(params.block + first / GROUP, 0u));
}

// Puts back what a step made of a group of values.
fn save_group(first: u32, values: array<Moved, 4>) {
  let random = randoms(first);
  var codes: vec4<u32>;
  var rests: vec4<u32>;
  for (var k = 0u; k < GROUP && first + k < params.len; k++) {
    let element = saved(values[k].value, random[k]);
    codes[k] = element.code;
    rests[k] = element.rest;
    if (params.counts != 0u && params.store != SCALED) {
      count_update(opened(kept_at(first + k)), opened(element), values[k].is_updated);
    }
  }
  save_codes(first, codes);
  if (params.store == COPY || params.store == SCALED) {
    for (var k = 0u; k < GROUP && first + k < params.len; k++) {
      beside[wide_word(first + k)] = rests[k];
      if (params.store == SCALED && params.counts != 0u) {
        beside[2u * (first + k) + 1u] = select(0u, 1u, values[k].is_updated);
      }
    }
  } else if (params.store == REMAINDER || params.store == KAHAN) {
    beside[first / 2u] = rests.x | (rests.y << 16u);
    if (first + 2u < params.len) {
      beside[first / 2u + 1u] = rests.z | (rests.w << 16u);
    }
  }
}

fn save_codes(first: u32, codes: vec4<u32>) {
  if (params.dtype == F32) {
    for (var k = 0u; k < GROUP && first + k < params.len; k++) {
      parameter[first + k] = codes[k];
    }
    return;
  }
  parameter[first / 2u] = codes.x | (codes.y << 16u);
  if (first + 2u < params.len) {
    parameter[first / 2u + 1u] = codes.z | (codes.w << 16u);
  }
}

// Moves the elements of a group that there are: in a loop, since drivers put the functions where they are called.
fn move_group(first: u32) {
  var values: array<Moved, 4>;
  for (var k = 0u; k < GROUP && first + k < params.len; k++) {
    values[k] = moved(first + k);
  }
  save_group(first, values);
}
