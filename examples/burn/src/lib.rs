//! Small network of burn's, and data to fit, as a user would have them. Nothing in here knows of Binade.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, activation};
use std::sync::{Mutex, PoisonError};

/// Inputs and targets of a network.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Inputs, a row for each example.
    pub inputs: Tensor<2>,
    /// Targets, a row for each example.
    pub targets: Tensor<2>,
}

/// Network of 16 inputs, 32 hidden units and one output.
#[derive(Module, Debug)]
pub struct Mlp {
    fc1: Linear,
    fc2: Linear,
}

/// Number of inputs of an example.
const WIDTH: usize = 16;

impl Mlp {
    /// Creates a network with weights drawn from the device's generator; seed it for the same ones.
    pub fn new(device: &Device) -> Self {
        Self {
            fc1: LinearConfig::new(WIDTH, 32).init(device),
            fc2: LinearConfig::new(32, 1).init(device),
        }
    }

    /// Creates a network with weights drawn from this seed, in any thread. burn's generator is the process's.
    pub fn seeded(device: &Device, seed: u64) -> Self {
        static GENERATOR: Mutex<()> = Mutex::new(());
        let _alone = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        device.seed(seed);
        let network = Self::new(device);
        // burn draws at the first use.
        drop(network.clone().into_record());
        network
    }

    /// Computes the output in the type of the parameters, which `x` must have.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.fc2.forward(activation::gelu(self.fc1.forward(x)))
    }
}

/// Returns 128 examples of `sin(3·x0) + x1·x2`, with inputs in [-1, 1), the same in every run.
pub fn batch(device: &Device) -> Batch {
    let mut draw = uniform(12345);
    let rows: Vec<[f32; WIDTH]> = (0..128).map(|_| std::array::from_fn(|_| draw())).collect();
    let target = |x: &[f32; WIDTH]| x[1].mul_add(x[2], (3.0 * x[0]).sin());
    let targets: Vec<f32> = rows.iter().map(target).collect();
    let column = |values: &[f32], width| {
        Tensor::<1>::from_floats(values, device).reshape([rows.len(), width])
    };
    Batch { inputs: column(rows.as_flattened(), WIDTH), targets: column(&targets, 1) }
}

/// Returns Marsaglia's generator xorshift64, its highest 16 bits at a time ("Xorshift RNGs", Journal of Statistical Software 8,
/// 2003).
fn uniform(mut state: u64) -> impl FnMut() -> f32 {
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let bits = u16::try_from(state >> 48).unwrap_or(u16::MAX);
        f32::from(bits) / 32768.0 - 1.0
    }
}
