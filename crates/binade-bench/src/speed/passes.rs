//! Work over plain vectors: the device's ceilings, casts, norms, and the pass that checks, unscales and measures in one.

use super::{
    Result, data,
    row::{Kind, What},
    work::{Turns, Work},
};
use binade_autocast::Autocast;
use binade_core::{DType, MultiTensor, Named, Norm, Norms};
use binade_cuda::{Cuda, Found, Gradients, ReferencePass, Scale, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState, ScaleStore};

/// Bytes of a block's partial result of a pass and of a norm, written and read.
const PARTIALS: [usize; 2] = [2 * 40, 2 * 16];
/// Bytes of a row of a kernel's table, of a pass or a cast, and of a norm.
const ROWS: [usize; 2] = [40, 32];

/// Element type, elements and tensors of a set.
pub(crate) type Size = (DType, usize, usize);

/// Tensors under names.
type Set = Vec<Named<Tensor>>;

fn named(sets: Vec<Vec<Tensor>>) -> Vec<Set> {
    let one = |tensor| Named::new("w", tensor);
    sets.into_iter().map(|set| set.into_iter().map(one).collect()).collect()
}

fn size<'t>(set: impl IntoIterator<Item = &'t Tensor> + Clone) -> Size {
    let dtype = set.clone().into_iter().next().map_or(DType::F32, Tensor::dtype);
    (dtype, set.clone().into_iter().map(Tensor::len).sum(), set.into_iter().count())
}

pub(crate) fn size_of(set: &Gradients) -> Size {
    size(set.as_stored().iter().filter_map(|entry| entry.value.as_ref()).collect::<Vec<_>>())
}

/// Returns an empty launch.
pub(crate) fn nothing(cuda: &Cuda) -> Turns<'_, (), ()> {
    let what = What::moving("launch", "an empty kernel", Kind::Nothing, (DType::F32, 0, 0), [0, 0]);
    Turns::new(what, vec![()], |()| Ok(cuda.reference_pass(ReferencePass::Nothing)?))
}

/// Returns the device's best of a kind that moves.
pub(crate) fn ceiling<'w>(
    cuda: &'w Cuda,
    kind: Kind,
    inputs: &[Tensor],
) -> Turns<'w, Tensor, Option<Tensor>> {
    let (name, passes) = match kind {
        Kind::Read => ("read", 1),
        Kind::InPlace => ("rewrite in place", 2),
        _ => ("copy by the driver", 2),
    };
    let (dtype, elements, _) = size(&inputs[..1.min(inputs.len())]);
    let what = What::moving("copy", name, kind, (dtype, elements, 1), [4 * passes * elements, 0]);
    Turns::new(what, inputs.to_vec(), move |input| match kind {
        Kind::Read => Ok(cuda.reference_pass(ReferencePass::Read(input)).map(|()| None)?),
        Kind::InPlace => Ok(cuda.reference_pass(ReferencePass::Rewrite(input)).map(|()| None)?),
        _ => Ok(Some(cuda.duplicate(input)?)),
    })
}

/// Returns the cast of each of these sets.
pub(crate) fn cast(cuda: &Cuda, sets: Vec<Vec<Tensor>>, to: DType) -> Turns<'_, Set, Set> {
    let (from, elements, tensors) = sets.first().map_or((to, 0, 0), size);
    let bytes = elements * (from.bytes() + to.bytes());
    let table = if tensors > 1 { tensors * ROWS[0] } else { 0 };
    let name = format!("{from} to {to}");
    let what = What::moving("cast", &name, Kind::Copy, (from, elements, tensors), [bytes, table]);
    let types = vec![to; tensors];
    Turns::new(what, named(sets), move |set| match set.as_slice() {
        [one] => Ok(vec![Named::new("one", cuda.cast(&one.value, to)?)]),
        many => Ok(cuda.cast_all(many, &types)?),
    })
}

/// Returns the norm of each of these sets, by a pass of its own.
pub(crate) fn norm(cuda: &Cuda, sets: Vec<Vec<Tensor>>) -> Turns<'_, Set, Norms<Tensor>> {
    let of = sets.first().map_or((DType::F32, 0, 0), size);
    let bytes = [of.1 * of.0.bytes(), overhead(of, 1)];
    let what = What::moving("norm", "L2 norm", Kind::Read, of, bytes);
    Turns::new(what, named(sets), |set| Ok(cuda.norms(set, Norm::L2)?))
}

/// Pass over a set of gradients, for each of several in turn.
pub(crate) struct Pass {
    cuda: Cuda,
    scale: Scale,
    sets: Vec<Gradients>,
}

impl Pass {
    pub(crate) fn new(cuda: &Cuda, sets: Vec<Vec<Tensor>>) -> Result<Self> {
        let scale = cuda.upload_state(ScaleState::from_exponent(16))?;
        let sets = sets.into_iter().map(data::gradients).collect();
        Ok(Self { cuda: cuda.clone(), scale, sets })
    }
}

impl Work for Pass {
    type Input = Gradients;
    type Output = (Gradients, Found);

    fn what(&self) -> What {
        let of = self.sets.first().map_or((DType::F32, 0, 0), size_of);
        let bytes = [of.1 * of.0.bytes(), overhead(of, 0)];
        What::moving("unscale", "check and unscale", Kind::Read, of, bytes)
    }

    fn prepare(&mut self, round: usize) -> Result<Gradients> {
        Ok(self.sets[round % self.sets.len()].clone())
    }

    fn run(&mut self, mut set: Gradients) -> Result<(Gradients, Found)> {
        let found = self.cuda.unscale(&mut set, &self.scale)?;
        Ok((set, found))
    }

    fn turns(&self) -> usize {
        self.sets.len()
    }
}

/// Returns the bytes that a pass (0) or a norm (1) moves beside the gradients.
///
/// `binade-cuda` cuts a set of tensors of one length into at most 4,096 chunks and one for each tensor's end; none is shorter
/// than 8,192 elements.
pub(crate) fn overhead((_, elements, tensors): Size, which: usize) -> usize {
    let chunk = elements.div_ceil(4096).next_power_of_two().max(8192);
    let chunks = tensors * (elements / tensors.max(1)).div_ceil(chunk);
    chunks * PARTIALS[which] + tensors * ROWS[which]
}
