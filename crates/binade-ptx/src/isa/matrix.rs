//! Forms of matrix instructions: products on Tensor Cores, and loads of their operands from shared memory.

use super::{
    Class::W32,
    Form,
    Kind::{self, FromVector, Memory, ToVector},
    LANES, Op, Pairs, Space, Together, Values,
    number::f32_of,
};
use crate::module::Capability;

/// Operands of a 16 by 8 product with 8 terms a sum: fragments of D, A, B and C in four, two, one and four registers a lane.
const EIGHT_DEEP: &[Kind] =
    &[ToVector(W32, 4), FromVector(W32, 2), FromVector(W32, 1), FromVector(W32, 4)];

/// Operands of a 16 by 8 product with 16 terms a sum.
const SIXTEEN_DEEP: &[Kind] =
    &[ToVector(W32, 4), FromVector(W32, 4), FromVector(W32, 2), FromVector(W32, 4)];

const fn multiply(pairs: Pairs) -> Op {
    Op::Together(Together::Multiply(pairs))
}

/// Loads of one matrix a register, whose row addresses come from eight lanes each.
macro_rules! load {
    ($count:literal, $number:literal) => {
        &[
            Form::new(
                concat!("ldmatrix.sync.aligned.m8n8.", $number, ".shared.b16"),
                &[ToVector(W32, $count), Memory(Space::Shared)],
                Op::Together(Together::LoadMatrix { transposed: false }),
            ),
            Form::new(
                concat!("ldmatrix.sync.aligned.m8n8.", $number, ".trans.shared.b16"),
                &[ToVector(W32, $count), Memory(Space::Shared)],
                Op::Together(Together::LoadMatrix { transposed: true }),
            ),
        ]
    };
}

const PRODUCTS: &[Form] = &[
    Form::new(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
        EIGHT_DEEP,
        multiply(pairs_of_f16),
    ),
    Form::new(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        SIXTEEN_DEEP,
        multiply(pairs_of_bf16),
    )
    .since(Capability::SM_80),
    Form::new(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        SIXTEEN_DEEP,
        multiply(pairs_of_f16),
    )
    .since(Capability::SM_80),
];

pub(super) const FORMS: &[&[Form]] = &[PRODUCTS, load!(1, "x1"), load!(2, "x2"), load!(4, "x4")];

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
