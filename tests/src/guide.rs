//! The model that the guides' examples train: one linear layer, small enough to be beside the point.

pub use binade::prelude::*;
pub use binade::{Amp, Properties};
pub use binade_cpu::{Cpu, Tensor};
pub use binade_tape::{Tape, TapeError, Var};

use binade_core::ops::{CrossEntropy, Linear};

/// The error that an example ends in.
pub type Failure = Box<dyn std::error::Error>;

/// One image of four numbers, and its label.
#[derive(Clone, Debug)]
pub struct Batch {
    image: [f32; 4],
    label: i64,
}

/// Three batches whose gradients f16 can hold under the first scale of every preset.
pub fn batches() -> impl Iterator<Item = Batch> {
    [0_i64, 1, 0].into_iter().zip([0.1, 0.2, 0.3]).map(|(label, x)| {
        let image = [x, 0.2, 0.3, 0.4];
        Batch { image, label }
    })
}

/// The first of them.
pub fn batch() -> Batch {
    Batch { image: [0.1, 0.2, 0.3, 0.4], label: 0 }
}

/// A batch whose gradients overflow f16 under any scale above 2, before training and after: its loss is finite.
pub fn too_large() -> Batch {
    Batch { image: [60_000.0, 0.2, 0.3, 0.4], label: 1 }
}

/// A batch that f16 cannot hold, so that its loss is NaN there: no scale cures it.
pub fn beyond_f16() -> Batch {
    Batch { image: [100_000.0, 0.2, 0.3, 0.4], label: 1 }
}

/// A batch that was NaN before anything was computed.
pub fn not_a_number() -> Batch {
    Batch { image: [f32::NAN, 0.2, 0.3, 0.4], label: 1 }
}

/// Two rows of four weights, all of them one half.
///
/// # Panics
///
/// Never: eight values are two by four.
pub fn weight(name: &str) -> Named<Tensor> {
    let weight = Tensor::new(vec![0.5_f32; 8], &[2, 4]);
    Named::new(name, weight.expect("eight values are two by four"))
}

/// A model of one weight.
pub fn model() -> Model<Vec<Named<Tensor>>> {
    Model::new(vec![weight("weight")])
}

/// The model at `level`, moved by `AdamW`.
///
/// # Errors
///
/// When `level` is refused.
pub fn amp(level: Properties) -> Result<Amp<Cpu>, Failure> {
    Ok(initialize(Cpu, model(), UpdateRule::adamw(1e-3), level)?)
}

/// The forward pass: one layer and its loss.
///
/// # Errors
///
/// When the device refuses.
pub fn forward(
    region: &Region,
    params: &[Named<Tensor>],
    batch: &Batch,
) -> Result<Var<Cpu>, TapeError<binade_cpu::Error>> {
    forward_on(&Cpu, region, params, batch)
}

/// The forward pass on another device whose tensors are the CPU's.
///
/// # Errors
///
/// When the device refuses.
pub fn forward_on<D>(
    device: &D,
    region: &Region,
    params: &[Named<Tensor>],
    batch: &Batch,
) -> Result<Var<D>, TapeError<D::Error>>
where
    D: binade_tape::Device + Handle<Tensor = Tensor> + Linear + CrossEntropy,
    D::Error: From<binade_cpu::Error>,
{
    let tape = Tape::new(device.clone(), region);
    let weights = tape.parameters(params);
    let image = Tensor::new(batch.image.to_vec(), &[1, 4]).map_err(D::Error::from)?;
    let image = device.cast(&image, weights[0].dtype())?;
    let label = Tensor::new(vec![batch.label], &[1]).map_err(D::Error::from)?;
    tape.constant(image).linear(&weights[0], None)?.cross_entropy(&label)
}
