//! ResNet-18 and ResNet-50: parameters by torchvision's names, and the forward pass.

mod block;
mod layout;

use binade::autocast::Region;
use binade::core::ops::{AvgPool2dConfig, ImageLayout, MaxPool2dConfig, RunningStats};
use binade::core::{DType, Handle, Named};
use binade_example_shared::program::{Norm, Trains};
use binade_tape::{Tape, TapeError, Var};
use block::{Block, Pass, Unit};
use clap::ValueEnum;
use layout::Layout;
use std::collections::BTreeMap;

type Outcome<D> = Result<Var<D>, TapeError<<D as Handle>::Error>>;

/// Kind and number of the blocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Arch {
    /// 8 blocks of two convolutions.
    Resnet18,
    /// 16 blocks of three convolutions, the widest of which is 1 by 1.
    Resnet50,
}

impl Arch {
    /// Returns the blocks of each stage.
    fn stages(self) -> [usize; 4] {
        match self {
            Self::Resnet18 => [2, 2, 2, 2],
            Self::Resnet50 => [3, 4, 6, 3],
        }
    }

    /// Returns the name that the command line has.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resnet18 => "resnet18",
            Self::Resnet50 => "resnet50",
        }
    }
}

/// Sizes of a model.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sizes {
    /// Kind and number of the blocks.
    pub arch: Arch,
    /// Channels of the first stage; 64 in the paper (He et al. 2016, arXiv 1512.03385).
    pub width: usize,
    /// Number of classes.
    pub classes: usize,
}

/// Layers of a model, and what their parameters are.
#[derive(Debug)]
pub struct Resnet {
    layout: Layout,
    stem: Unit,
    blocks: Vec<Block>,
    /// Places of the last layer's weight and bias.
    head: [usize; 2],
}

impl Resnet {
    /// Creates the layers. With `zero_init`, the last gain of each block starts at 0 (Goyal et al. 2017, arXiv 1706.02677).
    pub fn new(sizes: Sizes, zero_init: bool) -> Self {
        let Sizes { arch, width, classes } = sizes;
        let mut layout = Layout::default();
        let stem = layout.unit(["conv1", "bn1"], [3, width], 7, 2);
        let (mut blocks, mut inputs) = (Vec::new(), width);
        for (stage, count) in arch.stages().into_iter().enumerate() {
            for place in 0..count {
                let stride = if stage > 0 && place == 0 { 2 } else { 1 };
                let path = format!("layer{}.{place}", stage + 1);
                let block = Block::new(&mut layout, arch, &path, [inputs, width << stage], stride);
                inputs = block.outputs();
                blocks.push(block);
            }
        }
        if zero_init {
            for block in &blocks {
                layout.start_at_zero(block.last_gain());
            }
        }
        let head = layout.linear("fc", [inputs, classes]);
        Self { layout, stem, blocks, head }
    }

    /// Returns names and shapes of the parameters, in the order of the layers.
    pub fn shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.layout.params.iter().map(|param| (&*param.name, &*param.shape))
    }

    /// Returns the names of gains and offsets of normalisations, and of the last layer's bias.
    pub fn vectors(&self) -> impl Iterator<Item = &str> {
        self.shapes().filter(|(_, shape)| shape.len() == 1).map(|(name, _)| name)
    }

    /// Returns the logits of images [N, 3, H, W]: [N, classes].
    fn forward<D: Trains>(&self, pass: &mut Pass<'_, D>, images: &Var<D>) -> Outcome<D> {
        let layout = pass.order;
        let images = match layout {
            ImageLayout::ChannelsFirst => images.clone(),
            ImageLayout::ChannelsLast => images.permute(&[0, 2, 3, 1])?,
        };
        let x = self.stem.apply(pass, &images)?.relu()?;
        let (stride, padding) = ([2, 2], [1, 1]);
        let pool = MaxPool2dConfig { stride, padding, layout, ..MaxPool2dConfig::square(3) };
        let x = x.at("maxpool").max_pool2d(pool)?;
        let x = self.blocks.iter().try_fold(x, |x, block| block.apply(pass, &x))?;
        let [count, channels, rows, columns] = layout.extents(&x.shape()).unwrap_or_default();
        let (kernel, stride) = ([rows, columns], [1, 1]);
        let pool = AvgPool2dConfig { kernel, stride, layout, ..AvgPool2dConfig::square(1) };
        let rows = x.at("avgpool").avg_pool2d(pool)?.reshape(&[count, channels])?;
        let [weight, bias] = self.head;
        rows.at("fc").linear(&pass.p[weight], Some(&pass.p[bias]))
    }
}

/// Model on a device, with the running statistics of its normalisations.
#[derive(Debug)]
pub(crate) struct Net<D: Trains> {
    pub(crate) resnet: Resnet,
    pub(crate) running: Vec<RunningStats<D::Tensor>>,
    norm: Norm<D>,
    order: ImageLayout,
}

impl<D: Trains> Net<D> {
    /// Creates a model that normalises by `norm` in training, with images in this order inside and fresh running statistics.
    pub(crate) fn new(
        resnet: Resnet,
        norm: Norm<D>,
        order: ImageLayout,
        device: &D,
    ) -> Result<Self, D::Error> {
        let fresh = |(_, channels): &(String, usize)| {
            let filled = |value| device.fill(value, &[*channels], DType::F32);
            Ok(RunningStats { mean: filled(0.0)?, var: filled(1.0)? })
        };
        let running = resnet.layout.norms.iter().map(fresh).collect::<Result<_, _>>()?;
        Ok(Self { resnet, running, norm, order })
    }

    /// Returns first parameters, fixed by `seed`.
    pub(crate) fn parameters(
        &self,
        device: &D,
        seed: u64,
    ) -> Result<Vec<Named<D::Tensor>>, D::Error> {
        let mut random = fastrand::Rng::with_seed(seed);
        let first = |param: &layout::Param| {
            let values = param.values(&mut random);
            Ok(Named::new(&*param.name, device.upload(&values, &param.shape, DType::F32)?))
        };
        self.resnet.layout.params.iter().map(first).collect()
    }

    /// Returns the names of gains and offsets of normalisations, which a forward pass of two small images in `f32` finds.
    pub(crate) fn norms(
        &self,
        device: &D,
        params: &[Named<D::Tensor>],
    ) -> Result<Vec<String>, TapeError<D::Error>> {
        let tape = Tape::new(device.clone(), &Region::bf16().off());
        let images = tape.constant(device.fill(0.0, &[2, 3, 8, 8], DType::F32)?);
        let (p, mut running) = (tape.parameters(params), self.running.clone());
        // Not by the model's own normalisation, which may meet other ranks.
        let norm: Norm<D> = Var::batch_norm;
        let mut pass = Pass { p: &p, running: &mut running, norm: Some(norm), order: self.order };
        self.resnet.forward(&mut pass, &images)?;
        tape.norms()
    }

    /// Returns the logits of images [N, 3, H, W]: [N, classes]. Training normalises by the batch, and updates the running statistics.
    pub(crate) fn forward(&mut self, p: &[Var<D>], images: &Var<D>, training: bool) -> Outcome<D> {
        let Self { resnet, running, norm, order } = self;
        let mut pass = Pass { p, running, norm: training.then_some(*norm), order: *order };
        resnet.forward(&mut pass, images)
    }

    /// Returns the running statistics as `f32`, by torchvision's names.
    pub(crate) fn running(&self, device: &D) -> Result<BTreeMap<String, Vec<f32>>, D::Error> {
        let mut all = BTreeMap::new();
        for ((path, _), RunningStats { mean, var }) in
            self.resnet.layout.norms.iter().zip(&self.running)
        {
            for (name, value) in [("running_mean", mean), ("running_var", var)] {
                all.insert(format!("{path}.{name}"), device.download(value)?);
            }
        }
        Ok(all)
    }

    /// Replaces the running statistics by those of these names; returns the first name that is missing.
    pub(crate) fn set_running(
        &mut self,
        device: &D,
        of: impl Fn(&str) -> Option<Vec<f32>>,
    ) -> Result<Option<String>, D::Error> {
        for ((path, channels), stats) in self.resnet.layout.norms.iter().zip(&mut self.running) {
            for (name, value) in
                [("running_mean", &mut stats.mean), ("running_var", &mut stats.var)]
            {
                let name = format!("{path}.{name}");
                let Some(values) = of(&name).filter(|values| values.len() == *channels) else {
                    return Ok(Some(name));
                };
                *value = device.upload(&values, &[*channels], DType::F32)?;
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
