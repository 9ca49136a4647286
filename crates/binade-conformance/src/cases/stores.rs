//! Runs that test a store, by each rule whose step is one subtraction, which every arithmetic rounds once.

use super::cast::{rounded, value};
use super::prelude::*;
use super::training::{Move, Run};
use super::unscale::Set;
use binade_master_weights::{Adam, Lion, MasterStore, UpdateRule};

/// Adam with betas of zero and an epsilon so large that the root of a square vanishes: it subtracts the gradient itself.
pub(super) const SUBTRACTING: Adam = Adam {
    lr: EPSILON,
    betas: [0.0; 2],
    eps: EPSILON,
    weight_decay: 0.0,
    decoupled: false,
    amsgrad: false,
    sparse: false,
};

/// 2^60.
const EPSILON: f64 = 1_152_921_504_606_846_976.0;

/// 2^34, the largest gradient that vanishes beside [`EPSILON`] and stays finite when multiplied by it.
const MOST: f64 = 17_179_869_184.0;

/// Parameters of one set, and the updates that each step subtracts; `None` is a step that overflows.
#[derive(Clone)]
pub(super) struct Trial {
    pub(super) store: MasterStore,
    pub(super) params: Vec<(&'static str, Stored)>,
    pub(super) updates: Vec<Option<Vec<Vec<f64>>>>,
    /// Layouts of parameters, and of gradients.
    pub(super) layouts: [Layout; 2],
}

/// An oracle for one parameter: it takes the parameter's place, its values and the update of each step, and returns the final values.
pub(super) type Oracle = fn(u32, &Stored, &[Vec<f64>]) -> Vec<f64>;

impl Trial {
    /// One parameter.
    pub(super) fn single(store: MasterStore, param: Stored, updates: Vec<Vec<f64>>) -> Self {
        let updates = updates.into_iter().map(|update| Some(vec![update])).collect();
        Self { store, params: vec![("w", param)], updates, layouts: [Layout::Offset(0); 2] }
    }

    /// Trains by each rule, and compares every parameter bit by bit.
    pub(super) fn run<S: Backend>(&self, s: &S, check: &mut Check, oracle: Oracle) -> Verdict {
        self.run_by(UpdateRule::sgd(1.0), s, check, oracle)?;
        let updates = self.updates.iter().flatten().flatten().flatten();
        if s.arithmetic().rounded_div_sqrt && updates.into_iter().all(|x| x.abs() <= MOST) {
            self.run_by(UpdateRule::Adam(SUBTRACTING), s, check, oracle)?;
        }
        Ok(())
    }

    /// Trains one parameter, from which each of `steps` subtracts `lr`: Lion subtracts no more if gradients are positive.
    pub(super) fn run_by_lion<S: Backend>(
        (store, param): (MasterStore, Stored),
        (lr, steps): (f64, usize),
        s: &S,
        check: &mut Check,
        oracle: Oracle,
    ) -> Verdict {
        let updates = vec![vec![lr; param.len()]; steps];
        let rule = UpdateRule::Lion(Lion { lr, betas: [0.0; 2], weight_decay: 0.0 });
        Self::single(store, param, updates).run_by(rule, s, check, oracle)
    }

    fn run_by<S: Backend>(
        &self,
        rule: UpdateRule,
        s: &S,
        check: &mut Check,
        oracle: Oracle,
    ) -> Verdict {
        let lie = |of: &Stored, layout| Stored { layout, ..of.clone() };
        let params = self.params.iter().map(|(name, param)| (*name, lie(param, self.layouts[0])));
        let moves =
            self.updates.iter().map(|update| Move::new(rule, self.grads(update.as_ref()), 0));
        let moves = moves.collect();
        let run = Run { params: params.collect(), moves, store: self.store };
        run.each(s, check, Some(Agreement::Bits), |index| {
            let applied = self.updates.iter().flatten().map(|update| update[index].clone());
            let place = u32::try_from(index).unwrap_or(u32::MAX);
            oracle(place, &self.params[index].1, &applied.collect::<Vec<_>>())
        })
    }

    fn grads(&self, update: Option<&Vec<Vec<f64>>>) -> Set {
        let grad = |(index, (name, param)): (usize, &(&'static str, Stored))| {
            let values = match update {
                Some(values) => values[index].clone(),
                None => vec![f64::INFINITY; param.len()],
            };
            let grad = Stored::from_values(DType::F32, &param.shape, values);
            (*name, Some(Stored { layout: self.layouts[1], ..grad }))
        };
        self.params.iter().enumerate().map(grad).collect()
    }
}

/// Returns a parameter and updates of many sizes: from whole units down to a hundredth of one.
pub(super) fn drawn(dtype: DType, len: usize, steps: usize) -> (Stored, Vec<Vec<f64>>) {
    let mut draw = Draw::new(len);
    let param = Stored::vector(dtype, (0..len).map(|_| draw.spread(-3.0, 3.0)));
    let mut update = || rounded(draw.spread(-16.0, -4.0), DType::F32);
    let updates = (0..steps).map(|_| (0..len).map(|_| update()).collect()).collect();
    (param, updates)
}

/// Returns a parameter and updates whose differences from its values are exact: a quotient that is wrong by a few ulps is rounded to the same number.
fn drawn_on_a_grid(dtype: DType, len: usize, steps: usize) -> (Stored, Vec<Vec<f64>>) {
    let mut draw = Draw::new(len);
    let param = (0..len).map(|i| (1.5 + draw.within(-0.25, 0.25)) * f64::from([1, -1][i % 2]));
    let param = Stored::vector(dtype, param.collect::<Vec<f64>>());
    let mut update = || draw.within(-65536.0, 65536.0).round() * 2.0_f64.powi(-22);
    let updates = (0..steps).map(|_| (0..len).map(|_| update()).collect()).collect();
    (param, updates)
}

/// Updates from the smallest number of `f32` up to ordinary ones; [`LARGE`] has updates that reach the end of each format.
const SMALL: [f64; 8] = [0.0, 1e-45, 3e-42, 2e-38, 4e-30, 5e-8, 3e-5, 0.7];
const LARGE: [f64; 4] = [300.0, 65519.0, 1e30, 3.4e38];

/// Returns pairs of each number at the edges of `dtype`, each infinity and NaN, with each update. Each pair comes eight times in a row, so that every
/// lane of a vector has it. All come twice, the second time 1024 elements after a multiple of 2048: a CUDA thread takes four elements and the four at
/// a distance of 1024.
fn pairs(dtype: DType, updates: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let codes = [edges(dtype), infinities(dtype)].concat();
    let params = codes.into_iter().map(|code| value(code, dtype)).chain([f64::NAN]);
    let of = |param| updates.iter().flat_map(move |x| [(param, rounded(*x, DType::F32)); 8]);
    let all: Vec<(f64, f64)> = params.flat_map(of).collect();
    let second = (all.len() + 1024).next_multiple_of(2048) - 1024;
    all.iter().cycle().take(second).chain(&all).copied().unzip()
}

/// Adds a case of one parameter and the updates that each step subtracts.
pub(super) fn add<S: Backend>(
    cases: &mut Cases<S>,
    (store, dtype, oracle): (MasterStore, DType, Oracle),
    sentence: &str,
    param: impl IntoIterator<Item = f64>,
    updates: Vec<Vec<f64>>,
) {
    let param = Stored::vector(dtype, param);
    cases.add(dtype, sentence, move |s: &S, check| {
        Trial::single(store, param.clone(), updates.clone()).run(s, check, oracle)
    });
}

/// Adds the cases that every store shares.
pub(super) fn add_cases<S: Backend>(
    cases: &mut Cases<S>,
    store: MasterStore,
    dtype: DType,
    oracle: Oracle,
) {
    cases.add(dtype, "ten_steps_of_257_elements", move |s: &S, check| {
        let (param, updates) = drawn(dtype, 257, 10);
        Trial::single(store, param, updates).run(s, check, oracle)
    });
    cases.add(dtype, "a_skipped_step_never_was", move |s: &S, check| {
        let (param, updates) = drawn(dtype, 33, 4);
        let mut trial = Trial::single(store, param, updates);
        for at in [0, 2, 3] {
            trial.updates.insert(at, None);
        }
        trial.run(s, check, oracle)
    });
    cases.add(dtype, "sixty_four_updates_of_2_to_the_minus_12", move |s: &S, check| {
        let param = Stored::vector(dtype, [1.0, -1.0, 1.5]);
        let small = 2.0_f64.powi(-12);
        Trial::single(store, param, vec![vec![-small, small, small]; 64]).run(s, check, oracle)
    });
    let sentence = "a_rule_that_divides_saves_as_one_that_does_not";
    cases.add(dtype, sentence, move |s: &S, check| {
        let (param, updates) = drawn_on_a_grid(dtype, 257, 4);
        let trial = Trial::single(store, param, updates);
        let rules = [UpdateRule::sgd(1.0), UpdateRule::Adam(SUBTRACTING)];
        rules.into_iter().try_for_each(|rule| trial.run_by(rule, s, check, oracle))
    });
    if cases.arithmetic().keeps_subnormals {
        cases.add(dtype, "numbers_of_every_size_meet_in_every_lane", move |s: &S, check| {
            [&SMALL[..], &LARGE].into_iter().try_for_each(|updates| {
                let (params, updates) = pairs(dtype, updates);
                let param = Stored::vector(dtype, params);
                Trial::single(store, param, vec![updates; 3]).run(s, check, oracle)
            })?;
            [SMALL[1], SMALL[5], SMALL[7], LARGE[3]].into_iter().try_for_each(|update| {
                let (params, updates) = pairs(dtype, &[update]);
                let lion = (updates[0], 3);
                let of = (store, Stored::vector(dtype, params));
                Trial::run_by_lion(of, lion, s, check, oracle)
            })
        });
    }
    cases.lengths(dtype, LENGTHS.into_iter().chain([LONG[2]]), move |s: &S, check, len| {
        let (param, updates) = drawn(dtype, len, 2);
        Trial::single(store, param, updates).run(s, check, oracle)
    });
    cases.views(dtype, move |s: &S, check, layout, len| {
        let (param, updates) = drawn(dtype, len, 2);
        let trial = Trial::single(store, param.view(layout), updates);
        let row_major = Layout::Offset(0);
        for layouts in [[layout, layout], [row_major, layout], [layout, row_major]] {
            Trial { layouts, ..trial.clone() }.run(s, check, oracle)?;
        }
        Ok(())
    });
}
