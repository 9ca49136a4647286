//! Optimizer state of one parameter.

use crate::step::{Factor, Params, Slices, lower, of_compensation, of_remainder};
use crate::stores::{kahan, remainder, scaled, stochastic::Key};
use crate::{LostUpdates, MasterStore, StepConstants, Sums, UpdateRule};
use binade_core::{DType, Element};
use half::{bf16, f16};

/// Optimizer state of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct HostParamState {
    /// Master, or the tensor that its store keeps in place of one.
    pub master: Master,
    /// Moments in `f32`, in the rule's order; those that the rule does not have, or that are stored in bf16, are empty.
    pub moments: [Vec<f32>; 3],
    /// Moments in bf16, at their places in the rule's order; the others are empty.
    pub bf16_moments: [Vec<bf16>; 3],
    /// Running norm of the tensor's gradients, where the rule keeps one; 0 otherwise.
    pub norm: f32,
    /// Elements.
    pub len: usize,
    /// The type that it was stored in when it was started.
    pub stored: DType,
    /// Steps applied to it. Counted by parameter, as torch does: one without a gradient does not move.
    pub applied: u64,
    /// Updates that its last step lost, where the configuration [asks for that](crate::OptimizerConfig::with_lost_updates).
    pub lost: Option<LostUpdates>,
}

/// Master of a parameter, as its store keeps it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Master {
    /// No master: the parameter is its own master, or the store keeps none.
    #[default]
    Nothing,
    /// [`MasterStore::Copy`].
    Copy(Vec<f32>),
    /// [`MasterStore::Remainder`].
    Remainder(Vec<u16>),
    /// [`MasterStore::Stochastic`]: the numbers that choose this parameter's random words.
    Stochastic {
        /// The configuration's seed.
        seed: u64,
        /// The parameter's place in its set.
        number: u32,
        /// Offset of its first element in the tensor that it is a slice of; 0 for a whole tensor.
        first: u64,
    },
    /// [`MasterStore::Kahan`]: bits of the parameter's type.
    Compensation(Vec<u16>),
    /// [`MasterStore::ScaledF16`].
    Scaled {
        /// Bits of `f16`.
        values: Vec<u16>,
        /// The power of two that they were multiplied by.
        exponent: i32,
    },
}

impl Master {
    /// Returns the `f32` copy, if the store keeps one.
    pub fn copy(&self) -> Option<&Vec<f32>> {
        if let Self::Copy(values) = self { Some(values) } else { None }
    }

    /// Creates the master of the parameter `number` from these values; the parameter is to be stored as `stored`.
    pub fn of(store: MasterStore, number: u32, values: Vec<f32>, stored: DType) -> Self {
        match store {
            _ if stored == DType::F32 => Self::Nothing,
            MasterStore::NoMaster => Self::Nothing,
            MasterStore::Copy => Self::Copy(values),
            MasterStore::Remainder => {
                Self::Remainder(values.iter().map(|x| remainder::split(*x).1).collect())
            }
            MasterStore::Stochastic { seed } => Self::Stochastic { seed, number, first: 0 },
            MasterStore::Kahan if stored == DType::F16 => {
                Self::Compensation(compensations::<f16>(&values))
            }
            MasterStore::Kahan => Self::Compensation(compensations::<bf16>(&values)),
            MasterStore::ScaledF16 => Self::packed(&values),
        }
    }

    fn packed(values: &[f32]) -> Self {
        let exponent = scaled::exponent(values);
        let values = values.iter().map(|x| scaled::pack(*x, exponent)).collect();
        Self::Scaled { values, exponent }
    }

    /// Bytes, but for an exponent.
    fn bytes(&self) -> usize {
        match self {
            Self::Nothing | Self::Stochastic { .. } => 0,
            Self::Copy(values) => 4 * values.len(),
            Self::Remainder(values) | Self::Compensation(values) | Self::Scaled { values, .. } => {
                2 * values.len()
            }
        }
    }
}

fn compensations<C: Element>(values: &[f32]) -> Vec<u16> {
    values.iter().map(|x| lower(kahan::split::<C>(*x).1.to_code())).collect()
}

impl HostParamState {
    pub(crate) fn new(
        (store, low): (MasterStore, [bool; 3]),
        number: u32,
        rule: &UpdateRule,
        values: Vec<f32>,
        stored: DType,
    ) -> Self {
        let len = values.len();
        let (moments, initial) = (rule.moments(), rule.initial());
        let len_of = |is_kept| if is_kept { len } else { 0 };
        let moment = |i: usize| vec![initial[i]; len_of(i < moments && !low[i])];
        let low_moment = |i: usize| vec![bf16::from_f32(initial[i]); len_of(low[i])];
        Self {
            master: Master::of(store, number, values, stored),
            moments: [0, 1, 2].map(moment),
            bf16_moments: [0, 1, 2].map(low_moment),
            norm: 0.0,
            len,
            stored,
            applied: 0,
            lost: None,
        }
    }

    /// Returns the bytes that the store keeps in addition to the parameter, without an exponent, and the bytes of moments.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let wide = self.moments.iter().map(|moment| 4 * moment.len() as u64);
        let low = self.bf16_moments.iter().map(|moment| 2 * moment.len() as u64);
        (self.master.bytes() as u64, wide.chain(low).sum())
    }

    /// The `f32` values that the next step starts from, `low` being the parameter.
    pub fn values<C: Element>(&self, low: &[C]) -> Vec<f32> {
        let join = |bits: &[u16], of: fn(C, u16) -> f32| -> Vec<f32> {
            low.iter().zip(bits).map(|(low, bits)| of(*low, *bits)).collect()
        };
        match &self.master {
            Master::Copy(values) => values.clone(),
            Master::Nothing | Master::Stochastic { .. } => {
                low.iter().map(|low| low.to_f32()).collect()
            }
            Master::Remainder(bits) => join(bits, of_remainder),
            Master::Compensation(bits) => join(bits, of_compensation),
            Master::Scaled { values, exponent } => {
                values.iter().map(|bits| scaled::unpack(*bits, *exponent)).collect()
            }
        }
    }

    /// Returns the [`values`](Self::values) of a parameter that was read in `f32`.
    pub fn values_of(&self, widened: &[f32]) -> Vec<f32> {
        fn narrowed<C: Element>(slot: &HostParamState, widened: &[f32]) -> Vec<f32> {
            let low: Vec<C> = widened.iter().map(|x| C::from_f32(*x)).collect();
            slot.values(&low)
        }
        match self.stored {
            DType::BF16 => narrowed::<bf16>(self, widened),
            DType::F16 => narrowed::<f16>(self, widened),
            _ => self.values(widened),
        }
    }

    /// Applies one step that is not skipped: lends `run` its slices, and counts the step. `run` is [`step::pass`](crate::step::pass) on them, whole
    /// or in pieces on several threads; a rule that measures tensors runs it twice.
    ///
    /// Moments in bf16 are lent in `f32`, and rounded to nearest even after the last run.
    ///
    /// # Errors
    ///
    /// The errors of `run`; the step is not counted then.
    pub fn step<G: Element, C: Element, E>(
        &mut self,
        rule: (&StepConstants, Factor),
        grads: &[G],
        low: &mut [C],
        run: impl FnMut(&StepConstants, Slices<'_, G, C>) -> Result<Sums, E>,
    ) -> Result<(), E> {
        self.widen_moments();
        let stepped = self.step_widened(rule, grads, low, run);
        self.narrow_moments();
        stepped
    }

    fn widen_moments(&mut self) {
        for (wide, low) in self.moments.iter_mut().zip(&self.bf16_moments) {
            if !low.is_empty() {
                wide.resize(low.len(), 0.0);
                bf16::widen(low, wide);
            }
        }
    }

    fn narrow_moments(&mut self) {
        for (wide, low) in self.moments.iter_mut().zip(&mut self.bf16_moments) {
            if !low.is_empty() {
                bf16::narrow(wide, low);
                *wide = Vec::new();
            }
        }
    }

    fn step_widened<G: Element, C: Element, E>(
        &mut self,
        (constants, factor): (&StepConstants, Factor),
        grads: &[G],
        low: &mut [C],
        mut run: impl FnMut(&StepConstants, Slices<'_, G, C>) -> Result<Sums, E>,
    ) -> Result<(), E> {
        let mut constants = *constants;
        if constants.measures() {
            let (sums, _) = self.lend(grads, low, |slices| run(&constants, slices))?;
            constants = constants.measured(&sums, &mut self.norm);
        }
        let before = self.lost.map(|_| (self.values(low), self.moments.clone()));
        let (_, wide) = self.lend(grads, low, |slices| run(&constants, slices))?;
        if let Master::Scaled { .. } = self.master {
            self.master = Master::packed(&wide);
        }
        self.applied += 1;
        if let Some((before, moments)) = before {
            let after = self.values(low);
            let ways = [&before[..], &after[..]];
            self.lost = Some(LostUpdates::of_step((&constants, factor), grads, &moments, ways));
        }
        Ok(())
    }

    /// Lends `run` the slices of a pass, and returns its sums. For a scaled master it also returns the new values, which are not packed
    /// yet.
    fn lend<G: Element, C: Element, E>(
        &mut self,
        grads: &[G],
        low: &mut [C],
        run: impl FnOnce(Slices<'_, G, C>) -> Result<Sums, E>,
    ) -> Result<(Sums, Vec<f32>), E> {
        // Its exponent hangs on every value that the step makes.
        let mut wide = match &self.master {
            Master::Scaled { .. } => self.values(low),
            _ => Vec::new(),
        };
        let moments = self.moments.each_mut().map(Vec::as_mut_slice);
        let params = match &mut self.master {
            Master::Nothing if C::DTYPE == DType::F32 => {
                Params::Own(C::as_f32_mut(low).unwrap_or_default())
            }
            Master::Nothing => Params::Bare(low),
            Master::Copy(master) => Params::Copy { master, low },
            Master::Remainder(remainder) => Params::Remainder { low, remainder },
            Master::Compensation(compensation) => Params::Kahan { low, compensation },
            Master::Scaled { .. } => Params::Copy { master: &mut wide, low },
            Master::Stochastic { seed, number, first } => {
                let key = Key { seed: *seed, parameter: *number, step: low_word(self.applied) };
                Params::Stochastic { low, key, first: *first }
            }
        };
        let sums = run(Slices { grads, params, moments })?;
        Ok((sums, wide))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "steps are told apart modulo 2^32")]
const fn low_word(count: u64) -> u32 {
    count as u32
}
