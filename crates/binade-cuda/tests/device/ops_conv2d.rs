//! Convolutions, against the CPU's.

use crate::{
    agree::{
        Twin, Within, assert_agrees, assert_foreign, assert_refused, noisy, product_types, twin,
    },
    support::{Result, cuda, noise, own},
};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_ops::{Conv2d, Conv2dConfig, Download};

crate::tests![
    every_geometry_is_the_cpus,
    convolutions_of_nothing_are_the_cpus,
    a_pixel_that_is_not_finite_spoils_its_windows_alone,
    what_overflows_in_parts_does_not_overflow_in_whole,
    convolutions_refuse_what_the_cpu_refuses,
];

/// Input, weight, and how the kernel moves.
struct Case {
    input: [usize; 4],
    weight: [usize; 4],
    config: Conv2dConfig,
}

fn case(input: [usize; 4], weight: [usize; 4], stride: [usize; 2], padding: [usize; 2]) -> Case {
    Case { input, weight, config: Conv2dConfig { stride, padding } }
}

/// Kernels of one pixel and of all, steps longer than the kernel, padding beyond it, what steps do not reach; lines that several
/// blocks share; images that are their own columns, planes of an odd number of pixels, and one pixel of every other.
fn cases() -> [Case; 10] {
    [
        case([1, 1, 1, 1], [1, 1, 1, 1], [1, 1], [0, 0]),
        case([2, 3, 5, 7], [4, 3, 3, 3], [1, 1], [1, 1]),
        case([3, 2, 6, 5], [5, 2, 2, 3], [2, 1], [0, 2]),
        case([1, 2, 4, 9], [3, 2, 1, 2], [3, 4], [0, 0]),
        case([2, 1, 3, 3], [2, 1, 3, 3], [1, 1], [4, 0]),
        case([2, 8, 4, 4], [9, 8, 4, 4], [1, 1], [0, 0]),
        case([3, 1, 40, 41], [2, 1, 3, 2], [1, 1], [0, 1]),
        case([3, 5, 4, 6], [7, 5, 1, 1], [1, 1], [0, 0]),
        case([2, 3, 3, 3], [4, 3, 1, 1], [1, 1], [0, 0]),
        case([2, 3, 4, 5], [4, 3, 1, 1], [2, 2], [0, 0]),
    ]
}

/// A sum of products of both sides in another order: units of f32 of what its terms come to.
const NEAR: Within = Within::Units(64.0, 2.0);

fn assert_conv_agrees(x: &Twin, w: &Twin, b: Option<&Twin>, case: &Case, what: &str) -> Result {
    let (cuda, config) = (cuda(), case.config);
    let got = cuda.conv2d(&x.here, &w.here, b.map(|b| &b.here), config)?;
    let want = Cpu.conv2d(&x.there, &w.there, b.map(|b| &b.there), config)?;
    assert_agrees(&got, &want, NEAR, what)?;
    let g = noisy(4, want.shape(), want.dtype(), 1)?;
    let got = cuda.conv2d_backward(&g.here, &x.here, &w.here, b.is_some(), config)?;
    let want = Cpu.conv2d_backward(&g.there, &x.there, &w.there, b.is_some(), config)?;
    assert_agrees(&got.input, &want.input, NEAR, &format!("{what} input"))?;
    // Sums over thousands of windows.
    let many = Within::Units(64.0, 50.0);
    assert_agrees(&got.weight, &want.weight, many, &format!("{what} weight"))?;
    assert_eq!(got.bias.is_some(), b.is_some(), "{what}");
    let alone = cuda.conv2d_backward_of_weight(&g.here, &x.here, &w.here, b.is_some(), config)?;
    assert_eq!(cuda.to_bits(&alone.weight)?, cuda.to_bits(&got.weight)?, "{what} weight alone");
    if let (Some(got), Some(want)) = (got.bias, want.bias) {
        assert_agrees(&got, &want, Within::Units(2.0, 1.0), &format!("{what} bias"))?;
        assert_eq!(
            alone.bias.map(|bias| cuda.to_bits(&bias)).transpose()?,
            Some(cuda.to_bits(&got)?)
        );
    }
    Ok(())
}

fn every_geometry_is_the_cpus() -> Result {
    for dtype in product_types() {
        for (number, case) in cases().iter().enumerate() {
            let x = noisy(1, &case.input, dtype, number % 2)?;
            let w = noisy(2, &case.weight, dtype, number % 3)?;
            let b = noisy(3, &case.weight[..1], dtype, 1)?;
            let what = format!("case {number} {dtype}");
            assert_conv_agrees(&x, &w, Some(&b), case, &what)?;
            assert_conv_agrees(&x, &w, None, case, &format!("{what} without bias"))?;
        }
    }
    Ok(())
}

fn convolutions_of_nothing_are_the_cpus() -> Result {
    let nothing = [
        case([0, 2, 4, 4], [3, 2, 2, 2], [1, 1], [0, 0]),
        case([2, 0, 4, 4], [3, 0, 2, 2], [1, 1], [0, 0]),
        case([2, 2, 4, 4], [0, 2, 2, 2], [1, 1], [0, 0]),
    ];
    for (number, case) in nothing.iter().enumerate() {
        let x = noisy(1, &case.input, DType::F16, 0)?;
        let w = noisy(2, &case.weight, DType::F16, 0)?;
        let b = noisy(3, &case.weight[..1], DType::F16, 0)?;
        assert_conv_agrees(&x, &w, Some(&b), case, &format!("nothing {number}"))?;
    }
    Ok(())
}

fn a_pixel_that_is_not_finite_spoils_its_windows_alone() -> Result {
    let case = case([2, 2, 5, 5], [3, 2, 2, 2], [1, 1], [1, 1]);
    for dtype in product_types() {
        for bad in [f32::INFINITY, f32::NAN] {
            let mut values = noise(1, 100);
            values[37] = bad;
            let x = twin(&values, &case.input, dtype, 0)?;
            let w = noisy(2, &case.weight, dtype, 0)?;
            let b = noisy(3, &[3], dtype, 0)?;
            let got = cuda().conv2d(&x.here, &w.here, Some(&b.here), case.config)?;
            let want = Cpu.conv2d(&x.there, &w.there, Some(&b.there), case.config)?;
            assert_agrees(&got, &want, NEAR, &format!("{bad} {dtype}"))?;
        }
    }
    Ok(())
}

fn what_overflows_in_parts_does_not_overflow_in_whole() -> Result {
    // Two images whose parts of the weight's gradient are beyond f16, and whose sum is not.
    let case = case([2, 1, 1, 2], [1, 1, 1, 1], [1, 1], [0, 0]);
    let x = twin(&[300.0, 300.0, 300.0, 300.0], &case.input, DType::F16, 0)?;
    let g = twin(&[300.0, 300.0, -300.0, -299.0], &case.input, DType::F16, 0)?;
    let w = twin(&[1.0], &case.weight, DType::F16, 0)?;
    let got = cuda().conv2d_backward(&g.here, &x.here, &w.here, true, case.config)?;
    assert_eq!(cuda().download(&got.weight)?, [300.0]);
    Ok(())
}

fn convolutions_refuse_what_the_cpu_refuses() -> Result {
    let (cuda, config) = (cuda(), Conv2dConfig::default());
    let x = noisy(1, &[1, 2, 4, 4], DType::F16, 0)?;
    let [w, wide, deep] = [
        noisy(2, &[3, 2, 2, 2], DType::F16, 0)?,
        noisy(2, &[3, 2, 2, 2], DType::F32, 0)?,
        noisy(2, &[3, 3, 2, 2], DType::F16, 0)?,
    ];
    for w in [&wide, &deep] {
        let got = cuda.conv2d(&x.here, &w.here, None, config);
        assert_refused(got, Cpu.conv2d(&x.there, &w.there, None, config));
        let got = cuda.conv2d_backward(&x.here, &x.here, &w.here, false, config);
        assert_refused(got, Cpu.conv2d_backward(&x.there, &x.there, &w.there, false, config));
    }
    let still = Conv2dConfig { stride: [0, 1], padding: [0, 0] };
    let got = cuda.conv2d(&x.here, &w.here, None, still);
    assert_refused(got, Cpu.conv2d(&x.there, &w.there, None, still));
    let got = cuda.conv2d_backward(&x.here, &x.here, &w.here, false, config);
    assert_refused(got, Cpu.conv2d_backward(&x.there, &x.there, &w.there, false, config));
    assert_foreign(own().conv2d(&x.here, &w.here, None, config));
    Ok(())
}
