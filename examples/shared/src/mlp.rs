//! Perceptron that learns the digits: two hidden layers, each with a rectifier behind it.

use crate::data::CLASSES;
use crate::first;

/// Units of the hidden layers.
pub const HIDDEN: [usize; 2] = [128, 64];

/// Returns names and shapes of its parameters, in the order of the layers; a weight is `[outputs, inputs]`.
pub fn layout(pixels: usize) -> [(&'static str, Vec<usize>); 6] {
    [
        ("linear0.weight", vec![HIDDEN[0], pixels]),
        ("linear0.bias", vec![HIDDEN[0]]),
        ("linear1.weight", vec![HIDDEN[1], HIDDEN[0]]),
        ("linear1.bias", vec![HIDDEN[1]]),
        ("head.weight", vec![CLASSES, HIDDEN[1]]),
        ("head.bias", vec![CLASSES]),
    ]
}

/// Parameter before training.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name: layer and part.
    pub name: &'static str,
    /// Shape: `[outputs, inputs]` or `[outputs]`.
    pub shape: Vec<usize>,
    /// Values, row-major.
    pub values: Vec<f32>,
}

/// Returns its first parameters, fixed by `seed`.
pub fn parameters(pixels: usize, seed: u64) -> [Parameter; 6] {
    let mut random = fastrand::Rng::with_seed(seed);
    layout(pixels).map(|(name, shape)| {
        let values = first::values(name, &shape, &mut random);
        Parameter { name, shape, values }
    })
}
