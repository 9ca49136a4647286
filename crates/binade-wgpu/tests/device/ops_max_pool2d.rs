//! The largest element of each window, and its gradient, against the CPU.

use crate::support::{Result, TYPES, assert_same, both, kind, mixed, wgpu};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{MaxPool2d, MaxPool2dConfig, Upload};

crate::tests![
    windows_and_gradients_are_the_cpus_bit_for_bit,
    the_first_of_equals_gets_the_gradient,
    operands_that_do_not_fit_are_refused,
];

fn config(kernel: [usize; 2], stride: [usize; 2], padding: [usize; 2]) -> MaxPool2dConfig {
    MaxPool2dConfig { kernel, stride, padding }
}

fn windows_and_gradients_are_the_cpus_bit_for_bit() -> Result {
    let wgpu = wgpu();
    let configs = [
        ([1, 1, 1, 1], MaxPool2dConfig::square(1)),
        ([2, 3, 8, 6], MaxPool2dConfig::square(2)),
        ([3, 2, 7, 9], config([3, 3], [2, 2], [1, 1])),
        ([2, 1, 6, 5], config([3, 2], [1, 2], [0, 1])),
    ];
    for dtype in TYPES {
        for (shape, config) in configs {
            let what = format!("{shape:?} {config:?}");
            let (x, p) = both(&wgpu, &mixed(1, shape.iter().product()), &shape, dtype);
            let (got, want) = (wgpu.max_pool2d(&x, config)?, Cpu.max_pool2d(&p, config)?);
            assert_eq!(got.shape(), want.shape());
            assert_same(&wgpu.to_bits(&got)?, &want.to_bits(), dtype, &what);
            let (g, h) = both(&wgpu, &mixed(2, got.len()), got.shape(), dtype);
            let got = wgpu.to_bits(&wgpu.max_pool2d_backward(&g, &x, config)?)?;
            let want = Cpu.max_pool2d_backward(&h, &p, config)?.to_bits();
            assert_same(&got, &want, dtype, &what);
        }
    }
    Ok(())
}

fn the_first_of_equals_gets_the_gradient() -> Result {
    let wgpu = wgpu();
    for values in [[0.0, -0.0, 0.0, -1.0], [-0.0, 0.0, -1.0, 0.0], [1.0, f32::NAN, 2.0, f32::NAN]] {
        let (x, p) = both(&wgpu, &values, &[1, 1, 2, 2], DType::F32);
        let (g, h) = both(&wgpu, &[3.0], &[1, 1, 1, 1], DType::F32);
        let config = MaxPool2dConfig::square(2);
        let got = wgpu.to_bits(&wgpu.max_pool2d_backward(&g, &x, config)?)?;
        assert_eq!(got, Cpu.max_pool2d_backward(&h, &p, config)?.to_bits());
    }
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let x = wgpu.upload(&[0.0; 4], &[1, 1, 2, 2], DType::F32)?;
    let zero = config([0, 1], [1, 1], [0, 0]);
    assert_eq!(kind(wgpu.max_pool2d(&x, zero)), ErrorKind::InvalidArgument);
    assert_eq!(kind(wgpu.max_pool2d(&x, MaxPool2dConfig::square(3))), ErrorKind::Mismatch);
    let pooled = MaxPool2dConfig::square(2);
    assert_eq!(kind(wgpu.max_pool2d_backward(&x, &x, pooled)), ErrorKind::Mismatch);
    let none = wgpu.upload(&[], &[0, 1, 2, 2], DType::F16)?;
    assert!(wgpu.max_pool2d(&none, pooled)?.is_empty());
    Ok(())
}
