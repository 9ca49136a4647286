//! Casts, against the CPU's, bit for bit: NaN's payload too.

use crate::support::{Result, TYPES, kind, narrow, noise, of_bits, on_cpu, vector, wgpu};
use binade_autocast::Autocast;
use binade_core::{
    DType, ErrorKind,
    cast::{self, OnOverflow},
    stochastic::{self, Key},
};
use binade_cpu::Cpu;
use binade_ops::{Download, Fill, Relu, Upload};

crate::tests![
    every_half_and_a_sample_of_f32_cast_as_on_the_cpu,
    a_cast_begins_and_ends_anywhere,
    saturating_casts_stop_at_the_largest,
    what_cannot_be_cast_is_refused,
    a_cast_in_many_parts_is_the_same,
    uploads_and_downloads_keep_every_bit,
    eight_bit_types_cast_and_stop_at_the_largest,
    eight_bit_types_begin_and_end_anywhere,
    operations_refuse_eight_bit_types,
    stochastic_casts_use_the_words_of_their_key,
    a_stochastic_cast_in_many_parts_is_the_same,
];

/// The whole of f32, for `--ignored`.
pub(crate) const SLOW: &[crate::Test] =
    &[("every_f32_casts_as_on_the_cpu", every_f32_casts_as_on_the_cpu)];

/// Every code of a half; of f32 each 40,009th, which is a prime, and codes around every power of two.
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
        DType::E4M3 | DType::E5M2 => (0..=u8::MAX).collect(),
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

fn a_cast_begins_and_ends_anywhere() -> Result {
    let wgpu = wgpu();
    let values = noise(1, 700);
    for from in TYPES {
        let all = vector(&wgpu, &values, from);
        for to in TYPES {
            let want = wgpu.download(&wgpu.cast(&all, to)?)?;
            for (start, len) in [(0, 0), (1, 1), (1, 2), (3, 5), (127, 130), (128, 4), (129, 571)] {
                let part = wgpu.cast(&all.slice(start, len)?, to)?;
                let got = wgpu.download(&part)?;
                assert_eq!(got, want[start..start + len], "{from} to {to}, {len} from {start}");
            }
        }
    }
    Ok(())
}

fn saturating_casts_stop_at_the_largest() -> Result {
    let wgpu = wgpu();
    let values = [1e9, -1e9, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 65504.0, 65520.0, 1.0];
    let tensor = vector(&wgpu, &values, DType::F32);
    for to in TYPES {
        for on_overflow in [OnOverflow::Saturate, OnOverflow::NonFinite] {
            let got = wgpu.download(&wgpu.cast_overflowing(&tensor, to, on_overflow)?)?;
            let want: Vec<f32> =
                values.iter().filter_map(|x| cast::round(*x, to, on_overflow)).collect();
            assert_eq!(got, want, "{to} {on_overflow:?}");
        }
    }
    let nan = vector(&wgpu, &[f32::NAN], DType::F32);
    let nan = wgpu.cast_overflowing(&nan, DType::F16, OnOverflow::Saturate)?;
    assert!(wgpu.download(&nan)?[0].is_nan());
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
    assert!(narrow.ledger().dispatches > 3 * 3 * 3, "{:?}", narrow.ledger());
    Ok(())
}

fn uploads_and_downloads_keep_every_bit() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let codes = codes(dtype);
        assert_eq!(wgpu.to_bits(&of_bits(&wgpu, &codes, dtype))?, codes, "{dtype}");
    }
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

const STORED: [DType; 5] = [DType::BF16, DType::F16, DType::F32, DType::E4M3, DType::E5M2];
const EIGHT: [DType; 2] = [DType::E4M3, DType::E5M2];

fn eight_bit_types_cast_and_stop_at_the_largest() -> Result {
    for eight in EIGHT {
        for other in STORED {
            assert_cast(&codes(eight), eight, other)?;
            assert_cast(&codes(other), other, eight)?;
        }
    }
    let wgpu = wgpu();
    let values =
        [1e9, -1e9, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 464.0, 465.0, 61440.0, 1.0];
    let tensor = vector(&wgpu, &values, DType::F32);
    for to in EIGHT {
        for on_overflow in [OnOverflow::Saturate, OnOverflow::NonFinite] {
            let got = wgpu.download(&wgpu.cast_overflowing(&tensor, to, on_overflow)?)?;
            let want = values.iter().filter_map(|x| cast::round(*x, to, on_overflow));
            let [got, want] = [got, want.collect()].map(|it: Vec<f32>| any_nan(&it));
            assert_eq!(got, want, "{to} {on_overflow:?}");
        }
    }
    Ok(())
}

/// Bits, every NaN's being the same.
fn any_nan(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| if x.is_nan() { f32::NAN } else { *x }.to_bits()).collect()
}

fn eight_bit_types_begin_and_end_anywhere() -> Result {
    let wgpu = wgpu();
    for dtype in EIGHT {
        let codes = codes(dtype);
        let all = of_bits(&wgpu, &codes, dtype);
        assert_eq!(wgpu.to_bits(&all)?, codes);
        for start in 0..5 {
            for len in [0, 1, 2, 3, 4, 5, 7, 251] {
                let (part, codes) = (all.slice(start, len)?, &codes[start..start + len]);
                assert_eq!(wgpu.to_bits(&part)?, codes, "{dtype}");
                for to in STORED {
                    let got = wgpu.to_bits(&wgpu.cast(&part, to)?)?;
                    let want = Cpu.cast(&on_cpu(codes, dtype), to)?.to_bits();
                    assert_eq!(got, want, "{dtype} to {to}, {len} from {start}");
                }
            }
        }
    }
    Ok(())
}

fn operations_refuse_eight_bit_types() -> Result {
    let wgpu = wgpu();
    for dtype in EIGHT {
        let tensor = vector(&wgpu, &[1.0, -2.0], dtype);
        assert_eq!(wgpu.download(&tensor)?, [1.0, -2.0]);
        let refused = Cpu.relu(&on_cpu(&wgpu.to_bits(&tensor)?, dtype));
        assert_eq!(kind(wgpu.relu(&tensor)), kind(refused));
        assert_eq!(kind(wgpu.fill(1.0, &[2], dtype)), ErrorKind::Unsupported);
    }
    Ok(())
}

const KEY: Key = Key { seed: 0x0123_4567_89ab_cdef, parameter: 5, step: 77 };

/// From far below what any type holds to beyond the eight-bit ones' largest, and what is not finite.
fn spread(len: usize) -> Vec<f32> {
    let mut values = noise(3, len);
    values.iter_mut().zip((-40..20).cycle()).for_each(|(x, binade)| *x *= 2.0_f32.powi(binade));
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 0.0, -0.0, 1e-45];
    values.iter_mut().skip(1).step_by(5).zip(special).for_each(|(x, other)| *x = other);
    values
}

fn stochastic_casts_use_the_words_of_their_key() -> Result {
    let wgpu = wgpu();
    for from in STORED {
        for len in [0, 1, 3, 4, 1003] {
            let tensor = vector(&wgpu, &spread(len), from);
            let values = wgpu.download(&tensor)?;
            for to in STORED {
                let got = wgpu.download(&wgpu.cast_stochastic(&tensor, to, KEY)?)?;
                let round = |(index, x): (u64, &f32)| {
                    stochastic::round(*x, to, stochastic::bits(KEY, index), OnOverflow::NonFinite)
                };
                let want: Vec<f32> = (0..).zip(&values).filter_map(round).collect();
                assert_eq!(any_nan(&got), any_nan(&want), "{from} to {to}, {len}");
            }
        }
    }
    let tensor = vector(&wgpu, &[1.0], DType::F32);
    assert_eq!(kind(wgpu.cast_stochastic(&tensor, DType::I64, KEY)), ErrorKind::Unsupported);
    Ok(())
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
