//! Subjects whose operations are wrong in one way each.

use crate::toy::{Plain, Toy};
use crate::toy_ops::matmul;
use binade_conformance::{Arithmetic, Compute, Refusal, Subject};
use binade_core::DType;
use half::f16;

/// The toy, with one operation done otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Slip {
    SumsInF16,
    MultipliesInF16,
}

impl Subject for Slip {
    type Tensor = Plain;

    fn name(&self) -> &'static str {
        "slip"
    }

    fn arithmetic(&self) -> Arithmetic {
        Toy.arithmetic()
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Plain, Refusal> {
        Toy.from_bits(bits, dtype, shape)
    }

    fn to_bits(&self, tensor: &Plain) -> Result<Vec<u8>, Refusal> {
        Toy.to_bits(tensor)
    }

    fn compute(&self, op: &Compute, operands: &[&Plain]) -> Result<Vec<Plain>, Refusal> {
        match (self, op, operands) {
            (Self::SumsInF16, Compute::Sum, [x]) => {
                Ok(vec![Plain::write(&[in_f16(&x.read())], DType::F32, &[])])
            }
            (Self::MultipliesInF16, Compute::MatMul, [a, b]) => Ok(vec![matmul(a, b, in_f16)]),
            _ => Toy.compute(op, operands),
        }
    }
}

fn in_f16(terms: &[f32]) -> f32 {
    terms.iter().fold(f16::ZERO, |sum, x| f16::from_f32(sum.to_f32() + x)).to_f32()
}
