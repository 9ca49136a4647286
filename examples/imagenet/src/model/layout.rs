//! Parameters of a model: their names, shapes and first values.

use super::block::Unit;
use fastrand::Rng;
use std::f32::consts::TAU;

/// First values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Init {
    /// Normal with this standard deviation: weights of convolutions (He et al. 2015, arXiv 1502.01852, by outputs).
    Normal(f32),
    /// Uniform within this limit: the last layer.
    Uniform(f32),
    /// This value: gains and offsets of normalisations.
    Fill(f32),
}

/// Parameter before training.
#[derive(Debug)]
pub(super) struct Param {
    /// Name, such as `layer1.0.conv1.weight`.
    pub(super) name: String,
    /// Shape.
    pub(super) shape: Vec<usize>,
    init: Init,
}

impl Param {
    /// Returns first values.
    pub(super) fn values(&self, random: &mut Rng) -> Vec<f32> {
        let one = |_| match self.init {
            Init::Normal(deviation) => deviation * normal(random),
            Init::Uniform(limit) => limit * (2.0 * random.f32() - 1.0),
            Init::Fill(value) => value,
        };
        (0..self.shape.iter().product()).map(one).collect()
    }
}

/// Returns a normal number (Box, Muller 1958).
fn normal(random: &mut Rng) -> f32 {
    let radius = (-2.0 * (1.0 - random.f32()).ln()).sqrt();
    radius * (TAU * random.f32()).cos()
}

/// Parameters in the order of the layers, and the normalisations that have running statistics.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) params: Vec<Param>,
    /// Name and channels of each normalisation.
    pub(super) norms: Vec<(String, usize)>,
}

impl Layout {
    fn push(&mut self, name: String, shape: &[usize], init: Init) -> usize {
        self.params.push(Param { name, shape: shape.into(), init });
        self.params.len() - 1
    }

    /// Adds a convolution without bias, by square windows of `side`, and its normalisation.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    pub(super) fn unit(
        &mut self,
        [conv, norm]: [&str; 2],
        [inputs, outputs]: [usize; 2],
        side: usize,
        stride: usize,
    ) -> Unit {
        let deviation = (2.0 / (outputs * side * side) as f32).sqrt();
        let shape = [outputs, inputs, side, side];
        let weight = self.push(format!("{conv}.weight"), &shape, Init::Normal(deviation));
        let gain = self.push(format!("{norm}.weight"), &[outputs], Init::Fill(1.0));
        let offset = self.push(format!("{norm}.bias"), &[outputs], Init::Fill(0.0));
        self.norms.push((norm.into(), outputs));
        Unit {
            paths: [conv, norm].map(Into::into),
            params: [weight, gain, offset],
            running: self.norms.len() - 1,
            outputs,
            stride,
            padding: side / 2,
        }
    }

    /// Adds a linear layer, and returns the places of its weight and its bias.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    pub(super) fn linear(&mut self, path: &str, [inputs, outputs]: [usize; 2]) -> [usize; 2] {
        let init = Init::Uniform((inputs as f32).sqrt().recip());
        let weight = self.push(format!("{path}.weight"), &[outputs, inputs], init);
        [weight, self.push(format!("{path}.bias"), &[outputs], init)]
    }

    /// Starts this parameter at 0.
    pub(super) fn start_at_zero(&mut self, param: usize) {
        self.params[param].init = Init::Fill(0.0);
    }
}
