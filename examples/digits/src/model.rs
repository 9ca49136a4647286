//! Two models, with their parameters and forward passes.

use crate::args::ModelKind;
use crate::data::CLASSES;
use binade::autocast::Region;
use binade::core::{DType, Handle, Named, RawTensor, TensorSpec};
use binade_core::ops::{BatchNormConfig, Conv2dConfig, MaxPool2dConfig, RunningStats};
use binade_example_shared::program::Norm;
use binade_example_shared::{first, mlp};
use binade_tape::{Tape, TapeError, Var};
use std::collections::BTreeMap;

pub use binade_example_shared::program::Trains;

type Outcome<D> = Result<Var<D>, TapeError<<D as Handle>::Error>>;

const CHANNELS: [usize; 3] = [1, 16, 32];
/// Factor by which two poolings reduce each side, rounded down.
const POOLING: usize = 2 * 2;
/// Least pixels a side for the convolutional model: one is left after its poolings.
pub const LEAST: usize = POOLING;

/// Model of one kind, for images of one size, with the running statistics of its normalisations.
#[derive(Debug)]
pub struct Net<D: Trains> {
    kind: ModelKind,
    size: [usize; 2],
    running: Vec<RunningStats<D::Tensor>>,
    norm: Norm<D>,
}

impl<D: Trains> Net<D> {
    /// Creates a model for images of `size`, height and width, with fresh running statistics. For the convolutional one both are
    /// [`LEAST`] or more.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn new(kind: ModelKind, size: [usize; 2], device: &D) -> Result<Self, D::Error> {
        let channels = if kind == ModelKind::Cnn { &CHANNELS[1..] } else { &[] };
        let fresh = |&c: &usize| {
            let filled = |value| device.upload(&vec![value; c], &[c], DType::F32);
            Ok(RunningStats { mean: filled(0.0)?, var: filled(1.0)? })
        };
        let running = channels.iter().map(fresh).collect::<Result<_, _>>()?;
        Ok(Self { kind, size, running, norm: Var::batch_norm })
    }

    /// Returns the model with another normalisation in training: of the batch of several devices.
    pub(crate) fn with_norm(self, norm: Norm<D>) -> Self {
        Self { norm, ..self }
    }

    /// Returns first parameters, as [`first::values`] has them, fixed by `seed`.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn parameters(&self, device: &D, seed: u64) -> Result<Vec<Named<D::Tensor>>, D::Error> {
        let mut random = fastrand::Rng::with_seed(seed);
        let first = |(name, shape): (&str, Vec<usize>)| {
            let values = first::values(name, &shape, &mut random);
            Ok(Named::new(name, device.upload(&values, &shape, DType::F32)?))
        };
        layout(self.kind, self.size).into_iter().map(first).collect()
    }

    /// Returns the names of gains and offsets of normalisations, which a forward pass of one image in `f32` finds.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub(crate) fn norms(
        &self,
        device: &D,
        params: &[Named<D::Tensor>],
    ) -> Result<Vec<String>, TapeError<D::Error>> {
        let tape = Tape::new(device.clone(), &Region::bf16().off());
        let image = device.fill(0.0, &[1, self.size.iter().product()], DType::F32)?;
        // A model of its own, since training moves running statistics and may meet other ranks.
        let mut alone = Self::new(self.kind, self.size, device)?;
        alone.forward(&tape.parameters(params), &tape.constant(image), true)?;
        tape.norms()
    }

    /// Returns the running statistics, by name.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub(crate) fn running(&self, device: &D) -> Result<Vec<(String, RawTensor)>, D::Error> {
        let mut all = Vec::new();
        for (index, RunningStats { mean, var }) in self.running.iter().enumerate() {
            for (name, value) in [("mean", mean), ("var", var)] {
                let values = device.download(value)?;
                let raw = RawTensor::from_f32(TensorSpec::new(DType::F32, [values.len()]), &values);
                all.extend(raw.map(|raw| (format!("norm{index}.{name}"), raw)));
            }
        }
        Ok(all)
    }

    /// Replaces the running statistics by those of these names.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub(crate) fn set_running(
        &mut self,
        device: &D,
        saved: &BTreeMap<String, RawTensor>,
    ) -> Result<(), D::Error> {
        for (index, RunningStats { mean, var }) in self.running.iter_mut().enumerate() {
            for (name, value) in [("mean", mean), ("var", var)] {
                let raw = saved.get(&format!("norm{index}.{name}"));
                if let Some(values) = raw.and_then(RawTensor::to_f32) {
                    *value = device.upload(&values, &[values.len()], DType::F32)?;
                }
            }
        }
        Ok(())
    }

    /// Trains logits of a batch, [N, 10], from pixels, [N, height · width]. Training normalises by the batch, and updates the
    /// running statistics.
    ///
    /// # Errors
    ///
    /// If the device or the policy refuses.
    pub fn forward(&mut self, p: &[Var<D>], pixels: &Var<D>, training: bool) -> Outcome<D> {
        // Pixels are cast to the parameters' type, which a level chooses: the first layer takes it.
        let x = pixels.cast(p[0].dtype())?;
        match self.kind {
            ModelKind::Mlp => perceptron(p, &x),
            ModelKind::Cnn => self.cnn(p, &x, training),
        }
    }

    fn cnn(&mut self, p: &[Var<D>], pixels: &Var<D>, training: bool) -> Outcome<D> {
        let images = pixels.shape()[0];
        let [height, width] = self.size;
        let x = pixels.reshape(&[images, CHANNELS[0], height, width])?;
        let x = self.block(0, &p[0..3], &x, training)?;
        let x = self.block(1, &p[3..6], &x, training)?;
        let x = x.reshape(&[images, CHANNELS[2] * pooled(self.size)])?;
        x.at("head").linear(&p[6], Some(&p[7]))
    }

    /// Applies convolution, normalisation, rectifier and pooling.
    fn block(&mut self, index: usize, p: &[Var<D>], x: &Var<D>, training: bool) -> Outcome<D> {
        let same = Conv2dConfig { padding: [1, 1], ..Conv2dConfig::default() };
        let x = x.at(&format!("conv{index}")).conv2d(&p[0], None, same)?;
        let x = x.at(&format!("norm{index}"));
        let config = BatchNormConfig::default();
        let x = if training {
            let (x, seen) = (self.norm)(&x, &p[1], &p[2], &self.running[index], config)?;
            self.running[index] = seen;
            x
        } else {
            x.batch_norm_inference(&p[1], &p[2], &self.running[index], config.eps)?
        };
        x.relu()?.max_pool2d(MaxPool2dConfig::square(2))
    }
}

fn perceptron<D: Trains>(p: &[Var<D>], x: &Var<D>) -> Outcome<D> {
    let x = x.at("linear0").linear(&p[0], Some(&p[1]))?.relu()?;
    let x = x.at("linear1").linear(&p[2], Some(&p[3]))?.relu()?;
    x.at("head").linear(&p[4], Some(&p[5]))
}

/// Returns the pixels that the poolings leave of an image.
fn pooled(size: [usize; 2]) -> usize {
    size.iter().map(|side| side / POOLING).product()
}

/// Returns names and shapes, in the order that `forward` takes them.
fn layout(kind: ModelKind, size: [usize; 2]) -> Vec<(&'static str, Vec<usize>)> {
    let [input, first, second] = CHANNELS;
    match kind {
        ModelKind::Mlp => mlp::layout(size.iter().product()).into(),
        ModelKind::Cnn => vec![
            ("conv0.weight", vec![first, input, 3, 3]),
            ("norm0.weight", vec![first]),
            ("norm0.bias", vec![first]),
            ("conv1.weight", vec![second, first, 3, 3]),
            ("norm1.weight", vec![second]),
            ("norm1.bias", vec![second]),
            ("head.weight", vec![CLASSES, second * pooled(size)]),
            ("head.bias", vec![CLASSES]),
        ],
    }
}
