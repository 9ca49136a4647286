//! Casts, against the scalar ones.

use crate::support::{Device, Result, cuda, kind, noise, vector};
use binade_autocast::Autocast;
use binade_core::{
    DType, ErrorKind,
    cast::{self, OnOverflow},
    stochastic::{self, Key},
};
use binade_cpu::Cpu;
use binade_ops::Download;

crate::tests![
    every_half_casts_as_on_the_cpu,
    saturating_casts_stop_at_the_largest,
    stochastic_casts_use_the_words_of_their_key,
    what_cannot_be_cast_is_refused,
    many_tensors_are_cast_in_one_launch,
    eight_bit_types_are_right_from_every_start_and_to_every_end,
    the_norm_of_many_tensors_is_that_of_their_squares_in_f64,
];

const TYPES: [DType; 5] = [DType::BF16, DType::F16, DType::F32, DType::E4M3, DType::E5M2];

/// The same bits, any NaN for any NaN.
fn assert_same(got: &[f32], want: &[f32], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
        assert!(same, "{what}: {got} for {want} at {index}");
    }
}

fn every_half_casts_as_on_the_cpu() -> Result {
    let cuda = cuda();
    for from in TYPES {
        let codes: Vec<u8> = match from.bytes() {
            1 => (0..=u8::MAX).collect(),
            2 => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
            _ => (0..=u32::MAX).step_by(65_537 * 7).flat_map(u32::to_le_bytes).collect(),
        };
        let (here, there) =
            (Device::of_bits(&cuda, &codes, from), Device::of_bits(&Cpu, &codes, from));
        for to in TYPES {
            let got = cuda.download(&cuda.cast(&here, to)?)?;
            let want = Cpu.download(&Cpu.cast(&there, to)?)?;
            assert_same(&got, &want, &format!("{from} to {to}"));
            // Whole, and from a start that is not aligned to an end that is no group's.
            let parts = [here.clone(), here.slice(1, here.len() - 2)?];
            let all = cuda.cast_all(&parts, to)?;
            assert_same(&cuda.download(&all[0])?, &want, &format!("{from} to {to}, of a set"));
            let part = cuda.download(&all[1])?;
            assert_same(&part, &want[1..want.len() - 1], &format!("part of {from} to {to}"));
        }
    }
    Ok(())
}

fn saturating_casts_stop_at_the_largest() -> Result {
    let cuda = cuda();
    let values =
        [1e9, -1e9, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 464.0, 465.0, 65520.0, 1.0];
    let tensor = vector(&cuda, &values, DType::F32);
    for to in TYPES {
        for on_overflow in [OnOverflow::Saturate, OnOverflow::NonFinite] {
            let got = cuda.download(&cuda.cast_overflowing(&tensor, to, on_overflow)?)?;
            let want: Vec<f32> =
                values.iter().filter_map(|x| cast::round(*x, to, on_overflow)).collect();
            assert_same(&got, &want, &format!("{to} {on_overflow:?}"));
        }
    }
    Ok(())
}

fn stochastic_casts_use_the_words_of_their_key() -> Result {
    let cuda = cuda();
    let mut values = noise(3, 1003);
    // From far below what any of them holds to beyond the eight-bit ones' largest.
    values.iter_mut().zip((-40..20).cycle()).for_each(|(x, binade)| *x *= 2.0_f32.powi(binade));
    let tensor = vector(&cuda, &values, DType::F32);
    let key = Key { seed: 0x0123_4567_89ab_cdef, parameter: 5, step: 77 };
    for to in TYPES {
        let got = cuda.download(&cuda.cast_stochastic(&tensor, to, key)?)?;
        let round = |(index, x): (u64, &f32)| {
            stochastic::round(*x, to, stochastic::bits(key, index), OnOverflow::NonFinite)
        };
        let want: Vec<f32> = (0..).zip(&values).filter_map(round).collect();
        assert_same(&got, &want, to.name());
    }
    Ok(())
}

fn what_cannot_be_cast_is_refused() -> Result {
    let cuda = cuda();
    let tensor = vector(&cuda, &[1.0], DType::F32);
    assert_eq!(kind(cuda.cast(&tensor, DType::I64)), ErrorKind::Unsupported);
    Ok(())
}

fn many_tensors_are_cast_in_one_launch() -> Result {
    let cuda = cuda();
    let lengths = [0, 1, 5000, 8, 0, 17];
    let source = TYPES.into_iter().cycle().zip(lengths);
    let tensors: Vec<_> =
        source.map(|(dtype, len)| vector(&cuda, &noise(len as u64, len), dtype)).collect();
    for to in TYPES {
        let before = cuda.ledger().launches;
        let all = cuda.cast_all(&tensors, to)?;
        assert_eq!(cuda.ledger().launches - before, 1);
        for (got, tensor) in all.iter().zip(&tensors) {
            let want = cuda.download(&cuda.cast(tensor, to)?)?;
            assert_same(&cuda.download(got)?, &want, to.name());
        }
    }
    assert!(cuda.cast_all(&[], DType::F16)?.is_empty());
    Ok(())
}

fn eight_bit_types_are_right_from_every_start_and_to_every_end() -> Result {
    let cuda = cuda();
    let codes: Vec<u8> = (0..=u8::MAX).collect();
    for dtype in [DType::E4M3, DType::E5M2] {
        let all = Device::of_bits(&cuda, &codes, dtype);
        let want = Cpu.download(&Device::of_bits(&Cpu, &codes, dtype))?;
        for start in 0..9 {
            for len in [0, 1, 7, 8, 9, 64, 100] {
                let part = all.slice(start, len)?;
                let back = cuda.cast(&cuda.cast(&part, DType::F32)?, dtype)?;
                let got = cuda.download(&back)?;
                assert_same(&got, &want[start..start + len], &format!("{dtype} from {start}"));
            }
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn narrow(x: f64) -> f32 {
    x as f32
}

fn the_norm_of_many_tensors_is_that_of_their_squares_in_f64() -> Result {
    let cuda = cuda();
    let parts = [noise(1, 5000), Vec::new(), vec![3.0; 3], noise(2, 1)];
    let squares: f64 = parts.iter().flatten().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let tensors = parts.map(|values| vector(&cuda, &values, DType::F32));
    let norm = cuda.l2_norm(&tensors)?;
    assert!(norm.shape().is_empty());
    assert_near(cuda.download(&norm)?[0], squares.sqrt());
    // Squares that overflow f32.
    let large = cuda.l2_norm(&[vector(&cuda, &[1e25; 3], DType::F32)])?;
    assert_near(cuda.download(&large)?[0], 3_f64.sqrt() * f64::from(1e25_f32));
    norms_of_every_type(&cuda)?;
    norms_of_one_lane(&cuda)?;
    assert_eq!(cuda.download(&cuda.l2_norm(&[])?)?, [0.0]);
    Ok(())
}

/// Within one unit in the last place of what is finite.
fn assert_near(got: f32, want: f64) {
    assert!(narrow(want).is_finite(), "{want:e} is no norm to compare with");
    approx::assert_ulps_eq!(got, narrow(want), epsilon = 0.0, max_ulps = 1);
}

/// Codes of eight bits in one lane of a vector alone: subnormal, at the edges of normal and finite, and what is not finite.
fn norms_of_one_lane(cuda: &binade_cuda::Cuda) -> Result {
    for dtype in [DType::E4M3, DType::E5M2] {
        for code in (1..10).chain([0x3b, 0x7a, 0x7b, 0x7c, 0x7d, 0x7e, 0x7f]) {
            let value = f64::from(Cpu.download(&Device::of_bits(&Cpu, &[code], dtype))?[0]);
            // A unit of each of three is two of their norm's; of two that are infinite any number as large would do.
            let many = if value.is_finite() { 3 } else { 1 };
            for lane in 0..8 {
                let of_place = |place| if place % 8 == lane { code } else { 0 };
                let codes: Vec<u8> = (0..=8 * many).map(of_place).collect();
                let whole = Device::of_bits(cuda, &codes, dtype);
                for tensor in [whole.slice(1, 8 * many)?, whole.slice(0, 8 * many)?] {
                    let got = cuda.download(&cuda.l2_norm(&[tensor])?)?[0];
                    if value.is_finite() {
                        assert_near(got, value * f64::from(u8::try_from(many)?).sqrt());
                    } else {
                        let same = got.is_nan() == value.is_nan() && !got.is_finite();
                        assert!(same, "{dtype} {code:#x} in lane {lane}: {got}");
                    }
                }
            }
        }
    }
    Ok(())
}

/// Codes whose squares add up to less than f32's largest, whole, and from a start that is not aligned to an end that is no group's.
fn norms_of_every_type(cuda: &binade_cuda::Cuda) -> Result {
    for dtype in TYPES {
        let codes: Vec<u8> = match dtype.bytes() {
            1 => (0..=u8::MAX).collect(),
            2 => (0..=u16::MAX).step_by(3).flat_map(u16::to_le_bytes).collect(),
            _ => (0..=u32::MAX).step_by(1_000_003).flat_map(u32::to_le_bytes).collect(),
        };
        let mut values = Cpu.download(&Device::of_bits(&Cpu, &codes, dtype))?;
        values.retain(|x| x.abs() < 1e15);
        let whole = vector(cuda, &values, dtype);
        for tensor in [whole.slice(1, values.len() - 2)?, whole] {
            let squares = |x: &f32| f64::from(*x) * f64::from(*x);
            let want = cuda.download(&tensor)?.iter().map(squares).sum::<f64>().sqrt();
            let got = cuda.download(&cuda.l2_norm(&[tensor])?)?[0];
            assert_near(got, want);
        }
    }
    Ok(())
}
