// A sum that the driver must take for what it is. Drivers fold `(x + y) - x` to `y`, which is the error that compensated sums
// are made of; neither a function nor a variable stops them, but what passes through integers with a zero they do not know.

// `value`, of which nothing is known to who compiles this; `zero` is a parameter that is 0.
fn opaque(value: f32, zero: u32) -> f32 {
  return bitcast<f32>(bitcast<u32>(value) ^ zero);
}
