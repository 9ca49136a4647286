//! Properties of a subject's arithmetic.

use std::fmt;

/// Properties of a subject's arithmetic, on which alone the kit's agreement depends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each with a name")]
pub struct Arithmetic {
    /// True if optimizer steps use fused multiply-add where the contract of the master weights has it.
    pub fma: bool,
    /// True if `f32` arithmetic keeps subnormal operands and results.
    pub keeps_subnormals: bool,
    /// True if `f32` division and square root are correctly rounded.
    pub rounded_div_sqrt: bool,
    /// True if the subject stores `f64` tensors, and casts them to `f32` and back.
    pub f64: bool,
    /// True if matrix products may use Tensor Cores or similar units, which truncate when they add.
    pub tensor_core: bool,
    /// True if matrix products may read their `f32` operands as TF32, with 10 stored bits of the significand.
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

    /// Returns each property by its name.
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
