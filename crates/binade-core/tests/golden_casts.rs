//! Casts against torch's and `ml_dtypes`' results on 47,446 boundary patterns (`data/README.md`).

use binade_core::cast::{
    E4M3, E5M2,
    OnOverflow::{NonFinite, Saturate},
};
use flate2::read::GzDecoder;
use half::{bf16, f16};
use std::io::Read;

const PATTERNS: usize = 47_446;

struct Golden {
    value: f32,
    bf16: u16,
    f16: u16,
    e4m3: u8,
    e5m2: u8,
}

fn golden() -> Vec<Golden> {
    let mut bytes = Vec::new();
    let packed: &[u8] = include_bytes!("data/boundary_casts.bin.gz");
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("a gzip file");
    assert_eq!(bytes.len(), PATTERNS * 10);
    let (values, rest) = bytes.split_at(PATTERNS * 4);
    let (bf16s, rest) = rest.split_at(PATTERNS * 2);
    let (f16s, rest) = rest.split_at(PATTERNS * 2);
    let (e4m3s, e5m2s) = rest.split_at(PATTERNS);
    let word = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
    let row = |(at, value): (usize, &[u8])| Golden {
        value: f32::from_le_bytes(value.try_into().expect("four bytes")),
        bf16: word(bf16s, at),
        f16: word(f16s, at),
        e4m3: e4m3s[at],
        e5m2: e5m2s[at],
    };
    values.chunks_exact(4).enumerate().map(row).collect()
}

/// Asserts equal bits, or NaN on both sides: NaN's own bits differ between torch's vector and scalar paths.
fn assert_same(ours: f32, theirs: f32, value: f32, format: &str) {
    let same = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
    assert!(same, "{value:e} ({:#010x}) as {format}: {ours:e}, torch {theirs:e}", value.to_bits());
}

#[test]
fn saturating_e4m3_is_torchs() {
    for Golden { value, e4m3: theirs, .. } in golden() {
        let ours = E4M3::from_f32(value, Saturate);
        assert_same(ours.to_f32(), E4M3::from_bits(theirs).to_f32(), value, "e4m3");
    }
}

#[test]
fn non_finite_e4m3_is_that_of_ml_dtypes() {
    let mut beyond = 0;
    for Golden { value, e4m3: theirs, .. } in golden() {
        let ours = E4M3::from_f32(value, NonFinite).to_f32();
        if value.abs() > 464.0 {
            beyond += 1;
            assert!(ours.is_nan(), "{value:e}");
        } else {
            assert_same(ours, E4M3::from_bits(theirs).to_f32(), value, "e4m3");
        }
    }
    assert_eq!(beyond, 19_082);
}

#[test]
fn sixteen_bits_and_e5m2_are_torchs() {
    for Golden { value, bf16, f16, e5m2, .. } in golden() {
        let (wide, half) = (bf16::from_bits(bf16), f16::from_bits(f16));
        assert_same(bf16::from_f32(value).to_f32(), wide.to_f32(), value, "bf16");
        assert_same(f16::from_f32(value).to_f32(), half.to_f32(), value, "f16");
        let ours = E5M2::from_f32(value, NonFinite).to_f32();
        assert_same(ours, E5M2::from_bits(e5m2).to_f32(), value, "e5m2");
    }
}
