//! Update rules: a row each in the table, and a file each for the data, the constants of a step and the arithmetic of an element.

mod correction;
mod custom;
mod measure;
mod row;
mod rule;
mod rule_error;
mod update;

use measure::Norms;
use row::{Row, of_kind, padded};
use rule::{Constants, Rule};
use rule_error::{betas_below_1, finite, need, not_negative};
use update::update;

pub use correction::{Corrected, Correction};
pub use custom::{Custom, CustomRule};
pub use measure::Sums;
pub use novograd::GradNorm;
pub use rule::ElementState;
pub use rule_error::RuleError;

/// Calls a macro with the table of update rules.
///
/// The macro is named in brackets. Its input is the text behind them, in braces, and then one row for each rule: its variant of
/// [`UpdateRule`], which is also the type of its hyper-parameters, and its name, which is also the name of its file, of its kernel
/// and of its cases in the kit. The last rows, in brackets, are those of rules that step by norms of whole tensors: kernel and cases of all
/// of these are named `whole_tensors`.
///
/// # Examples
///
/// ```
/// macro_rules! names {
///     ({} $($rule:ident $name:ident)* [$($whole:ident $whole_name:ident)*]) => {
///         [$(stringify!($name),)* $(stringify!($whole_name)),*]
///     };
/// }
/// let names = binade_master_weights::for_each_rule!([names]);
/// assert_eq!(names, binade_master_weights::UpdateRule::NAMES);
/// ```
#[macro_export]
macro_rules! for_each_rule {
    ([$($callback:tt)+] $($arguments:tt)*) => {
        $($callback)+! {
            { $($arguments)* }
            Sgd sgd
            Adam adam
            Lion lion
            Adagrad adagrad
            [Lamb lamb NovoGrad novograd Lars lars]
        }
    };
}

/// Declares the constants of a rule's step in the order of the row that kernels read, where flags are 0 and 1.
///
/// A device fills in what depends on the count of steps: in the first step the first constant is 1 and later 0, or the first ones
/// are those of the rule's [`Correction`].
macro_rules! step_constants {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) struct $name {
            $($(#[$field_doc])* $field: $type,)*
        }

        impl $name {
            fn in_order(self) -> Row {
                super::padded(&[$(f32::from(self.$field)),*])
            }
        }
    };
}

/// Declares the rules of the table, each with the name of its kernel.
macro_rules! rules {
    ({} $($rule:ident $name:ident)* [$($whole:ident $whole_name:ident)*]) => {
        all_rules! { $($rule $name $name)* $($whole $whole_name whole_tensors)* }
    };
}

macro_rules! all_rules {
    ($($rule:ident $name:ident $kernel:ident)*) => {
        $(
            mod $name;
            pub use $name::$rule;
        )*

        /// Rule by which a gradient changes a parameter. The rule is pure data, without state.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(rename_all = "lowercase")
        )]
        pub enum UpdateRule {
            $(
                #[doc = concat!("Steps of [`", stringify!($rule), "`].")]
                $rule($rule),
            )*
            /// Steps of a rule of the program's own.
            Custom(Custom),
        }

        impl UpdateRule {
            /// Names of the rules of the table, in its order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Names of the kernels of the same rules. Rules that step by norms of whole tensors share one.
            pub const KERNELS: &'static [&'static str] = &[$(stringify!($kernel)),*];

            /// Returns the rule's name.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$rule(_) => stringify!($name),)*
                    Self::Custom(rule) => rule.name(),
                }
            }

            /// Returns the name of the kernel that steps by the rule: its own name for a rule of the program's own.
            pub const fn kernel(&self) -> &'static str {
                match self {
                    $(Self::$rule(_) => stringify!($kernel),)*
                    Self::Custom(rule) => rule.name(),
                }
            }

            /// Returns true if the rule keeps a running norm of each tensor, as one value of state.
            pub fn keeps_norm(&self) -> bool {
                match self {
                    $(Self::$rule(rule) => rule.keeps_norm(),)*
                    Self::Custom(_) => false,
                }
            }

            /// Returns true if the rule can step only the rows of a sparse gradient.
            pub fn steps_rows(&self) -> bool {
                match self {
                    $(Self::$rule(rule) => rule.steps_rows(),)*
                    Self::Custom(_) => false,
                }
            }

            /// Returns the learning rate.
            pub const fn lr(&self) -> f64 {
                match self {
                    $(Self::$rule(rule) => rule.lr,)*
                    Self::Custom(rule) => rule.lr(),
                }
            }

            /// Returns the rule at another learning rate.
            #[must_use]
            pub const fn with_lr(mut self, lr: f64) -> Self {
                match &mut self {
                    $(Self::$rule(rule) => rule.lr = lr,)*
                    Self::Custom(rule) => *rule.lr_mut() = lr,
                }
                self
            }

            /// Returns torch's keys of the `f32` optimizer state of each parameter.
            pub fn moment_names(&self) -> &'static [&'static str] {
                let names = match self {
                    $(Self::$rule(_) => <$rule as Rule>::MOMENTS,)*
                    Self::Custom(rule) => rule.moment_names(),
                };
                &names[..self.moments()]
            }

            /// Returns the value of each moment's elements before the first step, in the order of the moments.
            pub fn initial(&self) -> [f32; 3] {
                match self {
                    $(Self::$rule(rule) => rule.initial(),)*
                    Self::Custom(rule) => rule.initial(),
                }
            }

            /// Returns the correction that the steps need, or `None` for a rule without.
            pub fn correction(&self) -> Option<Correction> {
                match self {
                    $(Self::$rule(rule) => rule.correction(),)*
                    Self::Custom(rule) => rule.correction(),
                }
            }

            /// Refuses values that torch's constructors refuse, and values that are not finite in `f32`.
            ///
            /// # Errors
            ///
            /// The first value out of its range, by name.
            pub fn validate(&self) -> Result<(), RuleError> {
                match self {
                    $(Self::$rule(rule) => rule.validate(),)*
                    Self::Custom(rule) => rule.validate(),
                }
            }
        }

        #[derive(Clone, Copy, Debug, PartialEq)]
        enum ConstantsOf {
            $($rule(<$rule as Rule>::Constants),)*
            Custom(custom::CustomConstants),
        }

        impl StepConstants {
            /// Returns the constants of the step that follows `applied` applied steps: 0 for the first.
            ///
            /// Skipped steps are not counted, so a table of constants by `applied` can be uploaded before verdicts are known.
            pub fn at(rule: &UpdateRule, applied: u64) -> Self {
                match rule {
                    $(UpdateRule::$rule(rule) => Self(ConstantsOf::$rule(rule.constants(applied))),)*
                    UpdateRule::Custom(rule) => Self(ConstantsOf::Custom(rule.constants(applied))),
                }
            }

            /// Returns how many moments the step reads and writes.
            #[inline(always)]
            pub fn moments(&self) -> usize {
                match &self.0 {
                    $(ConstantsOf::$rule(constants) => constants.moments(),)*
                    ConstantsOf::Custom(constants) => constants.moments(),
                }
            }

            /// Returns true if the step needs norms of its whole tensor that are not [measured](crate::step::measure) yet.
            #[inline(always)]
            pub fn measures(&self) -> bool {
                match &self.0 {
                    $(ConstantsOf::$rule(constants) => constants.measures(),)*
                    ConstantsOf::Custom(_) => false,
                }
            }

            /// Returns true if the step needs the norm of all gradients together: see [`clipped`](Self::clipped).
            pub fn clips(&self) -> bool {
                match &self.0 {
                    $(ConstantsOf::$rule(constants) => constants.clips(),)*
                    ConstantsOf::Custom(_) => false,
                }
            }

            /// Returns the constants of a step whose global gradient norm is this one.
            #[must_use]
            pub fn clipped(self, norm: f32) -> Self {
                Self(match self.0 {
                    $(ConstantsOf::$rule(constants) => ConstantsOf::$rule(constants.clipped(norm)),)*
                    ConstantsOf::Custom(constants) => ConstantsOf::Custom(constants),
                })
            }

            /// Returns the constants of the step of a tensor that was measured, and moves its running norm where the rule keeps one.
            #[must_use]
            pub fn measured(self, sums: &Sums, running: &mut f32) -> Self {
                let norms = sums.norms();
                Self(match self.0 {
                    $(ConstantsOf::$rule(constants) => ConstantsOf::$rule(constants.measured(norms, running)),)*
                    ConstantsOf::Custom(constants) => ConstantsOf::Custom(constants),
                })
            }

            /// Measures elements in slices, whose lengths were checked, and updates their moments if the rule does so in this pass.
            pub(crate) fn measure(
                &self,
                grads: impl Iterator<Item = f32>,
                params: &[f32],
                moments: [&mut [f32]; 3],
            ) -> Sums {
                match &self.0 {
                    $(ConstantsOf::$rule(constants) => measure::measure(constants, grads, params, moments),)*
                    ConstantsOf::Custom(constants) => measure::measure(constants, grads, params, moments),
                }
            }

            /// Moves one element, and returns true if there was something to add.
            pub(crate) fn element(&self, grad: f32, element: &mut ElementState) -> bool {
                match &self.0 {
                    $(ConstantsOf::$rule(constants) => constants.element(grad, element),)*
                    ConstantsOf::Custom(constants) => constants.element(grad, element),
                }
            }

            /// Moves elements in slices, whose lengths were checked.
            #[inline(always)]
            pub(crate) fn update(
                &self,
                grads: impl Iterator<Item = f32>,
                params: &mut [f32],
                moments: [&mut [f32]; 3],
            ) {
                match &self.0 {
                    $(ConstantsOf::$rule(constants) => update(constants, grads, params, moments),)*
                    ConstantsOf::Custom(constants) => update(constants, grads, params, moments),
                }
            }
        }

        impl From<StepConstants> for [f32; 16] {
            /// Returns a row of a device's table; a rule with fewer constants has zeros after them.
            fn from(constants: StepConstants) -> Self {
                match constants.0 {
                    $(ConstantsOf::$rule(constants) => constants.row(),)*
                    ConstantsOf::Custom(constants) => constants.row(),
                }
            }
        }
    };
}

for_each_rule!([rules]);

impl UpdateRule {
    /// Returns the number of moments of each parameter.
    pub fn moments(&self) -> usize {
        StepConstants::at(self, 0).moments()
    }

    /// Returns true if a device can make the constants of every step from those of the first.
    ///
    /// A device puts the constants of the rule's [`Correction`] in front. For a rule without one it sets the first constant to 1 in
    /// the first step and to 0 later. Kernels of this crate's rules read no other constant that depends on the count.
    pub(crate) fn is_counted_by_rows(&self) -> bool {
        !matches!(self, Self::Custom(_)) || self.has_rows_of_the_first()
    }

    /// Returns true if every row equals the one that a device computes from the first. The check compares a sample of counts: each power of two up to
    /// 2^40, and one less.
    fn has_rows_of_the_first(&self) -> bool {
        let first: Row = StepConstants::at(self, 0).into();
        let mut sample = (0..=40).map(|power| 1_u64 << power).flat_map(|count| [count - 1, count]);
        sample.all(|applied| {
            let mut row = first;
            match self.correction() {
                Some(correction) => correction.put_in(&mut row, self.lr(), applied),
                None => row[0] = f32::from(applied == 0),
            }
            row == Row::from(StepConstants::at(self, applied))
        })
    }

    /// Returns true if a step needs norms of whole tensors: a slice of one has another norm.
    pub fn needs_whole_tensors(&self) -> bool {
        StepConstants::at(self, 0).measures()
    }

    /// Returns true if a step needs the norm of all parameters' gradients together.
    pub fn needs_all_gradients(&self) -> bool {
        StepConstants::at(self, 0).clips()
    }
}

/// Constants of one step, computed in `f64` and rounded once to `f32`.
///
/// This is the only place where a rule's scalars become `f32`: host loops take these constants, and device tables are filled with them, so every
/// backend starts from the same bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepConstants(ConstantsOf);

#[expect(clippy::cast_possible_truncation, reason = "rounding is the point")]
fn round(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
use rule_error::refused;
