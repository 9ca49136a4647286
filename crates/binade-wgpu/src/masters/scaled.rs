//! Masters in `f16` with one exponent for each tensor. The exponent depends on all results of a step, so the master is opened as an `f32` copy for
//! the parameter's step, and packed again after it.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, groups, parts,
        structs::{self, MOVE, count},
    },
    memory::Buffer,
    shaders::Shader,
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_gpu::{Driver, ScaledMaster};

/// Step that a master is opened for.
#[derive(Clone, Copy)]
pub(super) struct OpenedStep<'a> {
    /// Words of flags; the one at `flag` is 0 if the step is skipped.
    stepped: &'a Buffer,
    flag: u32,
    /// Where lost updates are counted, at the place of the parameter's number.
    applied: &'a Buffer,
    slot: u32,
    counts: u32,
}

impl<'a> OpenedStep<'a> {
    /// The step of the parameter `slot`.
    pub(super) fn step(moves: &'a Buffer, applied: &'a Buffer, slot: u32, counts: u32) -> Self {
        Self { stepped: moves, flag: slot * count(MOVE / 4), applied, slot, counts }
    }
}

impl Wgpu {
    /// The master of these values, of any type; nothing is waited for.
    pub(crate) fn new_scaled_master(&self, values: &Tensor) -> Result<ScaledMaster<Self>, Error> {
        let mut wide = self.cast(values, DType::F32)?;
        self.own_parameter(&mut wide)?;
        let scaled = ScaledMaster {
            values: self.unset(DType::F16, values.shape())?,
            exponent: Tensor::filling(self.zeros(4)?, DType::I32, &[1]),
            between: self.zeros(8)?,
        };
        let there = &self.fixed()?.there;
        let nothing = self.buffer(4)?;
        let start = OpenedStep { stepped: there, flag: 0, applied: &nothing, slot: 0, counts: 0 };
        pack(&scaled, self, &wide, start)?;
        Ok(scaled)
    }
}

/// The copy that a step moves. Where lost updates are counted it has two words an element, as `f64` has.
pub(super) fn open(
    scaled: &ScaledMaster<Wgpu>,
    wgpu: &Wgpu,
    during: OpenedStep<'_>,
) -> Result<Tensor, Error> {
    let dtype = if during.counts == 0 { DType::F32 } else { DType::F64 };
    let wide = wgpu.unset(dtype, scaled.values.shape())?;
    run(scaled, wgpu, "scaled_open", &wide, during)?;
    Ok(wide)
}

/// Packs the copy that the step updated into the master.
pub(super) fn pack(
    scaled: &ScaledMaster<Wgpu>,
    wgpu: &Wgpu,
    wide: &Tensor,
    during: OpenedStep<'_>,
) -> Result<(), Error> {
    run(scaled, wgpu, "scaled_largest", wide, during)?;
    run(scaled, wgpu, "scaled_pack", wide, during)
}

fn run(
    scaled: &ScaledMaster<Wgpu>,
    wgpu: &Wgpu,
    shader: &'static str,
    wide: &Tensor,
    during: OpenedStep<'_>,
) -> Result<(), Error> {
    let OpenedStep { stepped, flag, applied, slot, counts } = during;
    let shader: &Shader = shader.into();
    for part in parts(wide.len(), wide.dtype().bytes(), wgpu.facts().most_binding_bytes) {
        let params = structs::Scaled { len: count(part.len()), flag, slot, counts };
        let bound = shader.bindings.iter().map(|(binding, _)| match binding {
            1 => Bound::whole(stepped),
            2 => Bound::whole(&scaled.between),
            3 => Bound::elements(&scaled.exponent, 0..1).0,
            4 => Bound::elements(&scaled.values, part.clone()).0,
            5 => Bound::elements(wide, part.clone()).0,
            _ => Bound::whole(applied),
        });
        wgpu.dispatch(shader, &params, bound.collect(), groups(part.len()))?;
    }
    Ok(())
}
