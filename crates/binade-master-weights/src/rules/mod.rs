//! Update rules: a row each in the table, and a file each for the data, the constants of a step and the arithmetic of an element.

mod correction;
mod custom;

use binade_core::{Error, ErrorKind};

pub use correction::{Corrected, Correction};
pub use custom::{Custom, CustomRule};

/// Calls a macro with the table of update rules.
///
/// The macro is named in brackets. Its input is the text behind them, in braces, and then one row for each rule: its variant of
/// [`UpdateRule`], which is also the type of its hyper-parameters, and its name, which is also the name of its file, of its kernel
/// and of its cases in the kit.
///
/// # Examples
///
/// ```
/// macro_rules! names {
///     ({} $($rule:ident $name:ident)*) => { [$(stringify!($name)),*] };
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
        }
    };
}

/// Update rule: its hyper-parameters, and what a configuration and a device have to know of it.
trait Rule {
    /// Constants of one step.
    type Constants: Constants;
    /// torch's keys of the moments, in their order.
    const MOMENTS: &'static [&'static str];

    fn validate(&self) -> Result<(), RuleError>;

    /// Returns the moments before the first step, in their order.
    fn initial(&self) -> [f32; 3] {
        [0.0; 3]
    }

    /// Returns the correction by which the constants depend on the count of steps, if they do.
    fn correction(&self) -> Option<Correction> {
        None
    }

    /// Returns the constants of the step that follows `applied` applied steps.
    fn constants(&self, applied: u64) -> Self::Constants;
}

/// Constants of one step of a rule, with the arithmetic.
trait Constants: Copy {
    /// Returns how many moments the step reads and writes.
    fn moments(&self) -> usize;

    /// Moves an element by its gradient, unscaled and clipped. Returns true if there was something to add: the last product of the
    /// rule, which is added to the parameter, or a decay of its own.
    fn element(&self, grad: f32, element: &mut ElementState) -> bool;

    /// Returns the row of a device's table.
    fn row(self) -> [f32; 9];
}

/// State of one element of a parameter, which a step changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementState {
    /// Value of the parameter, or of its master.
    pub param: f32,
    /// Moments, in the rule's order; zero where the rule has fewer.
    pub moments: [f32; 3],
}

/// Declares the constants of a rule's step in the order of the row that kernels read, where flags are 0 and 1.
///
/// A device fills in what depends on the count of steps: in the first step the first constant is 1 and later 0, or the first two are
/// those of the rule's [`Correction`].
macro_rules! step_constants {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) struct $name {
            $($(#[$field_doc])* $field: $type,)*
        }

        impl $name {
            fn in_order(self) -> [f32; 9] {
                let mut row = [0.0; 9];
                let fields = [$(f32::from(self.$field)),*];
                row[..fields.len()].copy_from_slice(&fields);
                row
            }
        }
    };
}

macro_rules! rules {
    ({} $($rule:ident $name:ident)*) => {
        $(
            mod $name;
            pub use $name::$rule;
        )*

        /// Rule by which a gradient changes a parameter. Pure data: the state is kept elsewhere.
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

            /// Returns the rule's name.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$rule(_) => stringify!($name),)*
                    Self::Custom(rule) => rule.name(),
                }
            }

            /// Returns the name of the rule's kernel, or `None` for a rule that is not of the table: no device has one.
            pub const fn kernel(&self) -> Option<&'static str> {
                match self {
                    $(Self::$rule(_) => Some(stringify!($name)),)*
                    Self::Custom(_) => None,
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

            /// Returns torch's keys of the `f32` values of state that are kept for each parameter.
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
                    Self::Custom(_) => None,
                }
            }

            /// Refuses what torch's constructors refuse, and whatever is not a finite number.
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
            /// Skipped steps are not counted, so that a table of these over `applied` can be uploaded ahead of verdicts.
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

        impl From<StepConstants> for [f32; 9] {
            /// Returns a row of a device's table; behind the constants of a rule with fewer are zeros.
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
    /// Returns how many `f32` values of state are kept for each parameter.
    pub fn moments(&self) -> usize {
        StepConstants::at(self, 0).moments()
    }
}

/// Constants of one step, computed in `f64` and rounded once to `f32`.
///
/// Here alone a rule's scalars meet `f32` tensors: a host loop takes these constants, and a device's table is filled with them, so
/// that every backend starts from the same bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepConstants(ConstantsOf);

#[inline(always)]
fn update<C: Constants>(
    constants: &C,
    grads: impl Iterator<Item = f32>,
    params: &mut [f32],
    [first, second, third]: [&mut [f32]; 3],
) {
    // Loops of their own, so that a rule without a moment has no iterator for it.
    let each = params.iter_mut().zip(grads);
    match constants.moments() {
        0 => {
            for (param, grad) in each {
                put(constants, grad, param, []);
            }
        }
        1 => {
            for ((param, grad), first) in each.zip(first) {
                put(constants, grad, param, [first]);
            }
        }
        2 => {
            for ((param, grad), (first, second)) in each.zip(first.iter_mut().zip(second)) {
                put(constants, grad, param, [first, second]);
            }
        }
        _ => {
            let moments = first.iter_mut().zip(second).zip(third);
            for ((param, grad), ((first, second), third)) in each.zip(moments) {
                put(constants, grad, param, [first, second, third]);
            }
        }
    }
}

#[inline(always)]
fn put<C: Constants, const N: usize>(
    constants: &C,
    grad: f32,
    param: &mut f32,
    moments: [&mut f32; N],
) {
    let mut element = ElementState { param: *param, moments: [0.0; 3] };
    for (to, from) in element.moments.iter_mut().zip(&moments) {
        *to = **from;
    }
    constants.element(grad, &mut element);
    *param = element.param;
    for (to, from) in moments.into_iter().zip(element.moments) {
        *to = from;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is the point")]
fn round(value: f64) -> f32 {
    value as f32
}

fn not_negative(name: &'static str, value: f64) -> Result<(), RuleError> {
    need(value.is_finite() && value >= 0.0, name, value, "a finite number, 0 or above")
}

fn betas_below_1(betas: [f64; 2]) -> Result<(), RuleError> {
    let mut named = ["betas[0]", "betas[1]"].into_iter().zip(betas);
    named.try_for_each(|(name, beta)| {
        need((0.0..1.0).contains(&beta), name, beta, "at least 0 and below 1")
    })
}

fn need(met: bool, name: &'static str, value: f64, range: &'static str) -> Result<(), RuleError> {
    if met { Ok(()) } else { Err(RuleError { name, value, range }) }
}

/// Hyper-parameter that no step can be taken with.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{name}` is {value}, and has to be {range}")]
pub struct RuleError {
    /// Name of the hyper-parameter.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Range that it has to be in.
    pub range: &'static str,
}

impl Error for RuleError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}

/// Asserts that the rules are refused, each by the name of the value.
#[cfg(test)]
fn refused<const N: usize>(table: [(UpdateRule, &str); N]) {
    for (rule, name) in table {
        let error = rule.validate().unwrap_err();
        assert_eq!(error.name, name, "{rule:?}");
        assert!(error.to_string().starts_with(&format!("`{name}` is ")), "{error}");
    }
}
