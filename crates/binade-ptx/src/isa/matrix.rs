//! What a warp does with whole matrices: products on Tensor Cores, and their operands out of shared memory.

use super::{
    Class::W32,
    Form,
    Kind::{self, FromVector, Memory, ToVector},
    Op, Space, Together,
    number::low16,
};
use crate::module::Capability;
use half::{bf16, f16};

/// D, A, B and C of 16 by 8, with 8 terms a sum: fragments of four, two, one and four registers a lane.
const EIGHT_DEEP: &[Kind] =
    &[ToVector(W32, 4), FromVector(W32, 2), FromVector(W32, 1), FromVector(W32, 4)];

/// The same with 16 terms a sum.
const SIXTEEN_DEEP: &[Kind] =
    &[ToVector(W32, 4), FromVector(W32, 4), FromVector(W32, 2), FromVector(W32, 4)];

const fn multiply(value: fn(u64) -> f64) -> Op {
    Op::Together(Together::Multiply(value))
}

/// One matrix a register, its rows' addresses from eight lanes each.
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
    Form::new("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", EIGHT_DEEP, multiply(from_f16)),
    Form::new(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        SIXTEEN_DEEP,
        multiply(from_bf16),
    )
    .since(Capability::SM_80),
    Form::new(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        SIXTEEN_DEEP,
        multiply(from_f16),
    )
    .since(Capability::SM_80),
];

pub(super) const FORMS: &[&[Form]] = &[PRODUCTS, load!(1, "x1"), load!(2, "x2"), load!(4, "x4")];

fn from_bf16(element: u64) -> f64 {
    bf16::from_bits(low16(element)).to_f64()
}

fn from_f16(element: u64) -> f64 {
    f16::from_bits(low16(element)).to_f64()
}
