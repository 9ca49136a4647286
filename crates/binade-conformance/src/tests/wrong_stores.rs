//! Subjects that keep masters wrongly, in one way each.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements, Params, Plain, Slot, Steps, Toy};
use crate::{Backend as _, Result, UnscaleResult};
use binade_core::{DType, Named, cast, stochastic, stochastic::Key};
use binade_master_weights::stores::{remainder, scaled};
use binade_master_weights::{MasterStore, UpdateRule};
use half::bf16;

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(&'static str);

/// A parameter and what is kept beside it.
struct Held {
    param: Plain,
    /// Remainders' bits, compensations, or scaled masters' bits.
    beside: Vec<f32>,
    exponent: i32,
    number: u32,
    slot: Slot,
}

impl Fault for Wrong {
    fn train_by(&self, store: MasterStore, params: Params, steps: Steps) -> Result<Params> {
        let fault = self.0;
        let mut held: Vec<(Named<Plain>, Held)> = Vec::new();
        for (number, param) in (0..).zip(params) {
            held.push((param.clone(), Held::new(param.value, number, store)));
        }
        for turn in steps {
            let UnscaleResult { grads, found } = Toy.unscale(turn.grads, turn.scale)?;
            if found.is_raised() {
                let drawn = u64::from(fault == "draws_on_skipped_steps");
                for (_, held) in &mut held {
                    held.slot.applied += drawn;
                }
                continue;
            }
            for ((_, held), grad) in held.iter_mut().zip(grads) {
                let Some(grad) = grad.value else { continue };
                let is_bare =
                    fault == "has_no_store_for_adam" && matches!(turn.rule, UpdateRule::Adam(_));
                let store = if is_bare { MasterStore::NoMaster } else { store };
                held.slot.master = held.open(fault, store);
                held.slot.step(&turn.rule, &grad.read())?;
                held.save(fault, store);
            }
        }
        Ok(held.into_iter().map(|(param, held)| Named { value: held.param, ..param }).collect())
    }
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

    fn open(&self, fault: &str, store: MasterStore) -> Vec<f32> {
        let low = self.param.read();
        if self.param.dtype() == DType::F32 {
            return low;
        }
        let each = low.iter().zip(&self.beside);
        match store {
            MasterStore::Remainder => each
                .map(|(low, rest)| {
                    let upper = bf16::from_f32(*low).to_bits();
                    let lower = u16::try_from(rest.to_bits()).expect("sixteen bits");
                    let carried = fault == "forgets_the_carry" && lower >> 15 == 1;
                    remainder::join(upper.wrapping_add(u16::from(carried)), lower)
                })
                .collect(),
            MasterStore::Kahan => each.map(|(low, rest)| low + rest).collect(),
            MasterStore::ScaledF16 => self.beside.clone(),
            _ => low,
        }
    }

    fn save(&mut self, fault: &str, store: MasterStore) {
        let dtype = self.param.dtype();
        let values = self.slot.master.clone();
        let mut low = values.clone();
        match store {
            _ if dtype == DType::F32 => {}
            MasterStore::Remainder => {
                for ((low, rest), x) in low.iter_mut().zip(&mut self.beside).zip(&values) {
                    let (copy, lower) = remainder::split(*x);
                    *rest = f32::from_bits(u32::from(lower));
                    let even = fault == "sends_ties_to_even";
                    *low = if even { *x } else { bf16::from_bits(copy).to_f32() };
                    if fault == "sends_more_than_ties_away" && lower == 0x7fff {
                        *low = bf16::from_bits(copy + 1).to_f32();
                    }
                }
            }
            MasterStore::Kahan => {
                let each = values.iter().zip(&mut self.beside).zip(&mut low);
                for (index, ((x, rest), low)) in each.enumerate() {
                    let is_away = fault == "rounds_halves_away_in_one_lane" && index % 8 == 5;
                    *low = nearest(if is_away { beyond(*x) } else { *x }, dtype);
                    let finite = low.is_finite() || fault == "compensates_infinity";
                    *rest = if finite { nearest(*x - *low, dtype) } else { 0.0 };
                    if fault == "forgets_the_compensation" {
                        *rest = 0.0;
                    }
                    if fault == "rounds_halves_of_compensations_away" {
                        *rest = nearest(beyond(*x - *low), dtype);
                    }
                }
            }
            MasterStore::Stochastic { seed } => {
                // The slot has counted this step.
                let applied = u32::try_from(self.slot.applied - 1).expect("a short run");
                let step = if fault == "reuses_random_words" { 0 } else { applied };
                let parameter = if fault == "numbers_nobody" { 0 } else { self.number };
                let key = Key { seed, parameter, step };
                for (index, low) in (0..).zip(&mut low) {
                    let word = stochastic::bits(key, index);
                    let rounded = stochastic::round(*low, dtype, word, cast::OnOverflow::NonFinite);
                    *low = rounded.expect("a type of sixteen bits");
                    if fault == "drops_small_numbers" && low.abs() < 2.0_f32.powi(-14) {
                        *low = 0.0;
                    }
                }
            }
            MasterStore::ScaledF16 => {
                let seen = |index: usize| fault != "finds_the_largest_of_seven" || index % 8 != 7;
                let values = values.into_iter().enumerate().filter(|(index, _)| seen(*index));
                if fault != "keeps_the_first_exponent" {
                    let values: Vec<f32> = values.map(|(_, x)| x).collect();
                    self.exponent = scaled::exponent(&values);
                }
                self.pack();
            }
            _ => {}
        }
        self.param = Plain::write(&low, dtype, self.param.shape());
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

caught! {
    /// Copies to nearest even beside remainders.
    fn sends_ties_to_even() by "remainder/bf16/a_tie_goes_away_from_zero";
    /// Halves that are put together without looking whether the copy was rounded up.
    fn forgets_the_carry() by
        "remainder/bf16/a_tie_comes_back_from_its_remainder" "remainder/bf16/a_master_beyond_the_largest_comes_back";
    fn forgets_the_compensation() by
        "kahan/bf16/ties_go_to_even_and_what_is_cut_off_is_kept" "kahan/f16/sixty_four_updates_of_2_to_the_minus_12";
    /// Infinity less infinity.
    fn compensates_infinity() by "kahan/f16/what_overflows_stays_infinite";
    /// In one lane of a vector alone.
    fn rounds_halves_away_in_one_lane() by "kahan/bf16/a_parameter_halfway_between_two_becomes_the_even_one";
    fn rounds_halves_of_compensations_away() by "kahan/f16/a_compensation_halfway_between_two_becomes_the_even_one";
    /// Equal words in every step.
    fn reuses_random_words() by "stochastic/bf16/ten_steps_of_257_elements";
    /// Equal words for every parameter.
    fn numbers_nobody() by "stochastic/f16/parameters_of_a_set_have_words_of_their_own";
    fn draws_on_skipped_steps() by "stochastic/bf16/a_skipped_step_never_was";
    fn keeps_the_first_exponent() by "scaled_f16/bf16/one_outlier_takes_bits_and_they_do_not_come_back";
    /// The last of eight neighbours is not looked at.
    fn finds_the_largest_of_seven() by "scaled_f16/f16/the_largest_is_found_in_each_place_and_in_no_other_tensor";
    /// Parameters that Adam moves are rounded to nearest, and nothing is kept beside them.
    fn has_no_store_for_adam() by
        "stochastic/f16/ten_steps_of_257_elements" "stochastic/f16/a_rule_that_divides_saves_as_one_that_does_not"
        "remainder/bf16/ten_steps_of_257_elements" "remainder/bf16/a_rule_that_divides_saves_as_one_that_does_not"
        "kahan/f16/ten_steps_of_257_elements" "kahan/f16/a_rule_that_divides_saves_as_one_that_does_not"
        "scaled_f16/bf16/ten_steps_of_257_elements" "scaled_f16/bf16/a_rule_that_divides_saves_as_one_that_does_not";
    /// The upper half of a master just below a tie, too.
    fn sends_more_than_ties_away() by "remainder/bf16/a_master_beside_a_tie_goes_to_the_nearer_parameter";
    /// Rounded by chance to nothing below the smallest normal number.
    fn drops_small_numbers() by
        "stochastic/f16/numbers_of_every_size_meet_in_every_lane"
        "stochastic/f16/less_than_a_hundredth_of_the_smallest_number_comes_up_at_times";
}
