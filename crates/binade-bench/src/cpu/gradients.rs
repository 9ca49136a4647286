//! Rows over plain gradients: the check and unscale, the norm, and casts.

use super::row::{Spec, timed};
use super::tensors::Size;
use binade_autocast::Autocast;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::{GradOps, GradScaler, Norm, ScaleState};
use serde_json::json;
use std::hint::black_box;

/// Check and unscale of a set. Ours reads it; PyTorch's writes it back.
pub(crate) fn unscale(size: Size, dtype: DType) -> Spec {
    let peer = json!({ "kind": "unscale", "dtype": dtype.name(), "elements": size.elements, "tensors": size.tensors });
    let row = Spec::new("unscale", name(size, dtype), peer, move || {
        let (grads, state) = (size.gradients(dtype)?, ScaleState::from_exponent(10));
        Ok(timed(move || Ok(Cpu.unscale(&mut grads.clone(), &state)?)))
    });
    Spec { bytes: size.elements * dtype.bytes(), ..row }
}

/// Check and unscale of a set, its norm, and the factor that limits it. PyTorch's passes write the set twice.
pub(crate) fn clip_norm(size: Size, dtype: DType) -> Spec {
    let peer = json!({ "kind": "clip_norm", "dtype": dtype.name(), "elements": size.elements, "tensors": size.tensors });
    let row = Spec::new("clip_norm", name(size, dtype), peer, move || {
        let (grads, state) = (size.gradients(dtype)?, ScaleState::from_exponent(0));
        Ok(timed(move || {
            let mut grads = grads.clone();
            let mut found = Cpu.unscale(&mut grads, &state)?;
            Ok(Cpu.clip_norm(&mut grads, Norm::L2, f32::MAX, &mut found)?)
        }))
    });
    Spec { bytes: size.elements * dtype.bytes(), ..row }
}

/// Cast of a set to new outputs, each of which is freed before the next set is made.
pub(crate) fn cast(size: Size, [from, to]: [DType; 2]) -> Spec {
    let peer = json!({ "kind": "cast", "from": from.name(), "to": to.name(), "elements": size.elements,
        "tensors": size.tensors });
    let name = format!("{} to {}, {}", from.name(), to.name(), sizes(size));
    let row = Spec::new("cast", name, peer, move || {
        let tensors = size.tensors(from)?;
        Ok(timed(move || {
            for tensor in &tensors {
                drop(black_box(Cpu.cast(tensor, to)?));
            }
            Ok(())
        }))
    });
    Spec { bytes: size.elements * (from.bytes() + to.bytes()), ..row }
}

/// Cast of a set into outputs that are there already.
pub(crate) fn cast_into(size: Size, [from, to]: [DType; 2]) -> Spec {
    let peer = json!({ "kind": "cast_into", "from": from.name(), "to": to.name(), "elements": size.elements,
        "tensors": size.tensors });
    let name = format!("{} to {}, {}", from.name(), to.name(), sizes(size));
    let row = Spec::new("cast_into", name, peer, move || {
        let (tensors, mut outputs) = (size.tensors(from)?, size.tensors(to)?);
        Ok(timed(move || {
            tensors.iter().zip(&mut outputs).try_for_each(|(tensor, to)| tensor.cast_into(to))?;
            Ok(())
        }))
    });
    Spec { bytes: size.elements * (from.bytes() + to.bytes()), ..row }
}

pub(crate) fn name(size: Size, dtype: DType) -> String {
    format!("{}, {}", dtype.name(), sizes(size))
}

pub(crate) fn sizes(Size { elements, tensors }: Size) -> String {
    format!("{elements} in {tensors}")
}
