//! Casts, against the CPU's, bit for bit: NaN's payload too.

use crate::support::{Result, TYPES, kind, narrow, noise, of_bits, on_cpu, vector, wgpu};
use binade_autocast::Autocast;
use binade_core::{DType, ErrorKind, stochastic::Key};
use binade_cpu::Cpu;
use binade_ops::Upload;

crate::tests![
    every_half_and_a_sample_of_f32_cast_as_on_the_cpu,
    what_cannot_be_cast_is_refused,
    a_cast_in_many_parts_is_the_same,
    uploads_and_downloads_keep_every_bit,
    a_stochastic_cast_in_many_parts_is_the_same,
];

/// Tests of the whole of f32, for `--ignored`.
pub(crate) const SLOW: &[crate::Test] =
    &[("every_f32_casts_as_on_the_cpu", every_f32_casts_as_on_the_cpu)];

/// Codes of a type: every one of a half, and of f32 each 40,009th, which is a prime, and those around every power of two.
fn codes(dtype: DType) -> Vec<u8> {
    match dtype {
        DType::F32 => {
            let sample = (0..=u32::MAX).step_by(40_009);
            let edges = (0..512).flat_map(|binade| {
                (0..8).map(move |k| (binade << 23) + k - 4_u32.min(binade << 23))
            });
            let ties = (0..512).flat_map(|binade| {
                [0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0x1_8000]
                    .map(|rest| (binade << 23) | rest)
            });
            sample.chain(edges).chain(ties).flat_map(u32::to_le_bytes).collect()
        }
        _ => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
    }
}

fn assert_cast(codes: &[u8], from: DType, to: DType) -> Result {
    let wgpu = wgpu();
    let got = wgpu.to_bits(&wgpu.cast(&of_bits(&wgpu, codes, from), to)?)?;
    let want = Cpu.cast(&on_cpu(codes, from), to)?.to_bits();
    if got == want {
        return Ok(());
    }
    let [got, want] = [&got, &want].map(|bits| bits.chunks_exact(to.bytes()));
    for ((got, want), code) in got.zip(want).zip(codes.chunks_exact(from.bytes())) {
        assert_eq!(got, want, "{from} to {to} of {code:02x?}");
    }
    Err(format!("{from} to {to}: not as many").into())
}

fn every_half_and_a_sample_of_f32_cast_as_on_the_cpu() -> Result {
    for from in TYPES {
        let codes = codes(from);
        for to in TYPES {
            assert_cast(&codes, from, to)?;
        }
    }
    Ok(())
}

fn every_f32_casts_as_on_the_cpu() -> Result {
    for high in 0..=u8::MAX {
        let first = u32::from(high) << 24;
        let codes: Vec<u8> =
            (0..1 << 24).flat_map(|low: u32| (first | low).to_le_bytes()).collect();
        for to in [DType::BF16, DType::F16] {
            assert_cast(&codes, DType::F32, to)?;
        }
    }
    Ok(())
}

fn what_cannot_be_cast_is_refused() -> Result {
    let wgpu = wgpu();
    let tensor = vector(&wgpu, &[1.0], DType::F32);
    for to in [DType::I64, DType::U8, DType::F64] {
        assert_eq!(kind(wgpu.cast(&tensor, to)), ErrorKind::Unsupported);
    }
    let labels = wgpu.upload_i64(&[1, -2], &[2])?;
    assert_eq!(kind(wgpu.cast(&labels, DType::F32)), ErrorKind::Unsupported);
    Ok(())
}

fn a_cast_in_many_parts_is_the_same() -> Result {
    let (wide, narrow) = (wgpu(), narrow());
    let values = noise(5, 10_001);
    for from in TYPES {
        for to in TYPES {
            let [want, got] = [&wide, &narrow].map(|wgpu| {
                let tensor = vector(wgpu, &values, from).slice(3, 9_900)?;
                wgpu.to_bits(&wgpu.cast(&tensor, to)?)
            });
            assert_eq!(got?, want?, "{from} to {to}");
        }
    }
    assert!(narrow.counters().dispatches > 3 * 3 * 3, "{:?}", narrow.counters());
    Ok(())
}

fn uploads_and_downloads_keep_every_bit() -> Result {
    let wgpu = wgpu();
    for len in 0..9 {
        let bytes: Vec<u8> = (1..=len).collect();
        let tensor = of_bits(&wgpu, &bytes, DType::U8);
        assert_eq!(wgpu.to_bits(&tensor)?, bytes);
        for start in 0..bytes.len() {
            let part = tensor.slice(start, bytes.len() - start)?;
            assert_eq!(wgpu.to_bits(&part)?, bytes[start..]);
        }
    }
    let labels = wgpu.upload_i64(&[i64::MIN, -1, 7], &[3])?;
    let bytes: Vec<u8> = [i64::MIN, -1, 7].into_iter().flat_map(i64::to_le_bytes).collect();
    assert_eq!(wgpu.to_bits(&labels)?, bytes);
    Ok(())
}

const KEY: Key = Key { seed: 0x0123_4567_89ab_cdef, parameter: 5, step: 77 };

/// Values from far below the least of any type to beyond the eight-bit ones' largest, and some that are not finite.
fn spread(len: usize) -> Vec<f32> {
    let mut values = noise(3, len);
    values.iter_mut().zip((-40..20).cycle()).for_each(|(x, binade)| *x *= 2.0_f32.powi(binade));
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 0.0, -0.0, 1e-45];
    values.iter_mut().skip(1).step_by(5).zip(special).for_each(|(x, other)| *x = other);
    values
}

fn a_stochastic_cast_in_many_parts_is_the_same() -> Result {
    let (wide, narrow) = (wgpu(), narrow());
    let values = spread(5_001);
    for (from, to) in
        [(DType::F32, DType::E4M3), (DType::F16, DType::BF16), (DType::BF16, DType::F16)]
    {
        let [want, got] = [&wide, &narrow].map(|wgpu| {
            let tensor = vector(wgpu, &values, from).slice(3, 4_990)?;
            wgpu.to_bits(&wgpu.cast_stochastic(&tensor, to, KEY)?)
        });
        assert_eq!(got?, want?, "{from} to {to}");
    }
    Ok(())
}
