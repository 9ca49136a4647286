//! Conversion between floats and the bits of a register. NaN results are canonical.

use half::{bf16, f16};

#[expect(clippy::cast_possible_truncation, reason = "a 32-bit register's bits")]
pub(super) fn f32_of(register: u64) -> f32 {
    f32::from_bits(register as u32)
}

/// Returns the bits of a float; a NaN becomes the ISA's canonical NaN.
pub(super) fn of_f32(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { u64::from(value.to_bits()) }
}

pub(super) fn f64_of(register: u64) -> f64 {
    f64::from_bits(register)
}

/// Returns the bits of a float; every NaN becomes this one. The ISA leaves its bits open, and results must not depend on them.
pub(super) fn of_f64(value: f64) -> u64 {
    if value.is_nan() { 0x7fff_ffff_ffff_ffff } else { value.to_bits() }
}

#[expect(clippy::cast_possible_truncation, reason = "a 16-bit register's bits")]
pub(super) fn low16(register: u64) -> u16 {
    register as u16
}

pub(super) fn of_f16(value: f16) -> u64 {
    if value.is_nan() { 0x7fff } else { u64::from(value.to_bits()) }
}

pub(super) fn of_bf16(value: bf16) -> u64 {
    if value.is_nan() { 0x7fff } else { u64::from(value.to_bits()) }
}
