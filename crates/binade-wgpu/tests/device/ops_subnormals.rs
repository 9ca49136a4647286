//! Subnormal numbers, which drivers may flush to 0, on drivers that keep them.

use crate::support::{Result, assert_same, both, cpu_vector, of_bits, on_cpu, vector, wgpu};
use binade_core::DType;
use binade_core::ops::{Add, BiasAdd, CrossEntropy, Download, Dropout, Mul, Softmax, Tanh, Upload};
use binade_cpu::Cpu;

crate::tests![
    sums_and_products_are_the_cpus,
    dropout_keeps_them,
    a_small_number_is_its_own_tangent,
    small_shares_and_their_gradients_are_the_cpus,
];

/// Codes of f32 near which sums and products become subnormal, of both signs: the least numbers, the first normal ones, numbers
/// beside which they are rounded away, and factors with which they make products of all sizes.
fn codes() -> Vec<u32> {
    let magnitudes = [
        0,
        1,
        2,
        3,
        0x0040_0000,
        0x007f_ffff,
        0x0080_0000,
        0x0080_0001,
        0x00ff_ffff,
        0x0100_0000,
        0x0c00_0001,
        0x0d00_0000,
        0x0dff_ffff,
        0x1f80_0003,
        0x31ff_ffff,
        0x3200_0000,
        0x327f_ffff,
        0x3f00_0000,
        0x3f7f_ffff,
        0x3f80_0000,
        0x3fff_ffff,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
    ];
    magnitudes.into_iter().flat_map(|bits| [bits, bits | 1 << 31]).collect()
}

/// Pairs of all these codes, in this type.
fn pairs(dtype: DType) -> [Vec<u8>; 2] {
    let one = |bits: u32| -> Vec<u8> {
        let bytes = bits.to_le_bytes();
        bytes[4 - dtype.bytes()..].to_vec()
    };
    let codes = codes();
    let left = codes.iter().flat_map(|x| codes.iter().flat_map(move |_| one(*x)));
    let right = codes.iter().flat_map(|_| codes.iter().flat_map(|y| one(*y)));
    [left.collect(), right.collect()]
}

/// Types with the exponents of f32.
const WIDE: [DType; 2] = [DType::BF16, DType::F32];

fn sums_and_products_are_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in WIDE {
        let codes = pairs(dtype);
        let [a, b] = [0, 1].map(|i: usize| of_bits(&wgpu, &codes[i], dtype));
        let [p, q] = [0, 1].map(|i: usize| on_cpu(&codes[i], dtype));
        let check = |got: binade_wgpu::Tensor, want: binade_cpu::Tensor, what: &str| -> Result {
            assert_same(&wgpu.to_bits(&got)?, &want.to_bits(), dtype, what);
            Ok(())
        };
        check(wgpu.add(&a, &b)?, Cpu.add(&p, &q)?, "add")?;
        check(wgpu.mul(&a, &b)?, Cpu.mul(&p, &q)?, "mul")?;
        let (rows, columns) = (a.reshape(&[1, a.len()])?, p.clone().reshape(&[1, p.len()])?);
        check(wgpu.bias_add(&rows, &b)?, Cpu.bias_add(&columns, &q)?, "bias_add")?;
    }
    Ok(())
}

fn dropout_keeps_them() -> Result {
    let wgpu = wgpu();
    let key = [0x0123_4567_89ab_cdef, 3];
    for dtype in WIDE {
        let [codes, _] = pairs(dtype);
        let (x, y) = (of_bits(&wgpu, &codes, dtype), on_cpu(&codes, dtype));
        let (of_x, of_y) = (wgpu.upload_i64(&key, &[2])?, Cpu.upload_i64(&key, &[2])?);
        for p in [0.0, 0.5] {
            let (got, want) = (wgpu.dropout(&x, &of_x, p)?, Cpu.dropout(&y, &of_y, p)?);
            assert_same(&wgpu.to_bits(&got)?, &want.to_bits(), dtype, &format!("{p}"));
        }
    }
    Ok(())
}

fn a_small_number_is_its_own_tangent() -> Result {
    let wgpu = wgpu();
    for dtype in WIDE {
        let few: Vec<f32> = codes().into_iter().map(f32::from_bits).collect();
        let few: Vec<f32> = few.into_iter().filter(|x| x.abs() < 1e-6).collect();
        let got = wgpu.tanh(&vector(&wgpu, &few, dtype))?;
        assert_same(&wgpu.to_bits(&got)?, &cpu_vector(&few, dtype).to_bits(), dtype, "tanh");
    }
    Ok(())
}

/// Compares within 2^-20 and a unit, since subnormal numbers have few bits.
fn assert_nearly(got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        let room = want.abs() * 2.0_f32.powi(-20) + f32::from_bits(1);
        assert!((got - want).abs() <= room, "{got:e} for {want:e}");
    }
}

/// Gradients from 2 on, far enough apart that nothing cancels against the first.
fn ramp(len: usize) -> Vec<f32> {
    let steps = std::iter::successors(Some(2.0_f32), |x| Some(x + 0.25));
    steps.take(len).collect()
}

fn small_shares_and_their_gradients_are_the_cpus() -> Result {
    let wgpu = wgpu();
    let far: Vec<f32> = [0.0].into_iter().chain((80..=106_u8).map(|i| -f32::from(i))).collect();
    let (x, on_cpu) = both(&wgpu, &far, &[1, far.len()], DType::F32);
    let want = Cpu.download(&Cpu.softmax(&on_cpu)?)?;
    let count = want.iter().filter(|x| x.is_subnormal()).count();
    assert!(count > 10, "{count}");
    assert_nearly(&wgpu.download(&wgpu.softmax(&x)?)?, &want);

    let (back, its) = both(&wgpu, &ramp(far.len()), &[1, far.len()], DType::F32);
    let (shares, known) = both(&wgpu, &want, &[1, far.len()], DType::F32);
    let got = wgpu.softmax_backward(&back, &shares)?;
    let want = Cpu.softmax_backward(&its, &known)?;
    assert_nearly(&wgpu.download(&got)?, &Cpu.download(&want)?);

    let (grad, its) = both(&wgpu, &[0.5], &[], DType::F32);
    let got = wgpu.cross_entropy_backward(&grad, &x, &wgpu.upload_i64(&[0], &[1])?)?;
    let want = Cpu.cross_entropy_backward(&its, &on_cpu, &Cpu.upload_i64(&[0], &[1])?)?;
    assert_nearly(&wgpu.download(&got)?, &Cpu.download(&want)?);
    Ok(())
}
