//! Exponents of gradients: the histogram by which "Mixed Precision Training" (arXiv 1710.03740) chooses a loss scale.
//!
//! A scale of 2^s adds s to each exponent. In f16 a number of at most 2^-25 becomes zero, and one of 65520 or more infinite: a good
//! scale moves the histogram between the two. Training does not need the histogram, since a dynamic scale finds its place; it shows
//! where a run's gradients lie.

use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::Result;
use binade_tape::Tape;
use std::collections::BTreeMap;

/// Returns the gradients of a perceptron whose loss is a mean over 1024 outputs, in f32.
fn gradients() -> Result<Vec<f32>> {
    let wave = |step: f32, shape: &[usize]| -> Result<Tensor> {
        let count = u16::try_from(shape.iter().product::<usize>())?;
        Ok(Tensor::new((0..count).map(|i| (f32::from(i) * step).sin() / 16.0).collect(), shape)?)
    };
    let tape = Tape::new(Cpu, &Region::f16().off());
    let mut x = tape.constant(wave(0.7, &[16, 64])?);
    for name in ["0.weight", "1.weight"] {
        x = x.linear(&tape.parameter(&Named::new(name, wave(1.3, &[64, 64])?)), None)?.tanh()?;
    }
    let loss = x.mul(&x)?.mean()?;
    let set: Vec<Named<Option<Tensor>>> = loss.backward()?;
    let values = set.iter().filter_map(|grad| grad.value.as_ref()).map(Tensor::to_f32);
    Ok(values.flat_map(std::borrow::Cow::into_owned).collect())
}

/// Returns the number of gradients of each binade, by its exponent; zeros have none, and subnormal numbers -127.
fn histogram(gradients: &[f32]) -> BTreeMap<i32, usize> {
    let mut counts = BTreeMap::new();
    for gradient in gradients.iter().filter(|x| x.is_finite() && **x != 0.0) {
        let [exponent, ..] = (gradient.to_bits() << 1).to_be_bytes();
        *counts.entry(i32::from(exponent) - 127).or_default() += 1;
    }
    counts
}

/// Returns how many become zero in f16 under a scale of 2^`scale`. It leaves out those that are 2^-25 exactly once they are scaled, since
/// the others of their binade are kept.
fn lost(histogram: &BTreeMap<i32, usize>, scale: i32) -> usize {
    histogram.range(..-25 - scale).map(|(_, count)| count).sum()
}

/// Returns the exponent of the largest scale under which none can be infinite in f16: the largest gradients stay below 2^15.
fn largest_scale(histogram: &BTreeMap<i32, usize>) -> Option<i32> {
    histogram.last_key_value().map(|(exponent, _)| 14 - exponent)
}

fn main() -> Result<()> {
    let histogram = histogram(&gradients()?);
    for (exponent, count) in &histogram {
        println!("2^{exponent:<4} {count:5} {}", "#".repeat(count.div_ceil(32)));
    }
    let largest = largest_scale(&histogram).ok_or("all gradients are zero")?;
    for scale in [0, largest] {
        println!("scale 2^{scale}: {} become zero in f16", lost(&histogram, scale));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_histogram_tells_what_f16_loses_at_each_scale_and_where_it_overflows() {
        let gradients = gradients().unwrap();
        let histogram = histogram(&gradients);
        assert!(lost(&histogram, 0) > gradients.len() / 20, "{histogram:?}");
        let in_f16 = |scale| {
            let scaled = gradients.iter().map(|x| x * 2.0_f32.powi(scale)).collect();
            let scaled = Tensor::new(scaled, &[gradients.len()]).unwrap();
            scaled.cast(DType::F16).unwrap().to_f32().into_owned()
        };
        let largest = largest_scale(&histogram).unwrap();
        for scale in [0, 4, largest] {
            let f16 = in_f16(scale);
            let became_zero =
                f16.iter().zip(&gradients).filter(|(f16, x)| **f16 == 0.0 && **x != 0.0);
            assert_eq!(became_zero.count(), lost(&histogram, scale), "2^{scale}");
            assert!(f16.iter().all(|x| x.is_finite()), "2^{scale}");
        }
        assert!(in_f16(largest + 2).iter().any(|x| x.is_infinite()));
    }
}
