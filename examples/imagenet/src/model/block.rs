//! Residual blocks: convolutions with normalisation beside a shortcut.

use super::layout::Layout;
use super::{Arch, Outcome};
use binade::core::ops::{BatchNormConfig, Conv2dConfig, ImageLayout, RunningStats};
use binade_example_shared::program::{Norm, Trains};
use binade_tape::Var;

/// Widest layer of a bottleneck over its others.
const EXPANSION: usize = 4;

/// One forward pass: the parameters, and the running statistics, which a pass with a `norm` updates.
pub(super) struct Pass<'p, D: Trains> {
    pub(super) p: &'p [Var<D>],
    pub(super) running: &'p mut [RunningStats<D::Tensor>],
    /// Normalisation in training; `None` in inference.
    pub(super) norm: Option<Norm<D>>,
    /// Order of the axes of images inside the model.
    pub(super) order: ImageLayout,
}

/// Convolution and its normalisation.
#[derive(Debug)]
pub(super) struct Unit {
    /// Names of the convolution and of the normalisation.
    pub(super) paths: [String; 2],
    /// Places of the weight, the gain and the offset among the parameters.
    pub(super) params: [usize; 3],
    /// Place of the running statistics.
    pub(super) running: usize,
    pub(super) outputs: usize,
    pub(super) stride: usize,
    pub(super) padding: usize,
}

impl Unit {
    pub(super) fn apply<D: Trains>(&self, pass: &mut Pass<'_, D>, x: &Var<D>) -> Outcome<D> {
        let [weight, gain, offset] = self.params.map(|place| &pass.p[place]);
        let [conv, norm] = &self.paths;
        let [stride, padding] = [self.stride, self.padding].map(|extent| [extent; 2]);
        let config =
            Conv2dConfig { stride, padding, layout: pass.order, ..Conv2dConfig::default() };
        let images = x.at(conv).conv2d(weight, None, config)?;
        let shape = images.shape();
        let x = match pass.order {
            ImageLayout::ChannelsFirst => images,
            // A normalisation by channel of all pixels.
            ImageLayout::ChannelsLast => {
                images.reshape(&[shape[..3].iter().product(), shape[3]])?
            }
        };
        let x = x.at(norm);
        let (config, running) = (BatchNormConfig::default(), &mut pass.running[self.running]);
        let Some(norm) = pass.norm else {
            return x.batch_norm_inference(gain, offset, running, config.eps)?.reshape(&shape);
        };
        let (x, moved) = norm(&x, gain, offset, running, config)?;
        *running = moved;
        x.reshape(&shape)
    }
}

/// Convolutions with a rectifier between them, whose result is added to their input, or to a projection of it.
#[derive(Debug)]
pub(super) struct Block {
    first: Vec<Unit>,
    last: Unit,
    shortcut: Option<Unit>,
}

impl Block {
    /// Adds a block with this `path`. A bottleneck's stride is that of its middle convolution, as in torchvision.
    pub(super) fn new(
        layout: &mut Layout,
        arch: Arch,
        path: &str,
        [inputs, width]: [usize; 2],
        stride: usize,
    ) -> Self {
        let mut unit = |number: u32, channels, side, stride| {
            let paths = [format!("{path}.conv{number}"), format!("{path}.bn{number}")];
            layout.unit([&paths[0], &paths[1]], channels, side, stride)
        };
        let (first, last) = match arch {
            Arch::Resnet18 => {
                (vec![unit(1, [inputs, width], 3, stride)], unit(2, [width, width], 3, 1))
            }
            Arch::Resnet50 => {
                let first = [unit(1, [inputs, width], 1, 1), unit(2, [width, width], 3, stride)];
                (first.into(), unit(3, [width, width * EXPANSION], 1, 1))
            }
        };
        let paths = [0, 1].map(|place| format!("{path}.downsample.{place}"));
        let is_projected = stride > 1 || inputs != last.outputs;
        let shortcut = is_projected
            .then(|| layout.unit([&paths[0], &paths[1]], [inputs, last.outputs], 1, stride));
        Self { first, last, shortcut }
    }

    /// Returns the number of channels of the result.
    pub(super) fn outputs(&self) -> usize {
        self.last.outputs
    }

    /// Returns the place of the gain before the sum.
    pub(super) fn last_gain(&self) -> usize {
        self.last.params[1]
    }

    pub(super) fn apply<D: Trains>(&self, pass: &mut Pass<'_, D>, x: &Var<D>) -> Outcome<D> {
        let step = |y: Var<D>, unit: &Unit| unit.apply(pass, &y)?.relu();
        let y = self.first.iter().try_fold(x.clone(), step)?;
        let y = self.last.apply(pass, &y)?;
        let shortcut = match &self.shortcut {
            Some(unit) => unit.apply(pass, x)?,
            None => x.clone(),
        };
        y.add(&shortcut)?.relu()
    }
}
