//! Casts, against the CPU's, bit for bit: NaN's payload too.

use crate::support::{Result, TYPES, narrow, noise, of_bits, on_cpu, vector, wgpu};
use binade_autocast::Autocast;
use binade_core::{DType, stochastic::Key};
use binade_cpu::Cpu;
use binade_ops::Upload;

crate::tests![
    a_cast_in_many_parts_is_the_same,
    uploads_and_downloads_keep_every_bit,
    a_stochastic_cast_in_many_parts_is_the_same,
];

/// Tests of the whole of f32, for `--ignored`.
pub(crate) const SLOW: &[crate::shared::Test] =
    &[("every_f32_casts_as_on_the_cpu", every_f32_casts_as_on_the_cpu)];

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
