//! Properties of a subject's arithmetic.

use std::fmt;

/// Properties of a subject's arithmetic. The kit's agreement depends on them and on nothing else.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each with a name")]
pub struct Arithmetic {
    /// Optimizer steps use fused multiply-add where the arithmetic of the master weights says so.
    pub fma: bool,
    /// `f32` arithmetic keeps subnormal operands and results.
    pub keeps_subnormals: bool,
    /// `f32` division and square root are correctly rounded.
    pub rounded_div_sqrt: bool,
    /// `f64` tensors can be held, and cast to `f32` and back.
    pub f64: bool,
    /// Matrix products may go through Tensor Cores or their like, which truncate as they add.
    pub tensor_core: bool,
    /// Matrix products may read their `f32` operands as TF32, with 10 stored bits of the significand.
    pub tf32: bool,
}

impl Arithmetic {
    /// IEEE 754 arithmetic with fused multiply-add, as a CPU has it.
    pub const IEEE: Self = Self {
        fma: true,
        keeps_subnormals: true,
        rounded_div_sqrt: true,
        f64: true,
        tensor_core: false,
        tf32: false,
    };

    /// Each fact by its name.
    pub(crate) fn facts(self) -> [(&'static str, bool); 6] {
        [
            ("fma", self.fma),
            ("keeps_subnormals", self.keeps_subnormals),
            ("rounded_div_sqrt", self.rounded_div_sqrt),
            ("f64", self.f64),
            ("tensor_core", self.tensor_core),
            ("tf32", self.tf32),
        ]
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, holds)) in self.facts().into_iter().enumerate() {
            let (gap, no) = (if index == 0 { "" } else { ", " }, if holds { "" } else { "no " });
            write!(f, "{gap}{no}{name}")?;
        }
        Ok(())
    }
}
