//! A vector added along the channel axis, and the sum over each channel.

use crate::support::{
    Result, TYPES, assert_near, assert_same, both, kind, mixed, narrow, noise, vector, wgpu, wide,
    with_mass,
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{BiasAdd, Download, Upload};

crate::tests![
    sums_are_the_cpus_bit_for_bit,
    the_bias_gradient_is_near_the_cpus,
    nothing_gives_zeros,
    operands_that_do_not_fit_are_refused,
];

const SHAPES: [&[usize]; 7] =
    [&[5], &[3, 7], &[1000, 3], &[2, 3, 5], &[2, 3, 5, 7], &[33, 4, 3, 3], &[5000, 1]];

fn channels(shape: &[usize]) -> usize {
    if shape.len() == 4 { shape[1] } else { shape[shape.len() - 1] }
}

fn sums_are_the_cpus_bit_for_bit() -> Result {
    for wgpu in [wgpu(), narrow()] {
        for dtype in TYPES {
            for shape in SHAPES {
                let len = shape.iter().product();
                let (x, p) = both(&wgpu, &mixed(1, len), shape, dtype);
                let (b, q) = both(&wgpu, &noise(2, channels(shape)), &[channels(shape)], dtype);
                let got = wgpu.to_bits(&wgpu.bias_add(&x, &b)?)?;
                let want = Cpu.bias_add(&p, &q)?.to_bits();
                assert_same(&got, &want, dtype, &format!("bias_add {shape:?}"));
            }
        }
    }
    Ok(())
}

fn the_bias_gradient_is_near_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for shape in SHAPES {
            let len: usize = shape.iter().product();
            let (g, p) = both(&wgpu, &noise(3, len), shape, dtype);
            let [input, bias] = wgpu.bias_add_backward(&g)?;
            assert_eq!(wgpu.to_bits(&input)?, wgpu.to_bits(&g)?);
            assert_eq!((bias.dtype(), bias.shape()), (dtype, &[channels(shape)][..]));
            // 64 additions a level, of two levels, each of at most the sum of all magnitudes.
            let mass = f64::from(u32::try_from(128 * len / channels(shape))?);
            let want = with_mass(&Cpu.bias_add_backward(&wide(&p))?[1], |_, _| mass);
            assert_near(&wgpu.download(&bias)?, &want, dtype, &format!("{shape:?}"));
        }
    }
    Ok(())
}

fn nothing_gives_zeros() -> Result {
    let wgpu = wgpu();
    let none = wgpu.upload(&[], &[0, 3], DType::F16)?;
    let [_, bias] = wgpu.bias_add_backward(&none)?;
    assert_eq!(wgpu.download(&bias)?, [0.0; 3]);
    let sum = wgpu.bias_add(&none, &vector(&wgpu, &[1.0; 3], DType::F16))?;
    assert_eq!(sum.shape(), [0, 3]);
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let x = wgpu.upload(&[0.0; 6], &[2, 3], DType::F32)?;
    assert_eq!(kind(wgpu.bias_add(&x, &vector(&wgpu, &[1.0; 2], DType::F32))), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.bias_add(&x, &vector(&wgpu, &[1.0; 3], DType::F16))), ErrorKind::Mismatch);
    let scalar = wgpu.upload(&[0.0], &[], DType::F32)?;
    assert_eq!(kind(wgpu.bias_add_backward(&scalar)), ErrorKind::Mismatch);
    Ok(())
}
