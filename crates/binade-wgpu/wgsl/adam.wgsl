// Composed by `cargo xtask shaders`: change the sources, in `shaders`.

// shaders/lib/half_bits.wgsl
// bf16, f16 and f32 as bits: conversions in integers alone, the same on every driver. WGSL's own leave the rounding and the
// overflow to the driver, and lose the payload of NaN.

const SIGN_BIT = 0x80000000u;
const MAGNITUDE_BITS = 0x7fffffffu;
const INFINITY_BITS = 0x7f800000u;
const QUIET_BIT = 0x00400000u;

// Of an f32's bits. Comparisons of floats are no help: `x != x` is never true here.
fn is_nonfinite(bits: u32) -> bool {
  return (bits & INFINITY_BITS) == INFINITY_BITS;
}

fn is_nan_bits(bits: u32) -> bool {
  return (bits & MAGNITUDE_BITS) > INFINITY_BITS;
}

// Shifts `dropped` bits out, of 1 to 31, and rounds to nearest, ties to even.
fn shifted_out(significand: u32, dropped: u32) -> u32 {
  let kept = significand >> dropped;
  let rest = significand & ((1u << dropped) - 1u);
  let half = 1u << (dropped - 1u);
  let rounds_up = rest > half || (rest == half && (kept & 1u) == 1u);
  return kept + select(0u, 1u, rounds_up);
}

fn f16_of_f32(bits: u32) -> u32 {
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & MAGNITUDE_BITS;
  if (magnitude > INFINITY_BITS) {
    return sign | 0x7e00u | ((magnitude >> 13u) & 0x3ffu);
  }
  let exponent = magnitude >> 23u;
  // 13 bits have no place in an f16, and one more for each binade below its least normal one, 2^-14; at 25 all is gone.
  let dropped = min(max(126u, exponent + 13u) - exponent, 25u);
  let rounded = shifted_out((magnitude & 0x7fffffu) | 0x800000u, dropped);
  // The leading bit, which f16 does not store, is one of the exponent; so is what rounding carries.
  let base = (max(exponent, 113u) - 113u) << 10u;
  return sign | min(base + rounded, 0x7c00u);
}

fn f32_of_f16(code: u32) -> u32 {
  let sign = (code & 0x8000u) << 16u;
  let magnitude = code & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    let payload = (magnitude & 0x3ffu) << 13u;
    return sign | INFINITY_BITS | payload | select(0u, QUIET_BIT, payload != 0u);
  }
  if (magnitude >= 0x400u) {
    return sign | ((magnitude << 13u) + 0x38000000u);
  }
  if (magnitude == 0u) {
    return sign;
  }
  // So many units of 2^-24.
  let top = firstLeadingBit(magnitude);
  return sign | ((top + 103u) << 23u) | ((magnitude << (23u - top)) & 0x7fffffu);
}

fn bf16_of_f32(bits: u32) -> u32 {
  if (is_nan_bits(bits)) {
    return (bits >> 16u) | 0x40u;
  }
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

fn f32_of_bf16(code: u32) -> u32 {
  return code << 16u;
}

// shaders/lib/added.wgsl
// The sum of two f32 rounded to nearest even, subnormals kept, which drivers may flush.

// Below this exponent a number times 2^149 is in range still, and above it no sum with anything is subnormal.
const MOST_RAISED = 100u;

// Times 2^149, which makes subnormals whole numbers: by bits, so that nothing is flushed.
fn raised(bits: u32) -> f32 {
  let magnitude = bits & MAGNITUDE_BITS;
  let of_subnormal = bitcast<u32>(f32(magnitude));
  let value = select(magnitude + (149u << 23u), of_subnormal, magnitude < 0x800000u);
  return bitcast<f32>(value | (bits & SIGN_BIT));
}

fn added(a: u32, b: u32) -> u32 {
  let exponents = max((a & MAGNITUDE_BITS) >> 23u, (b & MAGNITUDE_BITS) >> 23u);
  if (exponents >= MOST_RAISED) {
    return bitcast<u32>(bitcast<f32>(a) + bitcast<f32>(b));
  }
  let sum = bitcast<u32>(raised(a) + raised(b));
  let magnitude = bitcast<f32>(sum & MAGNITUDE_BITS);
  // Whole numbers up to 2^24 are codes.
  if (magnitude < 16777216.0) {
    return (sum & SIGN_BIT) | u32(magnitude);
  }
  return sum - (149u << 23u);
}

// shaders/lib/elements.wgsl
// Elements of bf16, f16 and f32 in words of 32 bits: halves lie two in a word, the first in its lower bits. `element` counts
// from the binding's start. An invocation owns a group of elements, and with it whole words of what it writes.

// As `crate::dispatch::structs::code` has them.
const BF16 = 0u;
const F16 = 1u;
const F32 = 2u;

const THREADS = 256u;
const GROUP = 4u;

// The word that holds an element.
fn word_of(dtype: u32, element: u32) -> u32 {
  return select(element >> 1u, element, dtype == F32);
}

// The element's bits, of the word that holds it.
fn code_in(dtype: u32, word: u32, element: u32) -> u32 {
  return select((word >> (16u * (element & 1u))) & 0xffffu, word, dtype == F32);
}

// The bits of the f32 that an element's bits stand for.
fn widened(dtype: u32, code: u32) -> u32 {
  if (dtype == BF16) {
    return f32_of_bf16(code);
  }
  if (dtype == F16) {
    return f32_of_f16(code);
  }
  return code;
}

// The element's bits for the bits of an f32, rounded to nearest even.
fn narrowed(dtype: u32, bits: u32) -> u32 {
  if (dtype == BF16) {
    return bf16_of_f32(bits);
  }
  if (dtype == F16) {
    return f16_of_f32(bits);
  }
  return bits;
}

// Elements that one invocation leaves out for the next round of a grid that strides.
fn stride(groups: vec3<u32>) -> u32 {
  return groups.x * THREADS * GROUP;
}

// shaders/lib/wide.wgsl
// Integers of 64 bits, which WGSL does not have: the lower word first, signed ones in two's complement. All of it wraps.

// Of the sign that a word of 32 bits has.
fn extended(value: i32) -> vec2<u32> {
  return vec2(bitcast<u32>(value), bitcast<u32>(value >> 31u));
}

fn is_negative(a: vec2<u32>) -> bool {
  return (a.y >> 31u) != 0u;
}

fn plus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn minus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

// Unsigned.
fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// The whole product of two words, by halves of them.
fn product(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let left = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let right = (a & 0xffffu) * (b >> 16u) + (left & 0xffffu);
  return vec2((low & 0xffffu) | (right << 16u), (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u));
}

// The lower 64 bits of a product.
fn times(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return product(a.x, b.x) + vec2(0u, a.x * b.y + a.y * b.x);
}

// The upper 64 bits of an unsigned product.
fn times_high(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let left = plus(product(a.y, b.x), vec2(product(a.x, b.x).y, 0u));
  let right = plus(product(a.x, b.y), vec2(left.x, 0u));
  return plus(plus(product(a.y, b.y), vec2(left.y, 0u)), vec2(right.y, 0u));
}

// By 0 to 63 bits.
fn shifted_left(a: vec2<u32>, bits: u32) -> vec2<u32> {
  if (bits >= 32u) {
    return vec2(0u, a.x << (bits - 32u));
  }
  return select(vec2(a.x << bits, (a.y << bits) | (a.x >> (32u - bits))), a, bits == 0u);
}

// By any number of bits, unsigned and rounded down.
fn shifted_right(a: vec2<u32>, bits: u32) -> vec2<u32> {
  if (bits >= 32u) {
    return vec2(select(a.y >> (bits & 31u), 0u, bits > 63u), 0u);
  }
  return select(vec2((a.x >> bits) | (a.y << (32u - bits)), a.y >> bits), a, bits == 0u);
}

fn leading_zeros(a: vec2<u32>) -> u32 {
  return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}

// By 1 to 31 bits; signed, and so rounded down.
fn shifted_down(a: vec2<u32>, bits: u32) -> vec2<u32> {
  return vec2((a.x >> bits) | (a.y << (32u - bits)), bitcast<u32>(bitcast<i32>(a.y) >> bits));
}

fn negated(a: vec2<u32>) -> vec2<u32> {
  return minus(vec2(0u), a);
}

// Signed by a divisor of 1 to 2^31, rounded towards zero: bit by bit.
fn quotient(a: vec2<u32>, divisor: u32) -> vec2<u32> {
  var rest = select(a, negated(a), is_negative(a));
  var left = 0u;
  for (var bit = 0u; bit < 64u; bit++) {
    left = (left << 1u) | (rest.y >> 31u);
    let fits = left >= divisor;
    left -= select(0u, divisor, fits);
    rest = shifted_left(rest, 1u) | vec2(select(0u, 1u, fits), 0u);
  }
  return select(rest, negated(rest), is_negative(a));
}

// a / b * 2^55 of two with equally many bits, 62 at most, so that it has 55 or 56: the last is 1 where anything was cut off.
fn ratio(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  var rest = a;
  var found = vec2(0u);
  for (var bit = 0u; bit < 56u; bit++) {
    let fits = !is_less(rest, b);
    rest = minus(rest, select(vec2(0u), b, fits));
    found = shifted_left(found, 1u) | vec2(select(0u, 1u, fits), 0u);
    rest = shifted_left(rest, 1u);
  }
  return found | vec2(select(0u, 1u, any(rest != vec2(0u))), 0u);
}

// The largest integer whose square is at most this, bit by bit.
fn root(value: vec2<u32>) -> vec2<u32> {
  var rest = value;
  var found = vec2(0u);
  for (var bit = 0u; bit < 32u; bit++) {
    let place = 62u - 2u * bit;
    let one = select(vec2(1u << place, 0u), vec2(0u, 1u << (place - 32u)), place >= 32u);
    let candidate = plus(found, one);
    let fits = !is_less(rest, candidate);
    rest = minus(rest, select(vec2(0u), candidate, fits));
    found = plus(shifted_right(found, 1u), select(vec2(0u), one, fits));
  }
  return found;
}

// What a signed one is, or the nearest of 32 bits.
fn within_word(a: vec2<u32>) -> i32 {
  if (extended(bitcast<i32>(a.x)).y == a.y) {
    return bitcast<i32>(a.x);
  }
  return select(0x7fffffff, -0x7fffffff - 1, is_negative(a));
}

// shaders/lib/multiply.wgsl
// The product of two f32 by their bits, rounded to nearest even, subnormals kept: drivers may flush those, and what a scale
// rescues lies among them.

const QUIET_NAN = 0x7fc00000u;

// 24 bits, and the power of two of the lowest, of a number that is neither 0 nor infinite.
struct Parts {
  significand: u32,
  exponent: i32,
}

fn parts_of(magnitude: u32) -> Parts {
  let exponent = i32(magnitude >> 23u);
  let fraction = magnitude & 0x7fffffu;
  if (exponent == 0) {
    let up = countLeadingZeros(fraction) - 8u;
    return Parts(fraction << up, -149 - i32(up));
  }
  return Parts(fraction | 0x800000u, exponent - 150);
}

// The magnitude nearest to significand * 2^exponent, of one with 33 to 63 bits.
fn nearest(significand: vec2<u32>, exponent: i32) -> u32 {
  let bits = 64 - i32(countLeadingZeros(significand.y));
  // Those that an f32 has no place for: more where the result is subnormal.
  let dropped = max(bits - 24, -149 - exponent);
  if (dropped > bits) {
    return 0u;
  }
  if (exponent + dropped > 104) {
    return INFINITY_BITS;
  }
  let kept = shifted_right(significand, u32(dropped)).x;
  let rest = minus(significand, shifted_left(vec2(kept, 0u), u32(dropped)));
  let half = shifted_left(vec2(1u, 0u), u32(dropped) - 1u);
  let is_tie = all(rest == half);
  let rounds_up = is_less(half, rest) || (is_tie && (kept & 1u) == 1u);
  // The leading bit, which an f32 does not store, is one of the exponent; so is what rounding carries.
  let base = select(0u, u32(exponent + dropped + 149) << 23u, kept >= 0x800000u);
  return base + kept + select(0u, 1u, rounds_up);
}

// Whether the driver's own product is right: both factors and the result are normal whatever is rounded.
fn is_normal_product(x: u32, y: u32) -> bool {
  let exponents = (x >> 23u) + (y >> 23u);
  let are_normal = min(x, y) >= 0x800000u && max(x, y) < INFINITY_BITS;
  return are_normal && exponents > 127u && exponents < 380u;
}

fn multiplied(a: u32, b: u32) -> u32 {
  let sign = (a ^ b) & SIGN_BIT;
  let x = a & MAGNITUDE_BITS;
  let y = b & MAGNITUDE_BITS;
  if (is_normal_product(x, y)) {
    return bitcast<u32>(bitcast<f32>(a) * bitcast<f32>(b));
  }
  if (max(x, y) > INFINITY_BITS) {
    return QUIET_NAN;
  }
  if (max(x, y) == INFINITY_BITS) {
    return select(sign | INFINITY_BITS, QUIET_NAN, min(x, y) == 0u);
  }
  if (min(x, y) == 0u) {
    return sign;
  }
  let left = parts_of(x);
  let right = parts_of(y);
  return sign | nearest(product(left.significand, right.significand), left.exponent + right.exponent);
}

// shaders/lib/moves.wgsl
// What `prepare` leaves to the fused steps, for each parameter. The host's twins are in `binade-wgpu/src/dispatch/structs`.

// Places of `Move.constants` that hang on the count of applied steps.
const FIRST = 5u;
const ROOT_CORRECTION = 5u;
const NEGATIVE_STEP = 7u;

struct Move {
  is_stepped: u32,
  // What the gradient is still owed.
  inverse: u32,
  clip: u32,
  // Steps applied before this one: the lower word, which names random numbers.
  step: u32,
  // `SgdConstants::to_row` or `AdamConstants::to_row`.
  constants: array<u32, 9>,
}

struct Applied {
  steps: vec2<u32>,
  // Of the weights whose update was not zero in the last step: those that stayed as they were, and those that moved. The fused
  // steps count them, where the plan asks for it; they know the two by their places, 2 and 3 of the four words.
  lost: u32,
  moved: u32,
}

// shaders/lib/philox.wgsl
// Philox4x32-10 as `binade_core::stochastic` has it: random words that depend on nothing but a name.

fn philox(name: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
  var counter = name;
  var key = seed;
  for (var round = 0u; round < 10u; round++) {
    let first = product(0xd2511f53u, counter.x);
    let second = product(0xcd9e8d57u, counter.z);
    counter = vec4(second.y ^ counter.y ^ key.x, second.x, first.y ^ counter.w ^ key.y, first.x);
    key += vec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return counter;
}

// The words of elements 4 * block to 4 * block + 3.
fn words_of(seed: vec2<u32>, step: u32, parameter: u32, block: vec2<u32>) -> vec4<u32> {
  return philox(vec4(block, step, parameter), seed);
}

// shaders/lib/codec.wgsl
// Rounding f32 among the codes of a narrower format, in integers: line for line `binade_core::cast::codec`, which says why it
// works.

// A format: bits of the significand that are stored, all but the sign's in ones, what infinity or NaN begins with, and the
// exponent of an f32 that is its first normal one.
struct Format {
  stored: u32,
  sign_bit: u32,
  most: u32,
  not_a_number: u32,
  first_normal: u32,
}

const OF_BF16 = Format(7u, 15u, 0x7f7fu, 0x7fc0u, 1u);
const OF_F16 = Format(10u, 15u, 0x7bffu, 0x7e00u, 113u);

// A magnitude as number / 2^point.
struct Fixed {
  number: u32,
  point: u32,
}

fn fixed_of(format: Format, magnitude: u32) -> Fixed {
  let exponent = magnitude >> 23u;
  let dropped = 23u - format.stored;
  if (exponent >= format.first_normal) {
    return Fixed(magnitude - ((format.first_normal - 1u) << 23u), dropped);
  }
  let significand = (magnitude & 0x7fffffu) | select(0x800000u, 0u, exponent == 0u);
  let point = dropped + format.first_normal - max(exponent, 1u);
  if (point <= 31u) {
    return Fixed(significand, point);
  }
  // 31 bits of fraction are kept, so that the sum with a random fraction fits in 32 bits.
  return Fixed(select(0u, significand >> ((point - 31u) & 31u), point <= 54u), 31u);
}

// What of a random word is added rounds up as often as the rest is large; beyond the largest lies infinity, or NaN.
fn stochastic(format: Format, bits: u32, random: u32) -> u32 {
  let fixed = fixed_of(format, bits & 0x7fffffffu);
  let code = (fixed.number + (random >> (32u - fixed.point))) >> fixed.point;
  let is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  let magnitude = select(min(code, format.most + 1u), format.not_a_number, is_nan);
  return magnitude | ((bits >> 31u) << format.sign_bit);
}

// shaders/lib/lost.wgsl
// Whether updates changed anything, counted: `applied` is `Applied`, four words each, of which the last two are counted in here.
//!asks applied, params

// As numbers are: NaN is no other, and zeros are one.
fn is_same(a: u32, b: u32) -> bool {
  let are_zero = ((a | b) & MAGNITUDE_BITS) == 0u;
  return are_zero || (a == b && !is_nan_bits(a));
}

// Counts an element's update by what is kept of it, before and after.
fn count_update(before: u32, after: u32, is_updated: bool) {
  if (!is_same(before, after)) {
    atomicAdd(&applied[4u * params.slot + 3u], 1u);
  } else if (is_updated) {
    atomicAdd(&applied[4u * params.slot + 2u], 1u);
  }
}

// shaders/lib/step.wgsl
// What every optimizer's fused step does around its arithmetic: reads a gradient once, settles it, moves the master, and writes
// the low-precision copy. `binade_master_weights::step` is its model, and its `stores` are those of the masters.
//
// Floats are bits here, and sums and products those that keep subnormals: what a master has beyond its parameter is small.
//!asks moved

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

// shaders/adam.wgsl
// One step of Adam, AdamW or AMSGrad on a parameter.
//
// Oracle: `cases/adam.rs`; agreement: the bound of arithmetic that does not fuse products and sums, with quotients and roots
// within 2.5 units in the last place.
//
// `adam`: a grid of any size strides over groups of four elements, after `prepare` has put the constants in place. Does nothing
// where the step is skipped.
//
// What is added to a master, and what it shrinks to, keep subnormals. The moments and the quotient are by the driver's arithmetic,
// which may flush and fuse: in bits, all of it takes a driver on the CPU several times as long to compile.

@group(0) @binding(5) var<storage, read_write> means: array<u32>;
@group(0) @binding(6) var<storage, read_write> squares: array<u32>;
@group(0) @binding(7) var<storage, read_write> largest: array<u32>;

const SHRINK = 0u;
const WEIGHT_DECAY = 1u;
const MEAN_WEIGHT = 2u;
const BETA2 = 3u;
const SQUARE_WEIGHT = 4u;
const EPS = 6u;
const AMSGRAD = 8u;

const ONE = 0x3f800000u;

// torch's `lerp`: from whichever end is nearer.
fn lerp(start: f32, end: f32, weight: f32) -> f32 {
  let way = end - start;
  return select(end - way * (1.0 - weight), start + weight * way, weight < 0.5);
}

// torch's `maximum`: NaN if either is; of magnitudes, where NaN is largest.
fn maximum(a: u32, b: u32) -> u32 {
  return select(a, b, b > a);
}

fn float_at(place: u32) -> f32 {
  return bitcast<f32>(constant(place));
}

fn moved(i: u32) -> Moved {
  let kept = value_at(i);
  let before = multiplied(kept, constant(SHRINK));
  var slope = bitcast<f32>(gradient_of(i));
  if (is_nonzero(constant(WEIGHT_DECAY))) {
    slope = bitcast<f32>(before) * float_at(WEIGHT_DECAY) + slope;
  }
  let mean = lerp(bitcast<f32>(means[i]), slope, float_at(MEAN_WEIGHT));
  means[i] = bitcast<u32>(mean);
  let square = (float_at(SQUARE_WEIGHT) * slope) * slope + bitcast<f32>(squares[i]) * float_at(BETA2);
  squares[i] = bitcast<u32>(square);
  var second = bitcast<u32>(square);
  if (is_nonzero(constant(AMSGRAD))) {
    second = maximum(largest[i], second);
    largest[i] = second;
  }
  let denominator = sqrt(bitcast<f32>(second)) / float_at(ROOT_CORRECTION) + float_at(EPS);
  let change = multiplied(constant(NEGATIVE_STEP), bitcast<u32>(mean));
  let shrinks = constant(SHRINK) != ONE && is_nonzero(kept);
  let after = added(bitcast<u32>(bitcast<f32>(change) / denominator), before);
  return Moved(after, shrinks || is_nonzero(change));
}

@compute @workgroup_size(256)
fn adam(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let end = select(0u, params.len, moves[params.slot].is_stepped != 0u);
  for (var i = id.x * GROUP; i < end; i += stride(groups)) {
    move_group(i);
  }
}
