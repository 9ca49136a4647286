//! The toy's stores, and what can be wrong about one.

use crate::toy::{Plain, Slot, Toy};
use binade_conformance::{Refusal, Subject as _, Turn, Unscaled};
use binade_core::{DType, Named, cast, stochastic, stochastic::Key};
use binade_master_weights::stores::{remainder, scaled};
use binade_master_weights::{MasterStore, UpdateRule};
use half::bf16;

/// One thing done otherwise.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Careless {
    /// Copies to nearest even beside remainders.
    SendsTiesToEven,
    /// Halves that are put together without looking whether the copy was rounded up.
    ForgetsTheCarry,
    ForgetsTheCompensation,
    /// Infinity less infinity.
    CompensatesInfinity,
    /// In one lane of a vector alone.
    RoundsHalvesAwayInOneLane,
    RoundsHalvesOfCompensationsAway,
    /// The same words in every step.
    ReusesRandomWords,
    /// The same words for every parameter.
    NumbersNobody,
    DrawsOnSkippedSteps,
    KeepsTheFirstExponent,
    /// The last of eight neighbours is not looked at.
    FindsTheLargestOfSeven,
    /// The upper half of a master just below a tie, too.
    SendsMoreThanTiesAway,
    /// Rounded by chance to nothing below the smallest normal number.
    DropsSmallNumbers,
    /// Parameters that Adam moves are rounded to nearest, and nothing is kept beside them.
    HasNoStoreForAdam,
}
use Careless::*;

/// A parameter and what is kept beside it.
struct Held {
    param: Plain,
    /// Remainders' bits, compensations, or scaled masters' bits.
    beside: Vec<f32>,
    exponent: i32,
    number: u32,
    slot: Slot,
}

/// [`Subject::train_by`](binade_conformance::Subject::train_by), with `fault`.
pub(crate) fn train_by(
    fault: Option<Careless>,
    store: MasterStore,
    params: Vec<Named<Plain>>,
    turns: Vec<Turn<Plain>>,
) -> Result<Vec<Named<Plain>>, Refusal> {
    let mut held: Vec<(Named<Plain>, Held)> = Vec::new();
    for (number, param) in (0..).zip(params) {
        held.push((param.clone(), Held::new(param.value, number, store)));
    }
    for turn in turns {
        let Unscaled { grads, found } = Toy.unscale(turn.grads, turn.scale)?;
        if found.is_raised() {
            let drawn = u64::from(fault == Some(DrawsOnSkippedSteps));
            for (_, held) in &mut held {
                held.slot.applied += drawn;
            }
            continue;
        }
        for ((_, held), grad) in held.iter_mut().zip(grads) {
            let Some(grad) = grad.value else { continue };
            let is_bare =
                fault == Some(HasNoStoreForAdam) && matches!(turn.rule, UpdateRule::Adam(_));
            let store = if is_bare { MasterStore::NoMaster } else { store };
            held.slot.master = held.open(fault, store);
            held.slot.step(&turn.rule, &grad.read())?;
            held.save(fault, store);
        }
    }
    Ok(held.into_iter().map(|(param, held)| Named { value: held.param, ..param }).collect())
}

impl Held {
    fn new(param: Plain, number: u32, store: MasterStore) -> Self {
        let (values, slot) = (param.read(), Slot::new(&param));
        let exponent = scaled::exponent(&values);
        let mut held = Self { beside: vec![0.0; values.len()], exponent, number, slot, param };
        if store == MasterStore::ScaledF16 {
            held.pack();
        }
        held
    }

    fn open(&self, fault: Option<Careless>, store: MasterStore) -> Vec<f32> {
        let low = self.param.read();
        if self.param.dtype == DType::F32 {
            return low;
        }
        let each = low.iter().zip(&self.beside);
        match store {
            MasterStore::Remainder => each
                .map(|(low, rest)| {
                    let upper = bf16::from_f32(*low).to_bits();
                    let lower = u16::try_from(rest.to_bits()).expect("sixteen bits");
                    let carried = fault == Some(ForgetsTheCarry) && lower >> 15 == 1;
                    remainder::join(upper.wrapping_add(u16::from(carried)), lower)
                })
                .collect(),
            MasterStore::Kahan => each.map(|(low, rest)| low + rest).collect(),
            MasterStore::ScaledF16 => self.beside.clone(),
            _ => low,
        }
    }

    fn save(&mut self, fault: Option<Careless>, store: MasterStore) {
        let dtype = self.param.dtype;
        let values = self.slot.master.clone();
        let mut low = values.clone();
        match store {
            _ if dtype == DType::F32 => {}
            MasterStore::Remainder => {
                for ((low, rest), x) in low.iter_mut().zip(&mut self.beside).zip(&values) {
                    let (copy, lower) = remainder::split(*x);
                    *rest = f32::from_bits(u32::from(lower));
                    let even = fault == Some(SendsTiesToEven);
                    *low = if even { *x } else { bf16::from_bits(copy).to_f32() };
                    if fault == Some(SendsMoreThanTiesAway) && lower == 0x7fff {
                        *low = bf16::from_bits(copy + 1).to_f32();
                    }
                }
            }
            MasterStore::Kahan => {
                let each = values.iter().zip(&mut self.beside).zip(&mut low);
                for (index, ((x, rest), low)) in each.enumerate() {
                    let is_away = fault == Some(RoundsHalvesAwayInOneLane) && index % 8 == 5;
                    *low = nearest(if is_away { beyond(*x) } else { *x }, dtype);
                    let finite = low.is_finite() || fault == Some(CompensatesInfinity);
                    *rest = if finite { nearest(*x - *low, dtype) } else { 0.0 };
                    if fault == Some(ForgetsTheCompensation) {
                        *rest = 0.0;
                    }
                    if fault == Some(RoundsHalvesOfCompensationsAway) {
                        *rest = nearest(beyond(*x - *low), dtype);
                    }
                }
            }
            MasterStore::Stochastic { seed } => {
                // The slot has counted this step.
                let applied = u32::try_from(self.slot.applied - 1).expect("a short run");
                let step = if fault == Some(ReusesRandomWords) { 0 } else { applied };
                let parameter = if fault == Some(NumbersNobody) { 0 } else { self.number };
                let key = Key { seed, parameter, step };
                for (index, low) in (0..).zip(&mut low) {
                    let word = stochastic::bits(key, index);
                    let rounded = stochastic::round(*low, dtype, word, cast::OnOverflow::NonFinite);
                    *low = rounded.expect("a type of sixteen bits");
                    if fault == Some(DropsSmallNumbers) && low.abs() < 2.0_f32.powi(-14) {
                        *low = 0.0;
                    }
                }
            }
            MasterStore::ScaledF16 => {
                let seen = |index: usize| fault != Some(FindsTheLargestOfSeven) || index % 8 != 7;
                let values = values.into_iter().enumerate().filter(|(index, _)| seen(*index));
                if fault != Some(KeepsTheFirstExponent) {
                    let values: Vec<f32> = values.map(|(_, x)| x).collect();
                    self.exponent = scaled::exponent(&values);
                }
                self.pack();
            }
            _ => {}
        }
        self.param = Plain::write(&low, dtype, &self.param.shape);
    }

    fn pack(&mut self) {
        let round = |x: &f32| scaled::unpack(scaled::pack(*x, self.exponent), self.exponent);
        self.beside = self.slot.master.iter().map(round).collect();
    }
}

fn nearest(x: f32, dtype: DType) -> f32 {
    cast::round(x, dtype, cast::OnOverflow::NonFinite).expect("a type of sixteen bits")
}

/// The next number away from zero, of one that is finite.
fn beyond(x: f32) -> f32 {
    if x.is_finite() { f32::from_bits(x.to_bits() + 1) } else { x }
}
