//! Benchmarks of parts of the step, to tell the scaler's cost: the optimizer alone, the scaler alone, and the scaler after a pass
//! that has read the gradients anyway.

use super::{
    Result,
    gpt::Gpt,
    passes,
    row::{Kind, What},
    steps,
    work::Work,
};
use binade_core::{DType, Named};
use binade_cuda::{Cuda, Found, Gradients, Masters, Scale, Tensor};
use binade_grad_scaler::{GradOps, GradScaler, LossScale, Norm, ScaleState, ScaleStore};
use binade_master_weights::{MasterWeights, Sgd, UpdateRule};

/// SGD with a buffer of momentum, the only moment.
const MOMENTUM: UpdateRule = UpdateRule::Sgd(Sgd {
    lr: 1e-4,
    momentum: 0.9,
    dampening: 0.0,
    weight_decay: 0.0,
    nesterov: false,
});

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// Fused `AdamW`, which multiplies by the inverse scale as it reads.
    Optimizer,
    /// Fused SGD with momentum, likewise.
    Sgd,
    /// Pass over the gradients, clip factor and update of the scale.
    Scaler,
    /// Clip factor and update of the scale.
    ClipAndUpdate,
}

pub(crate) struct Partial {
    cuda: Cuda,
    part: Part,
    scale: Scale,
    rule: LossScale,
    parameters: Vec<Named<Tensor>>,
    masters: Masters,
    set: Gradients,
}

impl Partial {
    pub(crate) fn new(cuda: &Cuda, gpt: Gpt, dtype: DType, part: Part) -> Result<Self> {
        let mut parameters = steps::parameters(cuda, gpt)?;
        let rule = if part == Part::Sgd { MOMENTUM } else { steps::RULE };
        let masters = cuda.masters(&mut parameters, &steps::optimizer_config(rule, dtype)?)?;
        Ok(Self {
            cuda: cuda.clone(),
            part,
            scale: cuda.upload_state(ScaleState::from_exponent(16))?,
            rule: LossScale::dynamic().with_growth_interval(u32::MAX)?,
            parameters,
            masters,
            set: steps::gradients(cuda, gpt, dtype)?,
        })
    }

    fn end(&mut self, set: &mut Gradients, found: &Found) -> Result<()> {
        let mut verdict = found.clone();
        self.cuda.clip_norm(set, Norm::L2, 1.0, &mut verdict)?;
        self.cuda.update(&mut self.scale, &[found], &[&verdict], &self.rule)?;
        Ok(())
    }
}

impl Work for Partial {
    /// Gradients, and their verdict if the part does not compute it itself.
    type Input = (Gradients, Option<Found>);
    type Output = Gradients;

    fn what(&self) -> What {
        let of @ (dtype, elements, tensors) = passes::size_of(&self.set);
        let pass = dtype.bytes() * elements;
        let (group, name, kind, bytes) = match self.part {
            Part::Optimizer => {
                let bytes = [pass + steps::FUSED * elements, tensors * steps::ROW];
                ("step", "AdamW alone, fused", Kind::InPlace, bytes)
            }
            Part::Sgd => {
                let bytes = [pass + (steps::FUSED - 8) * elements, tensors * steps::ROW];
                ("step", "SGD alone, fused", Kind::InPlace, bytes)
            }
            Part::Scaler => {
                let bytes = [pass, passes::overhead(of, 0)];
                ("scaler", "check, unscale, clip, update", Kind::Read, bytes)
            }
            Part::ClipAndUpdate => ("scaler", "clip and update alone", Kind::Nothing, [0, 0]),
        };
        What::moving(group, name, kind, of, bytes)
    }

    fn prepare(&mut self, _: usize) -> Result<Self::Input> {
        let mut set = self.set.clone();
        let found = match self.part {
            Part::Scaler => None,
            Part::Optimizer | Part::Sgd | Part::ClipAndUpdate => {
                Some(self.cuda.unscale(&mut set, &self.scale)?)
            }
        };
        Ok((set, found))
    }

    fn run(&mut self, (mut set, found): Self::Input) -> Result<Gradients> {
        let found = match found {
            Some(found) => found,
            None => self.cuda.unscale(&mut set, &self.scale)?,
        };
        if matches!(self.part, Part::Optimizer | Part::Sgd) {
            let (parameters, masters) = (&mut self.parameters, &mut self.masters);
            self.cuda.step(parameters, masters, set.clone(), &found)?;
        } else {
            self.end(&mut set, &found)?;
        }
        Ok(set)
    }
}
