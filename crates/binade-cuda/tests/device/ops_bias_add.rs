//! `bias_add`, forward and backward, against the CPU.

use crate::{
    agree::{Within, mixed, stranger},
    on_both,
    support::{Result, cuda, kind, noise},
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{BiasAdd, Upload};

crate::tests![
    sums_are_the_cpus_bit_for_bit,
    the_gradient_of_the_bias_is_within_an_ulp_of_the_cpus,
    a_gradient_that_cancels_loses_nothing,
    no_samples_have_a_gradient_of_zeros,
    operands_that_do_not_fit_are_refused_with_the_cpus_words,
];

/// Vectors, matrices, sequences and images; more channels than a tile has, more samples than a part.
const SHAPES: [&[usize]; 8] = [
    &[5],
    &[3, 7],
    &[2, 3, 40],
    &[2, 3, 4, 5],
    &[3, 40, 1, 1],
    &[1300, 3],
    &[2, 2, 90, 100],
    &[33, 1],
];

fn channels(shape: &[usize]) -> usize {
    if shape.len() == 4 { shape[1] } else { shape[shape.len() - 1] }
}

fn sums_are_the_cpus_bit_for_bit() -> Result {
    for shape in SHAPES {
        let (count, len) = (channels(shape), shape.iter().product());
        let operands = vec![(mixed(0, len), shape.to_vec()), (mixed(7, count), vec![count])];
        on_both!(operands, |device, x| [device.bias_add(&x[0], &x[1])?], Within::Bits);
    }
    Ok(())
}

fn the_gradient_of_the_bias_is_within_an_ulp_of_the_cpus() -> Result {
    for shape in SHAPES {
        let len = shape.iter().product();
        let grad = || vec![(noise(1, len), shape.to_vec())];
        on_both!(grad(), |device, x| device.bias_add_backward(&x[0])?, Within::Codes(1));
    }
    // Infinities and NaN go where they go.
    let grad = vec![(mixed(0, 66), vec![3, 22])];
    on_both!(grad, |device, x| device.bias_add_backward(&x[0])?, Within::Codes(1));
    Ok(())
}

/// In f32 the small ones would be gone.
fn a_gradient_that_cancels_loses_nothing() -> Result {
    let values: Vec<f32> = (0..900_u16)
        .map(|i| match i % 3 {
            0 => 1e4,
            1 => -1e4,
            _ => 2.0_f32.powi(-10),
        })
        .collect();
    let device = cuda();
    for shape in [[900, 1, 1, 1], [1, 1, 30, 30]] {
        let [_, bias] = device.bias_add_backward(&device.upload(&values, &shape, DType::F32)?)?;
        let sum = 300.0 * 2.0_f32.powi(-10);
        assert_eq!(device.to_bits(&bias)?, sum.to_le_bytes());
    }
    Ok(())
}

fn no_samples_have_a_gradient_of_zeros() -> Result {
    for shape in [vec![0, 3], vec![3, 0], vec![2, 3, 0, 4]] {
        let count = channels(&shape);
        let operands = vec![(vec![], shape), (vec![1.0; count], vec![count])];
        on_both!(operands.clone(), |device, x| [device.bias_add(&x[0], &x[1])?], Within::Bits);
        on_both!(operands, |device, x| device.bias_add_backward(&x[0])?, Within::Bits);
    }
    Ok(())
}

fn operands_that_do_not_fit_are_refused_with_the_cpus_words() -> Result {
    fn words<D: Upload + BiasAdd>(device: &D) -> Result<Vec<String>> {
        let text = |error: D::Error| error.to_string();
        let matrix = device.upload(&[1.0; 6], &[2, 3], DType::F32).map_err(text)?;
        let scalar = device.upload(&[1.0], &[], DType::F32).map_err(text)?;
        let short = device.upload(&[1.0; 2], &[2], DType::F32).map_err(text)?;
        let half = device.upload(&[1.0; 3], &[3], DType::F16).map_err(text)?;
        let whole = device.upload_i64(&[1; 3], &[3]).map_err(text)?;
        let said = [
            device.bias_add(&matrix, &short).err(),
            device.bias_add(&scalar, &short).err(),
            device.bias_add(&matrix, &half).err(),
            device.bias_add_backward(&scalar).err(),
            device.bias_add_backward(&whole).err(),
        ];
        Ok(said.into_iter().map(|error| error.map(text).unwrap_or_default()).collect())
    }
    let want = words(&Cpu)?;
    assert!(want.iter().all(|words| !words.is_empty()), "{want:?}");
    assert_eq!(words(&cuda())?, want);
    let (device, there) = stranger()?;
    assert_eq!(kind(device.bias_add(&there, &there)), ErrorKind::Mismatch);
    Ok(())
}
