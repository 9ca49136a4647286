//! Random steps of two optimizers, many of them, against torch's rule written down once more: `_amp_update_scale_`,
//! `_amp_foreach_non_finite_check_and_unscale_` and a step that is left out after an overflow.
//!
//! There are twenty thousand by default, a million if `BINADE_FULL` is set.
#![expect(clippy::cast_possible_truncation, reason = "the scale is an f32 computed in f64")]

use super::super::{NewScale, Verdict};
use super::*;

/// Random words (Marsaglia, "Xorshift RNGs", 2003).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.word() >> 11) % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).expect("an index")]
    }

    /// Returns any f32, NaN and infinities in the shares that they have among all patterns.
    fn pattern(&mut self) -> f32 {
        f32::from_bits((self.word() >> 32) as u32)
    }
}

/// Rule of torch on a host of numbers alone.
struct Torch {
    config: ProtocolConfig,
    scale: f32,
    tracker: i64,
}

impl Torch {
    /// Returns true if any gradient is not finite; each is multiplied by the reciprocal in any case.
    fn unscale(&self, grads: &mut [f32]) -> bool {
        let found = grads.iter().any(|g| g.is_nan() || g.is_infinite());
        let inverse = (1.0 / f64::from(self.scale)) as f32;
        for g in grads {
            *g *= inverse;
        }
        found
    }

    fn update(&mut self, found: bool) {
        if found {
            self.scale = (f64::from(self.scale) * self.config.backoff_factor) as f32;
            self.tracker = 0;
            return;
        }
        let good = self.tracker + 1;
        if good != self.config.growth_interval {
            self.tracker = good;
            return;
        }
        let grown = (f64::from(self.scale) * self.config.growth_factor) as f32;
        if grown.is_finite() {
            self.scale = grown;
        }
        self.tracker = 0;
    }
}

/// Returns true for the same bits, or if both are NaN.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn steps() -> u32 {
    if std::env::var_os("BINADE_FULL").is_some() { 1_000_000 } else { 20_000 }
}

/// Runs this number of steps by one rule, with stretches in which nothing, something or everything overflows.
fn run(config: ProtocolConfig, seed: u64, steps: u32) {
    let mut random = Random(seed);
    let mut scaler = ProtocolScaler::new(config).unwrap();
    let first = scaler.scale(1.0_f32).unwrap();
    let mut torch = Torch { config, scale: config.init_scale as f32, tracker: 0 };
    assert!(same(first, torch.scale));
    let (mut weights, mut wanted) = ([1.0_f32; 2], [1.0_f32; 2]);
    let (mut bad, mut left) = (0, 0);
    for number in 0..steps {
        if left == 0 {
            (bad, left) = (random.pick(&[0, 0, 1, 300, 1000]), 1 + random.below(5000));
        }
        left -= 1;
        let mut any = false;
        for (place, id) in [SGD, ADAM].into_iter().enumerate() {
            let hit = random.below(1000) < bad;
            let mut grads = [random.pattern(), random.pattern()];
            if !hit {
                grads = grads.map(|g| if g.is_finite() { g } else { 1.5 });
            }
            let mut theirs = grads;
            let found = torch.unscale(&mut theirs);
            any |= found;
            let verdict = scaler.step(id, &mut [Some(&mut grads[..])]).unwrap();
            assert_eq!(verdict == Verdict::Skip, found, "step {number}: {grads:?}");
            let alike = grads.iter().zip(&theirs).all(|(a, b)| same(*a, *b));
            assert!(alike, "step {number}: {grads:?} for {theirs:?}");
            let before = weights[place];
            if verdict == Verdict::Apply {
                weights[place] -= 1e-3 * grads[0];
            }
            if !found {
                wanted[place] -= 1e-3 * theirs[0];
            }
            assert!(same(weights[place], wanted[place]), "step {number}");
            assert!(!found || same(weights[place], before), "a skipped step changes nothing");
        }
        scaler.update().unwrap();
        torch.update(any);
        let scale = scaler.current().unwrap();
        assert!(same(scale, torch.scale), "step {number}: {scale:e} for {:e}", torch.scale);
        assert_eq!(scaler.growth_tracker(), torch.tracker, "step {number}");
        // A scale of 0 or infinity never changes, nor does a weight that is NaN, so the run begins again now and then.
        if random.below(2000) == 0 {
            let new = random.pick(&[65536.0, 1.0, 1e-40, 3e38, 0.1, f32::INFINITY]);
            scaler.set_scale(NewScale::Float(new.into())).unwrap();
            torch.scale = new;
            (weights, wanted) = ([1.0; 2], [1.0; 2]);
        }
    }
}

#[test]
fn a_million_steps_of_torchs_own_numbers_are_those_of_its_rule() {
    run(ProtocolConfig::default(), 1, steps());
}

#[test]
fn a_million_steps_of_other_factors_and_intervals_are_those_of_torchs_rule() {
    for (seed, (growth_factor, backoff_factor, growth_interval)) in
        (2..).zip([(2.0, 0.5, 1), (1.1, 0.9, 3), (4.0, 0.25, 10), (1e10, 1e-9, 2), (2.0, -0.5, 5)])
    {
        let config = ProtocolConfig {
            growth_factor,
            backoff_factor,
            growth_interval,
            ..ProtocolConfig::default()
        };
        run(config, seed, steps());
    }
}
