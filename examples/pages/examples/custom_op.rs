//! Operation of one's own: a layer that keeps nothing and computes its forward again on the way back.
//!
//! Recomputation is right only if it casts as the first pass did. [`CustomCall`] gives backward the region that forward ran in,
//! whatever is in force by then, as torch's `custom_fwd` and `custom_bwd` do, so that one function serves both. Nothing inside is
//! cast by itself: the operation asks the region. The policy sees one operation, which is on no list and gets its operands uncast.

use binade::core::OpClass;
use binade::prelude::*;
use binade_core::ops::{Linear, Tanh};
use binade_cpu::{Cpu, Error, Tensor};
use binade_example_pages::Result;
use binade_tape::{CustomCall, Tape, TapeError, Var};

const LAYER: Op = Op::custom("recomputed_layer", OpClass::Other);

/// Computes tanh(x·wᵀ), of which the tape keeps `x` and `w` alone.
fn recomputed(x: &Var<Cpu>, w: &Var<Cpu>) -> Result<Var<Cpu>> {
    Ok(x.tape().custom(
        LAYER,
        &[x, w],
        |call| forward(&call).map(|(_, y)| y),
        |call, grad| {
            let ([x, w], y) = forward(&call)?;
            let grad = call.device.tanh_backward(grad, &y)?;
            let grads = call.device.linear_backward(&grad, &x, &w, false)?;
            // Gradients are in the region's type; the tape casts them to the operands'.
            Ok(vec![Some(grads.input), Some(grads.weight)])
        },
    )?)
}

/// Returns the operands, cast as the region casts a linear layer's, and the result.
fn forward(
    call: &CustomCall<'_, Cpu>,
) -> std::result::Result<([Tensor; 2], Tensor), TapeError<Error>> {
    let scope = call.region.open(call.device);
    let [x, w] = scope.cast(Op::LINEAR, "", [&call.operands[0], &call.operands[1]])?;
    let y = call.device.tanh(&call.device.linear(&x, &w, None)?)?;
    Ok(([x.into_owned(), w.into_owned()], y))
}

/// Result of two layers, by operations of the tape or recomputed.
#[derive(Clone, Debug, PartialEq)]
struct Pass {
    /// Loss of the pass.
    loss: f32,
    /// Gradients of both weights, as bytes.
    gradients: Vec<Vec<u8>>,
    /// Bytes that the tape kept for backward.
    kept: u64,
}

/// Runs two layers forward and back in `region`.
fn run(region: &Region, recompute: bool) -> Result<Pass> {
    let wave = |step: f32, shape: &[usize]| -> Result<Tensor> {
        let count = u16::try_from(shape.iter().product::<usize>())?;
        let values = (0..count).map(|i| (f32::from(i) * step).sin() / 4.0).collect();
        Ok(Tensor::new(values, shape)?)
    };
    let tape = Tape::new(Cpu, region);
    let mut x = tape.constant(wave(0.7, &[16, 32])?);
    for name in ["0.weight", "1.weight"] {
        let w = tape.parameter(&Named::new(name, wave(1.3, &[32, 32])?));
        x = if recompute { recomputed(&x, &w)? } else { x.linear(&w, None)?.tanh()? };
    }
    let loss = x.mul(&x)?.mean()?;
    let mut gradients = Vec::new();
    for Named { name, value } in loss.backward::<Vec<_>>()? {
        gradients.push(value.ok_or_else(|| format!("no gradient for {name}"))?.to_bits());
    }
    Ok(Pass { loss: loss.tensor().to_f32()[0], gradients, kept: tape.activation_bytes() })
}

fn main() -> Result<()> {
    for region in [Region::f16().off(), Region::bf16(), Region::f16()] {
        let name = if region.enabled { region.dtype().name() } else { "none" };
        let (kept, recomputed) = (run(&region, false)?, run(&region, true)?);
        if (recomputed.loss, &recomputed.gradients) != (kept.loss, &kept.gradients) {
            return Err(format!("region {name}: recomputing gave other gradients").into());
        }
        println!(
            "region {name:4}: the tape keeps {} bytes, recomputing {}; the gradients are equal to the bit",
            kept.kept, recomputed.kept
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recomputing_in_the_region_given_back_has_the_bits_of_keeping() {
        for region in [Region::f16().off(), Region::bf16(), Region::f16()] {
            let (kept, recomputed) = (run(&region, false).unwrap(), run(&region, true).unwrap());
            assert_eq!(recomputed.loss, kept.loss, "{region:?}");
            assert_eq!(recomputed.gradients, kept.gradients, "{region:?}");
        }
    }

    #[test]
    fn the_region_decides_what_those_bits_are() {
        let [off, bf16, f16] = [Region::f16().off(), Region::bf16(), Region::f16()]
            .map(|region| run(&region, true).unwrap().gradients);
        assert!(off != bf16 && bf16 != f16 && off != f16);
    }

    #[test]
    fn the_tape_keeps_less_in_sixteen_bits() {
        let (kept, recomputed) =
            (run(&Region::f16(), false).unwrap(), run(&Region::f16(), true).unwrap());
        assert!(recomputed.kept < kept.kept, "{} and {}", recomputed.kept, kept.kept);
    }
}
