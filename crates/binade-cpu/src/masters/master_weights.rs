//! Creating master weights, and stepping them.

use super::{
    fused::{self, Move},
    sparse::StepRows,
};
use crate::{Cpu, Error, Gradients, Tensor, gradients::supported};
use binade_core::{DType, FoundInf, Named};
use binade_master_weights::{
    HostMasters, MasterWeights, Matched, OptimizerConfig, ParamInfo, require_gradients,
};
use std::borrow::Cow;

impl MasterWeights for Cpu {
    type Masters = HostMasters;

    fn masters(
        &self,
        params: &mut Vec<Named<Tensor>>,
        config: &OptimizerConfig,
    ) -> Result<HostMasters, Error> {
        let mut masters = HostMasters::new(config, params.iter().map(|param| &*param.name))?;
        let lowered = started(&mut masters, params, config)?;
        params.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        Ok(masters)
    }

    fn set_config(&self, masters: &mut HostMasters, config: &OptimizerConfig) -> Result<(), Error> {
        Ok(masters.set_config(config)?)
    }

    fn step(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut HostMasters,
        grads: Gradients,
        found: &FoundInf,
    ) -> Result<(), Error> {
        // The match comes before the skip, so that a mismatch is refused at the first step, which in f16 is often skipped.
        let matched = matched(params, masters, &grads)?;
        if found.is_raised() {
            return Ok(());
        }
        require_gradients(&matched)?;
        let mut slots: Vec<_> = masters.next_of_all().map(Some).collect();
        let (mut moves, mut sparse) = (Vec::new(), Vec::new());
        for (param, matched) in params.iter_mut().zip(matched) {
            let Some(Matched { id, grad: place }) = matched else { continue };
            let next = slots.get_mut(id).and_then(Option::take);
            let (Some((constants, slot)), Some(grad)) = (next, &grads.entries[place].value) else {
                continue;
            };
            let param = &mut param.value;
            match grads.rows_of(place) {
                None => moves.push((place, Move { constants, grad, param, slot })),
                Some(rows) => {
                    let rows = StepRows::of(grad, rows, param, slot)?;
                    sparse.push((place, constants, rows, (param, slot)));
                }
            }
        }
        moves.extend(
            sparse.iter_mut().map(|(place, constants, rows, _)| (*place, rows.step(*constants))),
        );
        // The norm of all gradients is added up in the order of the set.
        moves.sort_by_key(|(place, _)| *place);
        fused::step_all(moves.into_iter().map(|(_, one)| one).collect(), grads.factor)?;
        for (_, _, rows, (param, slot)) in sparse {
            rows.finish(param, slot);
        }
        Ok(())
    }

    fn join(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut HostMasters,
        mut more: Vec<Named<Tensor>>,
        config: &OptimizerConfig,
    ) -> Result<(), Error> {
        let mut joined = masters.joining(config, more.iter().map(|param| &*param.name))?;
        let lowered = started(&mut joined, &more, config)?;
        more.iter_mut().zip(lowered).for_each(|(param, low)| param.value = low);
        masters.absorb(joined);
        params.append(&mut more);
        Ok(())
    }

    fn set_offsets(&self, masters: &mut HostMasters, offsets: &[Named<u64>]) -> Result<(), Error> {
        Ok(masters.set_offsets(offsets)?)
    }
}

/// Starts each of `params`, and returns them in their stored types.
fn started(
    masters: &mut HostMasters,
    params: &[Named<Tensor>],
    config: &OptimizerConfig,
) -> Result<Vec<Tensor>, Error> {
    let start = |Named { name, value }: &Named<Tensor>| {
        let stored = storable(config.dtype_of(name, storable(value.dtype())?))?;
        let values = value.to_f32().into_owned();
        let low = match config.store.before_lowering(&values, stored) {
            Cow::Borrowed(_) => value.cast(stored)?,
            Cow::Owned(copies) => Tensor::from_f32(copies, value.shape(), stored)?,
        };
        masters.insert(name, values, stored)?;
        Ok(low)
    };
    params.iter().map(start).collect()
}

fn storable(dtype: DType) -> Result<DType, Error> {
    match dtype {
        DType::BF16 | DType::F16 | DType::F32 => Ok(dtype),
        _ => Err(Error::Unsupported { what: "train parameters of", dtype }),
    }
}

/// Returns each parameter's gradient. An error comes before anything has moved.
fn matched(
    params: &[Named<Tensor>],
    masters: &HostMasters,
    grads: &Gradients,
) -> Result<Vec<Option<Matched>>, Error> {
    let facts: Vec<ParamInfo<'_>> = params.iter().map(facts).collect();
    let entries = grads.as_stored();
    for grad in entries.iter().filter_map(|entry| entry.value.as_ref()) {
        supported(grad, "step with gradients of")?;
    }
    grads.check_rows()?;
    let matched = binade_master_weights::match_gradients(&facts, masters, grads.shapes())?;
    for (param, matched) in params.iter().zip(&matched) {
        let Some(Matched { id, grad }) = matched else { continue };
        storable(param.value.dtype())?;
        if grads.rows.contains_key(grad) {
            masters.check_sparse(*id)?;
        }
    }
    Ok(matched)
}

fn facts(param: &Named<Tensor>) -> ParamInfo<'_> {
    ParamInfo { name: &param.name, dtype: param.value.dtype(), shape: param.value.shape() }
}
