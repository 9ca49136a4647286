//! A million random steps of every rule: the scale stays a number within its limits, and a skipped step changes nothing.
//!
//! Twenty thousand of them by default, and fewer of rules at random; all where `BINADE_FULL` is set.

use crate::common::sgd::Sgd;
use crate::common::{HostScaler, Result, iterate, rule, scaler, unscaled};
use binade_grad_scaler::{BadMicroBatch, LogMax, LossScale, ScaleState, Step, Tolerance};

/// Random words (Steele, Lea and Flood, `SplitMix`, 2014).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `least` to below `end`.
    fn within(&mut self, least: i32, end: i32) -> i32 {
        let width = u64::from(end.abs_diff(least));
        least + i32::try_from(self.word() % width).expect("a narrow range")
    }

    fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.word() % u64::from(end)).expect("below a word of 32 bits")
    }

    /// A gradient of any size that matters, now and then 0.
    fn gradient(&mut self) -> f32 {
        let exponent = u32::try_from(self.within(100, 150)).expect("positive");
        let bits = exponent << 23 | self.below(1 << 23) | self.below(2) << 31;
        if self.below(50) == 0 { 0.0 } else { f32::from_bits(bits) }
    }
}

/// Fate of the gradients of an iteration, besides their size.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Good,
    Overflow,
    /// In a micro-batch beside a good one, which is left out.
    Dropped,
}

/// A run of one parameter, and a stretch of iterations in which so many of a thousand go wrong.
struct Run {
    rule: LossScale,
    scaler: HostScaler,
    sgd: Sgd,
    random: Random,
    bad: u32,
    left: u32,
}

impl Run {
    fn new(rule: LossScale, seed: u64) -> Self {
        let sgd = Sgd::new(&[("w", &[100.0])]);
        Self { rule, scaler: scaler(rule), sgd, random: Random(seed), bad: 0, left: 0 }
    }

    fn fate(&mut self) -> Fate {
        if self.left == 0 {
            self.left = 1 + self.random.below(self.rule.growth_interval.saturating_mul(3).max(20));
            self.bad = [0, 0, 2, 100, 500, 1000][self.random.below(6) as usize];
        }
        self.left -= 1;
        match self.random.below(1000) < self.bad {
            false => Fate::Good,
            true if self.random.below(4) == 0 => Fate::Dropped,
            true => Fate::Overflow,
        }
    }

    fn act(&mut self, fate: Fate, x: f32) -> Result<Step> {
        let (scaler, sgd) = (&mut self.scaler, &mut self.sgd);
        let bad = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN][self.random.below(3) as usize];
        match fate {
            Fate::Good => iterate(scaler, sgd, &[("w", &[x])]),
            Fate::Overflow => iterate(scaler, sgd, &[("w", &[bad])]),
            Fate::Dropped => {
                let mut window = scaler.accumulate(BadMicroBatch::Drop);
                for x in [x, bad] {
                    window.add(unscaled(scaler, &[("w", &[x])])?)?;
                }
                let step = window.finish()?.expect("two").step(sgd)?;
                scaler.update(step)?.resolve()
            }
        }
    }

    /// One iteration, and what must hold after it.
    fn step(&mut self, number: u32) {
        let (fate, x) = (self.fate(), self.random.gradient());
        let (kept, was) = (self.sgd.bits(), self.scaler.state().expect("a host"));
        let step = self.act(fate, x).expect("nothing is refused");
        let now = self.scaler.state().expect("a host");
        let told = || format!("step {number} of {:?}: {was:?} to {now:?}", self.rule);

        let is_lost = fate == Fate::Overflow || !(x * was.factor()).is_finite() || was.diverged;
        let skipped = step.report().steps[0].skipped;
        assert_eq!(skipped, is_lost, "{}", told());
        if skipped {
            assert!(self.sgd.bits() == kept, "{}", told());
        } else {
            assert_eq!(self.sgd.steps, kept.2 + 1, "{}", told());
        }
        sound(&self.rule, &now).unwrap_or_else(|what| panic!("{what}: {}", told()));
        if now.diverged {
            assert!(!was.diverged || was.exponent == now.exponent, "{}", told());
            self.take_up_again(now);
        }
    }

    /// Sooner or later somebody does, or the rest of the run would be idle.
    fn take_up_again(&mut self, now: ScaleState) {
        if self.random.below(4) == 0 {
            let end = self.rule.max_exponent + 1;
            let exponent = self.random.within(self.rule.min_exponent, end);
            let again = ScaleState { diverged: false, bad_steps: 0, exponent, ..now };
            self.scaler.set_state(again).expect("a host");
        }
    }
}

/// Never 0, infinite, NaN, subnormal, or out of bounds, and neither is the inverse.
fn sound(rule: &LossScale, now: &ScaleState) -> std::result::Result<(), &'static str> {
    match () {
        () if !now.factor().is_normal() || now.factor() <= 0.0 => Err("no scale"),
        () if !now.inverse().is_normal() || now.inverse() <= 0.0 => Err("no inverse"),
        () if !(rule.min_exponent..=rule.max_exponent).contains(&now.exponent) => {
            Err("out of bounds")
        }
        () if now.factor() * now.inverse() != 1.0 => Err("not exact"),
        () => Ok(()),
    }
}

fn is_full() -> bool {
    std::env::var_os("BINADE_FULL").is_some()
}

fn run(rule: LossScale, seed: u64, steps: u32) {
    let mut run = Run::new(rule, seed);
    (0..steps).for_each(|number| run.step(number));
    let last = run.scaler.state().expect("a host");
    assert_eq!(last.updates, u64::from(steps), "{rule:?}");
    assert!(last.skipped > 0 && last.applied() > 0, "{rule:?}: nothing was tried");
}

#[test]
fn a_million_random_steps_of_every_preset_keep_the_scale_sound_and_skips_idle() {
    let steps = if is_full() { 1_000_000 } else { 20_000 };
    for (seed, (_, rule)) in (1..).zip(LossScale::presets()) {
        run(rule, seed, steps);
    }
}

fn any_tolerance(random: &mut Random) -> Tolerance {
    let overflows = random.below(5);
    match random.below(5) {
        0 => Tolerance::None,
        1 => Tolerance::UntilGoodStep { overflows },
        2 => Tolerance::UntilGrowth { overflows },
        3 => Tolerance::InARow { overflows },
        _ => Tolerance::Share { of_65536: random.below(1 << 17) },
    }
}

/// Any rule that the builders let through, and that a scale can move by.
fn any_rule(random: &mut Random) -> LossScale {
    let (a, b) = (random.within(-126, 127), random.within(-126, 127));
    let mut any = rule(|rule| {
        rule.init_exponent = random.within(-130, 131);
        (rule.growth_exponent, rule.backoff_exponent) = (random.within(0, 5), random.within(0, 5));
        rule.growth_interval = 1 + random.below(30);
        rule.patience = 1 + random.below(60);
        rule.tolerance = any_tolerance(random);
    });
    if random.below(3) == 0 {
        any.log_max = Some(LogMax {
            ceiling_exponent: random.within(-30, 60),
            deviations: random.below(1 << 19),
            weight: random.below(1 << 25),
            slow_weight: random.below(1 << 25),
        });
    }
    let [min, max] = [a.min(b), a.max(b)].map(|exponent| 2.0_f32.powi(exponent));
    any.with_limits(min, max).expect("in order and in reach")
}

#[test]
fn a_million_random_steps_of_rules_at_random_keep_the_scale_sound_and_skips_idle() {
    let (rules, steps) = if is_full() { (20, 1_000_000) } else { (20, 2000) };
    let mut random = Random(99);
    for seed in 0..rules {
        run(any_rule(&mut random), seed, steps);
    }
}
