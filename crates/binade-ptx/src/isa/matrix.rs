//! Forms of matrix instructions: products on Tensor Cores, and loads of their operands from shared memory.

use super::{
    Class::W32,
    Kind::{FromVector, Memory, ToVector},
    LANES, Op, Space, Table, Together, Values,
    number::f32_of,
};
use crate::module::Capability;

pub(super) fn add(table: &mut Table) {
    // Products of 16 by 8 elements, by the terms of a sum: fragments of D, A, B and C in so many registers a lane.
    for (name, terms, pairs) in [
        ("m16n8k8.row.col.f32.f16.f16.f32", 8, pairs_of_f16 as super::Pairs),
        ("m16n8k16.row.col.f32.bf16.bf16.f32", 16, pairs_of_bf16),
        ("m16n8k16.row.col.f32.f16.f16.f32", 16, pairs_of_f16),
    ] {
        let given = [FromVector(W32, terms / 4), FromVector(W32, terms / 8), FromVector(W32, 4)];
        let operands = [&[ToVector(W32, 4)], &given[..]].concat();
        let op = Op::Together(Together::Multiply(pairs));
        let since = if terms == 8 { Capability::SM_75 } else { Capability::SM_80 };
        table.form(format!("mma.sync.aligned.{name}"), operands, op).since = since;
    }
    // Loads of one matrix a register, whose row addresses come from eight lanes each.
    for (count, way) in
        [1, 2, 4].into_iter().flat_map(|count| ["", ".trans"].map(|way| (count, way)))
    {
        let op = Op::Together(Together::LoadMatrix { transposed: !way.is_empty() });
        let operands = vec![ToVector(W32, count), Memory(Space::Shared)];
        table.form(format!("ldmatrix.sync.aligned.m8n8.x{count}{way}.shared.b16"), operands, op);
    }
}

fn pairs_of_bf16(register: &Values) -> [[f64; 2]; LANES] {
    register.map(|pair| [pair << 16, pair & 0xffff_0000].map(|bits| f32_of(bits).into()))
}

fn pairs_of_f16(register: &Values) -> [[f64; 2]; LANES] {
    register.map(|pair| [pair & 0xffff, pair >> 16 & 0xffff].map(from_f16))
}

/// Its fraction and exponent in the place of an f64's, which is 2^-1008 of the number, subnormal or not.
fn from_f16(bits: u64) -> f64 {
    let magnitude = f64::from_bits((bits & 0x7fff) << 42) * f64::from_bits((1023 + 1008) << 52);
    let special = if bits & 0x7fff == 0x7c00 { f64::INFINITY } else { f64::NAN };
    let magnitude = if bits & 0x7c00 == 0x7c00 { special } else { magnitude };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn every_pair_of_sixteen_bits_is_the_numbers_that_it_stands_for() {
        for bits in 0..=u16::MAX {
            let register = [u64::from(bits) | u64::from(!bits) << 16; LANES];
            let same = |got: f64, number: f64| {
                assert!(
                    got.to_bits() == number.to_bits() || (got.is_nan() && number.is_nan()),
                    "{bits:#x}"
                );
            };
            for (at, bits) in [bits, !bits].into_iter().enumerate() {
                same(pairs_of_f16(&register)[31][at], f16::from_bits(bits).to_f64());
                same(pairs_of_bf16(&register)[31][at], bf16::from_bits(bits).to_f64());
            }
        }
    }
}
