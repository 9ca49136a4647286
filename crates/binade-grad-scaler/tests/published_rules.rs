//! Every preset moves as its library's rule does, written down here as the library has it: by its own counters, with
//! iteration numbers where it has those, and a scale that is any number.

use binade_grad_scaler::{LossScale, Tolerance, UpdateInputs};

/// Answer of a library to an iteration.
enum Moved {
    To(f64),
    /// It raises an error.
    Raises,
}

/// One library's rule: given whether there was an overflow.
type Published = Box<dyn FnMut(bool) -> Moved>;

/// Good steps between growths in all of these, so that there are many.
const WINDOW: i64 = 7;

/// `update_scale_hysteresis`: the tolerance counts down, and a good step fills it up.
fn apex_kernel(mut scale: f64, hysteresis: i64) -> Published {
    let (mut left, mut good) = (hysteresis, 0);
    Box::new(move |overflow| {
        if overflow {
            left -= 1;
            good = 0;
            if left > 0 {
                return Moved::To(scale);
            }
            scale *= 0.5;
        } else {
            good += 1;
            if good == WINDOW {
                (scale, good) = (scale * 2.0, 0);
            }
            left = hysteresis;
        }
        Moved::To(scale)
    })
}

/// `DynamicLossScaler` of `DeepSpeed`: `delayed_shift` is the hysteresis.
fn deepspeed(mut scale: f64, delayed_shift: i64, consecutive: bool) -> Published {
    let (mut number, mut last_overflow, mut left) = (0_i64, -1_i64, delayed_shift);
    Box::new(move |overflow| {
        if overflow {
            if delayed_shift == 1 || left == 1 {
                if scale <= 1.0 {
                    return Moved::Raises;
                }
                scale = (scale / 2.0).max(1.0);
            } else {
                left -= 1;
            }
            last_overflow = number;
        } else {
            if consecutive {
                left = delayed_shift;
            }
            if (number - last_overflow) % WINDOW == 0 {
                if !consecutive {
                    left = delayed_shift;
                }
                scale *= 2.0;
            }
        }
        number += 1;
        Moved::To(scale)
    })
}

/// Paddle's `GradScaler`.
fn paddle(mut scale: f64, decr_every: i64) -> Published {
    let (mut incr, mut decr) = (0, 0);
    Box::new(move |overflow| {
        if overflow {
            (incr, decr) = (0, decr + 1);
            if decr == decr_every {
                (scale, decr) = (scale * 0.5, 0);
            }
        } else {
            (incr, decr) = (incr + 1, 0);
            if incr == WINDOW {
                (scale, incr) = (scale * 2.0, 0);
            }
        }
        Moved::To(scale)
    })
}

/// TensorFlow 1's `ExponentialUpdateLossScaleManager`, by halves.
fn tensorflow(mut scale: f64, decr_every: i64) -> Published {
    let (mut good, mut bad) = (0, 0);
    Box::new(move |overflow| {
        if overflow {
            (good, bad) = (0, bad + 1);
            if bad >= decr_every {
                // It stays at its floor, where Binade has diverged.
                if scale <= 1.0 {
                    return Moved::Raises;
                }
                (scale, bad) = ((scale * 0.5).max(1.0), 0);
            }
        } else {
            good += 1;
            if good >= WINDOW {
                (scale, good, bad) = (scale * 2.0, 0, 0);
            }
        }
        Moved::To(scale)
    })
}

/// fairseq's `DynamicLossScaler`.
fn fairseq(mut scale: f64, tolerance: f64) -> Published {
    let (mut number, mut last_overflow, mut last_move, mut overflows) = (0_i64, -1_i64, -1_i64, 0);
    Box::new(move |overflow| {
        if overflow {
            let before = scale;
            overflows += 1;
            last_overflow = number;
            let updates = i32::try_from(number - last_move).expect("a short run");
            if f64::from(overflows) / f64::from(updates) >= tolerance {
                scale /= 2.0;
                (last_move, overflows) = (number, 0);
            }
            if scale <= 1e-4 {
                scale = before;
                return Moved::Raises;
            }
        } else if (number - last_overflow) % WINDOW == 0 {
            scale *= 2.0;
            last_move = number;
        }
        number += 1;
        Moved::To(scale)
    })
}

/// torch, Keras, Apex's `LossScaler` and jmp: a counter, a ceiling, a floor.
fn counter(mut scale: f64, floor: f64, ceiling: f64) -> Published {
    let mut good = 0;
    Box::new(move |overflow| {
        if overflow {
            // jmp stays at its floor, where a preset has diverged.
            if scale <= floor {
                return Moved::Raises;
            }
            (scale, good) = ((scale * 0.5).max(floor), 0);
        } else {
            good += 1;
            if good == WINDOW {
                (scale, good) = ((scale * 2.0).min(ceiling), 0);
            }
        }
        Moved::To(scale)
    })
}

/// Runs both through two thousand iterations of which so many of a hundred overflow.
fn agree(rule: LossScale, mut published: Published, seed: u32, bad: u32) {
    let window = u32::try_from(WINDOW).expect("positive");
    let rule = rule.with_growth_interval(window).expect("above 0").with_patience(u32::MAX);
    let (mut state, mut word) = (rule.start(), seed);
    for number in 0..2000 {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let overflow = (word >> 16) % 100 < bad;
        state = rule.next(state, UpdateInputs { overflow, skipped: overflow, magnitude: 1.0 });
        match published(overflow) {
            Moved::Raises => {
                assert!(state.diverged, "{number} of {rule:?}: {state:?}");
                return;
            }
            // Where the library has no limit, and Binade those of exact scales.
            Moved::To(scale) if !(1e-37..=1e37).contains(&scale) => return,
            Moved::To(scale) => {
                assert!(!state.diverged, "{number} of {rule:?}: {state:?}");
                assert_eq!(f64::from(state.factor()), scale, "{number} of {rule:?}: {state:?}");
            }
        }
    }
}

/// With overflows from rare to always.
fn always_agree(rule: LossScale, published: impl Fn(f64) -> Published) {
    for (seed, bad) in [1, 3, 8, 9, 10, 11, 12, 15, 30, 60, 100].into_iter().enumerate() {
        let start = published(f64::from(rule.start().factor()));
        agree(rule, start, u32::try_from(seed).expect("few"), bad);
    }
}

#[test]
fn torchs_kerass_apexs_and_jmps_presets_move_as_theirs() {
    let none = (0.0, f64::INFINITY);
    for (name, (floor, ceiling)) in [
        ("torch", none),
        ("keras", none),
        ("paddle", none),
        ("apex", (0.0, 2.0_f64.powi(24))),
        ("jmp", (1.0, f64::INFINITY)),
    ] {
        let rule = LossScale::preset(name).unwrap();
        always_agree(rule, |start| counter(start, floor, ceiling));
    }
}

#[test]
fn apexs_hysteresis_moves_as_its_kernel_does() {
    for overflows in [1, 2, 3, 10, 100] {
        let rule = LossScale::torch().with_tolerance(Tolerance::UntilGoodStep { overflows });
        always_agree(rule, |start| apex_kernel(start, overflows.into()));
    }
}

#[test]
fn deepspeeds_hysteresis_moves_as_its_scaler_does_consecutive_or_not() {
    always_agree(LossScale::preset("deepspeed").unwrap(), |start| deepspeed(start, 2, false));
    for overflows in [1, 2, 3, 10] {
        let growth = Tolerance::UntilGrowth { overflows };
        let good = Tolerance::UntilGoodStep { overflows };
        for (tolerance, consecutive) in [(growth, false), (good, true)] {
            let rule = LossScale::preset("deepspeed").unwrap().with_tolerance(tolerance);
            always_agree(rule, |start| deepspeed(start, overflows.into(), consecutive));
        }
    }
}

#[test]
fn paddles_overflows_in_a_row_move_as_its_scaler_does() {
    for overflows in [1, 2, 3, 10] {
        let rule =
            LossScale::preset("paddle").unwrap().with_tolerance(Tolerance::InARow { overflows });
        always_agree(rule, |start| paddle(start, overflows.into()));
    }
}

#[test]
fn tensorflows_accumulated_overflows_move_as_its_manager_does() {
    for overflows in [1, 2, 3, 10] {
        let rule = LossScale::torch().with_limits(1.0, 2.0_f32.powi(126)).unwrap();
        let rule = rule.with_tolerance(Tolerance::SinceMove { overflows });
        always_agree(rule, |start| tensorflow(start, overflows.into()));
    }
}

#[test]
fn fairseqs_share_moves_as_its_scaler_does_floor_and_all() {
    always_agree(LossScale::preset("fairseq").unwrap(), |start| fairseq(start, 0.0));
    for share in [0.05, 0.1, 0.25, 0.3, 0.5, 1.0] {
        let rule =
            LossScale::preset("fairseq").unwrap().with_tolerance(Tolerance::share(share).unwrap());
        always_agree(rule, |start| fairseq(start, share));
    }
}
