//! Products that drop bits of their operands: dropping as many as TF32 passes only if the subject declares TF32.

use super::faulty::{Fault, Faulty};
use super::toy::{Elements, Plain, Tensors, Toy};
use crate::{Arithmetic, Backend as _, OpInvocation, Report, Result, Runner};
use binade_core::DType;

/// Multiplies `f32` matrices without the given number of their 23 stored significand bits.
struct Narrowed {
    dropped: u32,
    admits_it: bool,
}

impl Fault for Narrowed {
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic { tf32: self.admits_it, ..Toy.arithmetic() }
    }

    /// A bias is added, not multiplied, and its gradient is a sum: both keep their bits.
    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Tensors> {
        let cut: Vec<Plain> = operands.iter().map(|it| self.cut(it)).collect();
        let mut factors: Vec<&Plain> = cut.iter().collect();
        if let [_, _, bias] = operands
            && matches!(op, OpInvocation::Linear | OpInvocation::Conv2d { .. })
        {
            factors[2] = bias;
        }
        let mut results = Toy.compute(op, &factors)?;
        if results.len() == 3 {
            results[2] = Toy.compute(op, operands)?.swap_remove(2);
        }
        Ok(results)
    }
}

impl Narrowed {
    fn cut(&self, tensor: &Plain) -> Plain {
        if tensor.dtype() != DType::F32 {
            return tensor.clone();
        }
        let cut = |x: f32| f32::from_bits(x.to_bits() >> self.dropped << self.dropped);
        let values: Vec<f32> = tensor.read().into_iter().map(cut).collect();
        Plain::write(&values, DType::F32, tensor.shape())
    }
}

const PRODUCTS: [&str; 4] = ["matmul/", "linear/", "bmm/", "conv2d/"];

fn run(operation: &str, dropped: u32, admits_it: bool) -> Report {
    Runner::new().only(operation).run_on(&Faulty(&Narrowed { dropped, admits_it }))
}

#[test]
fn a_subject_that_admits_to_tf32_may_drop_13_bits() {
    for operation in PRODUCTS {
        let report = run(operation, 13, true);
        report.assert_success();
        assert!(report.to_string().contains("bound(4), tf32"), "{report}");
    }
}

#[test]
fn a_subject_that_does_not_admit_to_it_is_caught_in_f32_alone() {
    for operation in PRODUCTS {
        let report = run(operation, 13, false);
        let failed: Vec<String> =
            report.failed().iter().map(|(case, _)| case.to_string()).collect();
        assert!(!failed.is_empty(), "{report}");
        assert!(failed.iter().all(|case| case.contains("/f32/")), "{failed:?}");
    }
}

#[test]
fn bf16_is_no_tf32() {
    for operation in PRODUCTS {
        assert!(!run(operation, 16, true).failed().is_empty(), "{operation}");
    }
}
