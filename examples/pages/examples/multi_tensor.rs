//! Sets of tensors in one pass each: what Apex's `multi_tensor_applier` was used for.
//!
//! On a GPU each line of [`run`] that works on a set is one launch, whatever the number of tensors, and nothing is read: norms are
//! tensors of the device, and findings are values that a step can depend on.

use binade::core::ops::Download;
use binade::core::{GradSet, MultiTensor, Norm};
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};

/// Results, brought to the host.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    /// Average of the weights of three steps, as `multi_tensor_axpby` makes it.
    average: Vec<f32>,
    /// Norm of each parameter and of all, as `multi_tensor_l2norm` with `per_tensor=True` gives them.
    norms: [f32; 3],
    /// Largest absolute value of all.
    largest: f32,
    /// True if unscaling the gradients by `multi_tensor_scale` found an infinity.
    overflowed: bool,
    /// Types of the model's copies of the weights.
    types: Vec<DType>,
}

fn run() -> Result<Seen> {
    let device = Cpu;
    let weights = |step: f32| -> Result<_> {
        Ok(vec![parameter("weight", &[step, 2.0 * step], &[2])?, parameter("bias", &[4.0], &[1])?])
    };

    // An exponential moving average.
    let mut average = weights(0.0)?;
    for step in [1.0, 2.0, 4.0] {
        (average, _) = device.axpby((0.5, &average), (0.5, &weights(step)?))?;
    }

    // Norms by layer, for a log or a trust ratio.
    let norms = device.norms(&average, Norm::L2)?;
    let largest = device.norms(&average, Norm::Infinity)?;

    // Gradients in f16 unscaled into f32, with the flag of an overflow.
    let grads =
        vec![Named::new("weight", Tensor::from_f32(vec![256.0, f32::INFINITY], &[2], DType::F16)?)];
    let (_unscaled, found) = device.scale_all(1.0 / 256.0, &grads)?;

    // Masters to the model's parameters, the bias staying f32.
    let model = device.cast_all(&average, &[DType::F16, DType::F32])?;

    let number = |tensor: &Tensor| device.download(tensor).map(|values| values[0]);
    Ok(Seen {
        average: device.download(&average[0].value)?,
        norms: [number(&norms.each[0].value)?, number(&norms.each[1].value)?, number(&norms.all)?],
        largest: number(&largest.all)?,
        overflowed: device.is_raised(&found)?,
        types: model.iter().map(|param| param.value.dtype()).collect(),
    })
}

fn main() -> Result<()> {
    let Seen { average, norms, largest, overflowed, types } = run()?;
    println!("average weights {average:?}");
    println!("norms of weight, bias and both {norms:?}, largest element {largest}");
    println!("gradients overflowed: {overflowed}; the model is stored in {types:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_norms_overflows_and_types_are_those_of_the_plain_loops() {
        let seen = run().unwrap();
        assert_eq!(seen.average, [2.625, 5.25]);
        let [weight, bias] = [2.625_f32.hypot(5.25), 4.0];
        for (got, want) in seen.norms.into_iter().zip([weight, bias, weight.hypot(bias)]) {
            assert!((got - want).abs() <= 1e-6 * want, "{got} for {want}");
        }
        assert_eq!((seen.largest, seen.overflowed), (5.25, true));
        assert_eq!(seen.types, [DType::F16, DType::F32]);
    }
}
