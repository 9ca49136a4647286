//! Tiles of a product by AVX-512: sums stay in registers.
#![allow(
    unsafe_code,
    reason = "instructions of processors, detected before, and their loads and stores"
)]

use super::{Beta, Elements};
use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_add_ps, _mm512_dpbf16_ps, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_set1_epi32,
    _mm512_set1_ps, _mm512_setzero_ps,
};
use std::mem::transmute;

/// Rows of a tile: with two registers a row they leave room for the columns' words.
pub(super) const ROWS: usize = 12;

/// Columns of a tile: two registers of 16 words.
pub(super) const COLUMNS: usize = 32;

/// Words of a tile's rows, and of its columns.
type Words<'a> = (&'a [[u32; ROWS]], &'a [[u32; COLUMNS]]);

/// Sums of a tile.
type Sums = [[__m512; 2]; ROWS];

/// Way of multiplying words.
#[derive(Clone, Copy)]
pub(super) enum Kernel {
    /// A word is an f32.
    Single,
    /// A word is two bf16, whose products with two others are added to one sum.
    Pairs,
}

impl Kernel {
    /// Returns the kernel for operands of these types; `None` if the processor has not its instructions.
    pub(super) fn of(a: Elements<'_>, b: Elements<'_>) -> Option<Self> {
        let are_bf16 = matches!((a, b), (Elements::BF16(_), Elements::BF16(_)));
        if !is_x86_feature_detected!("avx512f") {
            return None;
        }
        // The compiler may also use the extensions that AVX512-BF16 requires.
        let has_pairs =
            is_x86_feature_detected!("avx512bf16") && is_x86_feature_detected!("avx512bw");
        Some(if are_bf16 && has_pairs { Self::Pairs } else { Self::Single })
    }

    /// Returns the number of elements of a word.
    pub(super) fn elements(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Pairs => 2,
        }
    }

    /// Computes a tile of rows of the result that are `stride` elements apart, as far as they have its rows and columns.
    pub(super) fn multiply(self, words: Words<'_>, beta: Beta, result: &mut [f32], stride: usize) {
        // SAFETY: `of`, which alone makes kernels, has detected the features.
        unsafe {
            match self {
                Self::Single => store(&singles(words), beta, result, stride),
                Self::Pairs => store(&pairs(words), beta, result, stride),
            }
        }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn singles((a, b): Words<'_>) -> Sums {
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    for (a, b) in a.iter().zip(b) {
        // SAFETY: the array has 32 words, and loads need no alignment.
        let b = unsafe { [0, 16].map(|first| _mm512_loadu_ps(b.as_ptr().add(first).cast())) };
        for (sums, a) in sums.iter_mut().zip(a) {
            let a = _mm512_set1_ps(f32::from_bits(*a));
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = _mm512_fmadd_ps(a, b, *sum);
            }
        }
    }
    sums
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn pairs((a, b): Words<'_>) -> Sums {
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    for (a, b) in a.iter().zip(b) {
        // SAFETY: the array has 32 words, and loads need no alignment.
        let b =
            unsafe { [0, 16].map(|first| bf16s(_mm512_loadu_si512(b.as_ptr().add(first).cast()))) };
        for (sums, a) in sums.iter_mut().zip(a) {
            let a = bf16s(_mm512_set1_epi32(a.cast_signed()));
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = _mm512_dpbf16_ps(*sum, a, b);
            }
        }
    }
    sums
}

/// Returns a register's words as pairs of bf16.
#[inline(always)]
fn bf16s(words: __m512i) -> __m512bh {
    // SAFETY: both types are 64 bytes of any bits.
    unsafe { transmute(words) }
}

/// Writes a tile's sums to rows of the result. `result` begins at the tile's first element and ends with the result's last row, so that its
/// length tells how many rows and columns of the tile there are.
#[target_feature(enable = "avx512f")]
fn store(sums: &Sums, beta: Beta, result: &mut [f32], stride: usize) {
    let columns = (result.len() - 1) % stride + 1;
    for (row, sums) in result.chunks_mut(stride).zip(sums) {
        let row = &mut row[..columns.min(COLUMNS)];
        for (part, sum) in row.chunks_mut(16).zip(sums) {
            let mask = u16::MAX >> (16 - part.len());
            // SAFETY: the mask has a bit for each element of the part, and neither access needs alignment.
            unsafe {
                let sum = match beta {
                    Beta::Zero => *sum,
                    Beta::One => _mm512_add_ps(_mm512_maskz_loadu_ps(mask, part.as_ptr()), *sum),
                };
                _mm512_mask_storeu_ps(part.as_mut_ptr(), mask, sum);
            }
        }
    }
}
