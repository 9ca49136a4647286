//! Update rules of a program's own.

use super::{Constants, Correction, ElementState, Row, RuleError, UpdateRule, need, padded};
use std::{any::TypeId, fmt};

/// Most hyper-parameters of a [`CustomRule`], the learning rate among them.
const MOST: usize = 8;

/// Custom update rule: a type without values, whose hyper-parameters are numbers.
///
/// A rule is the names of its hyper-parameters and moments, the constants of a step, and the arithmetic of one element. Every device in
/// host memory steps by it: with each [`MasterStore`](crate::MasterStore), with clipping and skips, with groups, joins and lost updates,
/// and with checkpoints, which save the rule by its name. A device whose steps are kernels refuses it by name, unless it was given one:
/// `binade_cuda::add_rule` takes PTX. A kernel reads the constants as a row, whose first is 1 in the first step and 0 later, or whose first
/// ones are those of the rule's [`correction`](Self::correction); a rule whose constants depend on the count otherwise is refused there.
/// The check is a sample: it compares the constants at each power of two up to 2^40, and at one less.
///
/// # For implementers
///
/// * `element` follows from its arguments alone: elements are stepped in any order, and on any number of threads.
/// * `constants` follow from the hyper-parameters and the count alone, so that a resumed run has the same bits.
/// * The name and the names of hyper-parameters stay: a saved rule is read by them.
///
/// # Examples
///
/// ```
/// use binade_core::{FoundInf, HostDevice, HostDeviceError, HostTensor, HostTypeError, Named, Optimizer};
/// use binade_master_weights::{CustomRule, ElementState, MasterOptimizer, OptimizerConfig};
///
/// /// Gradient descent with the mean of all gradients so far (Polyak and Juditsky, 1992, average iterates instead).
/// struct AllGradients;
///
/// impl CustomRule for AllGradients {
///     const NAME: &'static str = "all_gradients";
///     const HYPER_PARAMETERS: &'static [&'static str] = &["lr"];
///     const MOMENTS: &'static [&'static str] = &["sum"];
///
///     fn constants(hyper: &[f64], applied: u64) -> [f32; 9] {
///         let rate = -hyper[0] / (applied + 1) as f64;
///         [rate as f32, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
///     }
///
///     fn element(constants: &[f32; 9], grad: f32, ElementState { param, moments }: &mut ElementState) -> bool {
///         moments[0] += grad;
///         let change = constants[0] * moments[0];
///         *param += change;
///         change != 0.0
///     }
/// }
///
/// let params = vec![Named::new("weight", HostTensor::from(vec![1.0_f32]))];
/// let config = OptimizerConfig::new(AllGradients::rule([0.5])).expect("a rate above 0");
/// let mut optimizer = MasterOptimizer::new(HostDevice::new(), params, config)?;
/// for (grad, after) in [(1.0_f32, 0.5), (3.0, -0.5)] {
///     let grads = vec![Named::new("weight", Some(HostTensor::from(vec![grad])))];
///     optimizer.step(grads, &FoundInf::default())?;
///     assert_eq!(optimizer.params[0].value.to_f32(), [after]);
/// }
/// # Ok::<(), HostDeviceError<HostTypeError>>(())
/// ```
pub trait CustomRule: Sized + 'static {
    /// Name in messages and files. It must differ from the names of this crate's rules.
    const NAME: &'static str;
    /// Names of the hyper-parameters, 1 to 8. The first is the learning rate.
    const HYPER_PARAMETERS: &'static [&'static str];
    /// Names of the moments, 3 at most: torch's keys where torch has the rule.
    const MOMENTS: &'static [&'static str];

    /// Checks the hyper-parameters, one for each name. The default checks that each is finite, and 0 or above.
    ///
    /// # Errors
    ///
    /// The first value out of its range, by name.
    fn validate(hyper: &[f64]) -> Result<(), RuleError> {
        let mut named = Self::HYPER_PARAMETERS.iter().zip(hyper);
        named.try_for_each(|(name, value)| super::not_negative(name, *value))
    }

    /// Returns the value of each moment's elements before the first step, in the order of the moments; by default 0.
    fn initial(_hyper: &[f64]) -> [f32; 3] {
        [0.0; 3]
    }

    /// Returns the correction through which the constants depend on the count of steps, by default `None`. Only kernels use it.
    fn correction(_hyper: &[f64]) -> Option<Correction> {
        None
    }

    /// Returns the constants of the step that follows `applied` applied steps: 0 for the first. Skipped steps are not counted.
    fn constants(hyper: &[f64], applied: u64) -> [f32; 9];

    /// Updates one element by its gradient, which is unscaled and clipped. Returns true if the update was not zero; [lost
    /// updates](crate::LostUpdates) are counted among such elements.
    ///
    /// Elements are independent: the result must follow from the arguments alone.
    fn element(constants: &[f32; 9], grad: f32, element: &mut ElementState) -> bool;

    /// Returns the rule with these hyper-parameters, in the order of their names. Another number of them does not compile, and neither
    /// does a rule with too many names or with the name of a rule of this crate.
    fn rule<const N: usize>(hyper: [f64; N]) -> UpdateRule {
        const {
            assert!(N == Self::HYPER_PARAMETERS.len(), "a number for each hyper-parameter");
            assert!(0 < N && N <= MOST, "1 to 8 hyper-parameters, of which the first is the rate");
            assert!(Self::MOMENTS.len() <= 3, "3 moments at most");
            assert!(!is_taken(Self::NAME), "a name that no rule of this crate has");
        }
        let kind = <Self as Erased>::KIND;
        registry::add(kind);
        let mut all = [0.0; MOST];
        all[..N].copy_from_slice(&hyper);
        UpdateRule::Custom(Custom { kind, hyper: all })
    }
}

/// Returns true if a rule of the table has the name, or has a kernel of that name.
const fn is_taken(name: &str) -> bool {
    let (mut index, name) = (0, name.as_bytes());
    while index < UpdateRule::NAMES.len() {
        let [rule, kernel] = [UpdateRule::NAMES[index], UpdateRule::KERNELS[index]];
        if is_same(rule.as_bytes(), name) || is_same(kernel.as_bytes(), name) {
            return true;
        }
        index += 1;
    }
    is_same(name, b"") || is_same(name, b"custom")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

/// Functions of a [`CustomRule`] and its names.
struct Kind {
    id: fn() -> TypeId,
    name: &'static str,
    hyper_parameters: &'static [&'static str],
    moments: &'static [&'static str],
    validate: fn(&[f64]) -> Result<(), RuleError>,
    initial: fn(&[f64]) -> [f32; 3],
    correction: fn(&[f64]) -> Option<Correction>,
    constants: fn(&[f64], u64) -> [f32; 9],
    element: fn(&[f32; 9], f32, &mut ElementState) -> bool,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        (self.id)() == (other.id)()
    }
}

/// A [`CustomRule`] as data.
trait Erased {
    const KIND: &'static Kind;
}

impl<R: CustomRule> Erased for R {
    const KIND: &'static Kind = &Kind {
        id: TypeId::of::<R>,
        name: R::NAME,
        hyper_parameters: R::HYPER_PARAMETERS,
        moments: R::MOMENTS,
        validate: R::validate,
        initial: R::initial,
        correction: R::correction,
        constants: R::constants,
        element: R::element,
    };
}

/// A [`CustomRule`] with its hyper-parameters. [`CustomRule::rule`] makes one.
#[derive(Clone, Copy, PartialEq)]
pub struct Custom {
    kind: &'static Kind,
    /// Hyper-parameters in the order of their names, followed by zeros.
    hyper: [f64; MOST],
}

impl Custom {
    /// Returns the hyper-parameters, in the order of their names.
    fn hyper(&self) -> &[f64] {
        &self.hyper[..self.kind.hyper_parameters.len()]
    }

    pub(super) const fn name(&self) -> &'static str {
        self.kind.name
    }

    pub(super) const fn lr(&self) -> f64 {
        self.hyper[0]
    }

    pub(super) const fn lr_mut(&mut self) -> &mut f64 {
        &mut self.hyper[0]
    }

    pub(super) const fn moment_names(&self) -> &'static [&'static str] {
        self.kind.moments
    }

    pub(super) fn validate(&self) -> Result<(), RuleError> {
        (self.kind.validate)(self.hyper())?;
        // Files and comparisons go by these values, and a NaN equals nothing.
        let mut named = self.kind.hyper_parameters.iter().zip(self.hyper());
        named.try_for_each(|(name, value)| need(value.is_finite(), name, *value, "a finite number"))
    }

    pub(super) fn initial(&self) -> [f32; 3] {
        (self.kind.initial)(self.hyper())
    }

    pub(super) fn correction(&self) -> Option<Correction> {
        (self.kind.correction)(self.hyper())
    }

    pub(super) fn constants(&self, applied: u64) -> CustomConstants {
        CustomConstants { kind: self.kind, row: (self.kind.constants)(self.hyper(), applied) }
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct(self.kind.name);
        for (name, value) in self.kind.hyper_parameters.iter().zip(self.hyper()) {
            fields.field(name, value);
        }
        fields.finish_non_exhaustive()
    }
}

/// Constants of one step of a [`CustomRule`].
#[derive(Clone, Copy, PartialEq)]
pub(super) struct CustomConstants {
    kind: &'static Kind,
    row: [f32; 9],
}

impl fmt::Debug for CustomConstants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.kind.name).field(&self.row).finish()
    }
}

impl Constants for CustomConstants {
    #[inline(always)]
    fn moments(&self) -> usize {
        self.kind.moments.len()
    }

    #[inline(always)]
    fn element(&self, grad: f32, element: &mut ElementState) -> bool {
        (self.kind.element)(&self.row, grad, element)
    }

    fn row(self) -> Row {
        padded(&self.row)
    }
}

/// Rules that the program has created, to look up a file's names.
mod registry {
    use super::Kind;
    use std::sync::{Mutex, PoisonError};

    static MADE: Mutex<Vec<&'static Kind>> = Mutex::new(Vec::new());

    pub(super) fn add(kind: &'static Kind) {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.contains(&kind) {
            made.push(kind);
        }
    }

    /// Returns the rules of this name.
    #[cfg(feature = "serde")]
    pub(super) fn named(name: &str) -> Vec<&'static Kind> {
        let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.iter().copied().filter(|kind| kind.name == name).collect()
    }
}

#[cfg(feature = "serde")]
mod file {
    use super::{Custom, MOST, registry};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    /// A rule's name and hyper-parameters.
    #[derive(Deserialize, Serialize)]
    struct Written {
        name: String,
        hyper: Vec<f64>,
    }

    impl Serialize for Custom {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let (name, hyper) = (self.name().to_owned(), self.hyper().to_vec());
            Written { name, hyper }.serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for Custom {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let Written { name, hyper } = Written::deserialize(deserializer)?;
            let kind = match registry::named(&name)[..] {
                [kind] => kind,
                [] => {
                    let why = "and no rule of this name has been made: call `CustomRule::rule` of it before reading";
                    return Err(D::Error::custom(format!("the update rule is `{name}`, {why}")));
                }
                _ => {
                    let why = "and several rules of the program have this name: give each its own";
                    return Err(D::Error::custom(format!("the update rule is `{name}`, {why}")));
                }
            };
            let mut all = [0.0; MOST];
            match all.get_mut(..hyper.len()) {
                Some(to) if hyper.len() == kind.hyper_parameters.len() => {
                    to.copy_from_slice(&hyper);
                }
                _ => {
                    let (found, names) = (hyper.len(), kind.hyper_parameters.join(", "));
                    let why = format!(
                        "{found} hyper-parameters were saved of `{name}`, which has {names}"
                    );
                    return Err(D::Error::custom(why));
                }
            }
            Ok(Self { kind, hyper: all })
        }
    }
}
