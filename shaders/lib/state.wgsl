// What the device keeps: the scale, what a pass found, what a set of gradients is still owed. The host's twins are in
// `binade-wgpu/src/dispatch/structs`. Floats that may be infinite, NaN or subnormal are bits, so that no driver changes them.

// `binade_grad_scaler::ScaleState`, and the bits of the two factors that others read from it.
struct Scale {
  factor: u32,
  inverse: u32,
  significand: u32,
  exponent: i32,
  before: i32,
  good_steps: u32,
  bad_steps: u32,
  diverged: u32,
  updates: vec2<u32>,
  overflows: vec2<u32>,
  skipped: vec2<u32>,
  tolerated: u32,
  since_move: u32,
  // `binade_grad_scaler::Averages`.
  mean: vec2<u32>,
  slow_mean: vec2<u32>,
  square: vec2<u32>,
  taken: u32,
  slow_taken: u32,
}

// No parameter's number, and that which a norm goes by which is not finite.
const NOBODY = 0xffffffffu;
const THE_NORM = 0xfffffffeu;

// `binade_core::Finding` without names. Any positive `raised` skips.
struct Found {
  raised: u32,
  halted: u32,
  parameter: u32,
  has_norm: u32,
  index: vec2<u32>,
  scaled: u32,
  unscaled: u32,
  infinities: vec2<u32>,
  nans: vec2<u32>,
  magnitude: u32,
  norm: u32,
  rank: u32,
  pad: u32,
}

// What unscaling and clipping leave to whoever reads a set's values, and its sizes.
struct Owed {
  inverse: u32,
  clip: u32,
  // The largest magnitude there is once unscaled, where NaN is largest.
  largest: u32,
  // The sum of squares of what is finite, times 4^-exponent.
  exponent: i32,
  squares: vec2<u32>,
}
