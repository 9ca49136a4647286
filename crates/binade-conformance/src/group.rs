//! Groups of cases: one for each operation of `binade_core::ops`, and one for each part of the other contracts.

use std::fmt;

/// Calls a macro with the table of case groups, in the order in which they run.
///
/// The macro's name stands in brackets. It gets the tokens after them, in braces, and then one row for each group: its suites in brackets, the
/// smallest last; the variant of [`CaseGroup`]; and the name, which is also that of its file in `cases`.
///
/// A suite is the trait that the cases test, or a part of the kit without a trait. `Ops` are all rows of
/// [`for_each_op!`](binade_core::ops::for_each_op); rules are those of [`for_each_rule!`](binade_master_weights::for_each_rule).
macro_rules! for_each_group {
    ([$($callback:tt)+] $($arguments:tt)*) => {
        $crate::ops::for_each_op! {
            [$crate::group::ops_and_rules] [$($callback)+] { $($arguments)* }
        }
    };
}
pub(crate) use for_each_group;

/// Adds the table of update rules to the table of operations.
macro_rules! ops_and_rules {
    ({ $($arguments:tt)* } $($op:ident $name:ident $methods:tt)*) => {
        $crate::master_weights::for_each_rule! {
            [$crate::group::groups] $($arguments)* [$($op $name)*]
        }
    };
}
pub(crate) use ops_and_rules;

/// The rows of [`for_each_group!`].
macro_rules! groups {
    (
        { [$($callback:tt)+] $arguments:tt [$($op:ident $name:ident)*] }
        $($rule:ident $rule_name:ident)*
        [$($whole:ident $whole_name:ident)*]
    ) => {
        $($callback)+! {
            $arguments
            /// Bits to the device and back.
            [Storage] Bits bits
            /// Casts between element types.
            [Autocast] Cast cast
            /// Casts to narrower types, up or down by shared random words.
            [StochasticCast] StochasticCast stochastic_cast
            /// A loss times the scale, and a tensor of no optimizer over it.
            [GradScaler] Scale scale
            /// Gradients divided by their scale, and the findings of that pass.
            [GradScaler] Unscale unscale
            /// The norm of all gradients together, as clipping measures it.
            [GradOps] Norm norm
            /// Gradients limited, by norm or one by one.
            [GradOps] Clip clip
            /// Groups of gradients limited, each by a norm of its own.
            [ClipGroups] ClipGroups clip_groups
            /// Sets of tensors scaled, added, measured, cast and assigned.
            [MultiTensor] MultiTensor multi_tensor
            /// The sum of a window's micro-batches.
            [GradOps] Accumulate accumulate
            /// The findings of two passes, joined.
            [GradScaler] Merge merge
            /// Iterations that stay on the device until the last.
            [GradScaler] Iterate iterate
            /// The scale's move after an iteration.
            [GradScaler] ScaleUpdate scale_update
            $(
                #[doc = concat!("A fused step of [`", stringify!($rule), "`](binade_master_weights::", stringify!($rule), ").")]
                [MasterWeights] $rule $rule_name
            )*
            /// Fused steps by norms of whole tensors: LAMB, `NovoGrad`, LARS and LARC.
            [MasterWeights] WholeTensors whole_tensors
            /// Steps of masters in two halves, a `bf16` and a remainder.
            [MasterWeights] Remainder remainder
            /// Steps of parameters that are rounded by chance.
            [MasterWeights] Stochastic stochastic
            /// Steps of parameters with a compensation.
            [MasterWeights] Kahan kahan
            /// Steps of masters in `f16` with an exponent a tensor.
            [MasterWeights] ScaledF16 scaled_f16
            $(
                #[doc = concat!("[`", stringify!($op), "`](binade_core::ops::", stringify!($op), ").")]
                [Ops $op] $op $name
            )*
            /// Gradients of look-ups: rows added where they repeat, checked, and stepped alone.
            [SparseEmbedding] Sparse sparse
            /// Whole runs, held to the loss of `f32`.
            [Convergence] Convergence convergence
        }
    };
}
pub(crate) use groups;

macro_rules! case_group {
    ({} $($(#[$doc:meta])* [$($suite:ident)+] $group:ident $name:ident)*) => {
        /// A group of cases: those of one operation, or of one part of another contract.
        ///
        /// Its name is the first part of its cases' names.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum CaseGroup {
            $($(#[$doc])* $group,)*
        }

        impl CaseGroup {
            /// Every group, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$group),*];

            /// Returns its name, with which its cases' names begin.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$group => stringify!($name),)*
                }
            }

            /// Returns the suites that it belongs to, the smallest last.
            pub(crate) const fn suites(self) -> &'static [&'static str] {
                match self {
                    $(Self::$group => &[$(stringify!($suite)),+],)*
                }
            }
        }
    };
}

for_each_group!([case_group]);

impl CaseGroup {
    /// Returns the groups of a suite: a trait, `Ops` for all operations, or a part of the kit without a trait.
    pub(crate) fn of_suite(suite: &str) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |group| group.suites().contains(&suite))
    }

    /// Returns the names of all suites, for a message.
    pub(crate) fn all_suites() -> String {
        let mut names: Vec<_> =
            Self::ALL.iter().flat_map(|group| group.suites()).copied().collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    }

    /// Returns its smallest suite: the trait that the cases test, or a part of the kit without a trait.
    pub(crate) const fn suite(self) -> &'static str {
        let suites = self.suites();
        suites[suites.len() - 1]
    }
}

impl fmt::Display for CaseGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_a_trait_or_all_operations() {
        let of = |suite| CaseGroup::of_suite(suite).map(CaseGroup::name).collect::<Vec<_>>();
        assert_eq!(of("GradOps"), ["norm", "clip", "accumulate"]);
        assert_eq!(of("MatMul"), ["matmul"]);
        assert!(of("Ops").contains(&"matmul"));
        assert!(of("matmul").is_empty());
        assert_eq!(
            [CaseGroup::MatMul, CaseGroup::Norm].map(CaseGroup::suite),
            ["MatMul", "GradOps"]
        );
    }
}
