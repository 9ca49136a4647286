//! Rules by the name of the library whose numbers they are.
//!
//! Each preset changes the scale when the library's rule does. `docs/differences.md` lists the differences: scales are powers of two between 2^-126
//! and 2^126, and a run has diverged after an overflow at the floor, or `patience` skips in a row.

use super::MAX_EXPONENT;
use super::{LogMax, LossScale, LossScaleError, Tolerance};

const NAMED: [(&str, LossScale); 10] = {
    let torch = LossScale::torch();
    let deepspeed = LossScale { min_exponent: 0, growth_interval: 1000, ..torch };
    let fairseq = LossScale { init_exponent: 15, min_exponent: -13, ..torch };
    let log_max = LossScale { log_max: Some(LogMax::open_seq2seq()), ..LossScale::dynamic() };
    [
        ("dynamic", LossScale::dynamic()),
        ("torch", torch),
        // `apex/amp/scaler.py`; the ceiling is the default of `max_loss_scale`.
        ("apex", LossScale { max_exponent: 24, ..torch }),
        // A good step makes it tolerant again.
        ("apex-hysteresis", torch.with_tolerance(Tolerance::UntilGoodStep { overflows: 2 })),
        // `runtime/constants.py`; `DynamicLossScaler` up to 0.17, which since 0.18 grows a step later after each overflow.
        ("deepspeed", deepspeed.with_tolerance(Tolerance::UntilGrowth { overflows: 2 })),
        ("keras", LossScale { init_exponent: 15, ..torch }),
        // 2^15 is the highest power of two that its f16 scale can hold.
        ("jmp", LossScale { init_exponent: 15, min_exponent: 0, ..torch }),
        // `decr_every_n_nan_or_inf` is 1.
        ("paddle", torch.with_tolerance(Tolerance::InARow { overflows: 1 })),
        // An error once the scale would fall to 1e-4 or below: its lowest power of two is 2^-13.
        ("fairseq", fairseq.with_tolerance(Tolerance::Share { of_65536: 0 })),
        (
            "log-max",
            LossScale { init_exponent: 0, growth_exponent: 0, backoff_exponent: 0, ..log_max },
        ),
    ]
};

impl LossScale {
    /// Every [`preset`](Self::preset), by name.
    pub const PRESETS: &'static [(&'static str, Self)] = &NAMED;

    /// Returns the rule of a library by name, with the library's numbers:
    ///
    /// | name | of | first scale | up after | down | limits |
    /// |---|---|---|---|---|---|
    /// | `dynamic` | [`dynamic`](Self::dynamic) | 2^16 | 2000 | at each overflow | 2^0 to 2^24 |
    /// | `torch` | [`torch`](Self::torch) | 2^16 | 2000 | at each overflow | none |
    /// | `apex` | Apex's `LossScaler` | 2^16 | 2000 | at each overflow | up to 2^24 |
    /// | `apex-hysteresis` | Apex's kernel `update_scale_hysteresis` | 2^16 | 2000 | from the second since a good step | none |
    /// | `deepspeed` | `DeepSpeed`, configured | 2^16 | 1000 | from the second since a growth | from 2^0 |
    /// | `keras` | Keras 3's `LossScaleOptimizer` | 2^15 | 2000 | at each overflow | none |
    /// | `jmp` | jmp's `DynamicLossScale` | 2^15 | 2000 | at each overflow | from 2^0 |
    /// | `paddle` | Paddle's `GradScaler` | 2^16 | 2000 | at each overflow | none |
    /// | `fairseq` | fairseq's `DynamicLossScaler` | 2^15 | 2000 | at each overflow | from 2^-13 |
    /// | `log-max` | `OpenSeq2Seq`'s `LogMaxScaler` | 2^0 | – | predicted | 2^0 to 2^24 |
    ///
    /// A library's rule without limits gets those of exact scales, 2^-126 and 2^126.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Preset`], which lists the names, if the name is unknown.
    pub fn preset(name: &str) -> Result<Self, LossScaleError> {
        let found = NAMED.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, rule)| rule).ok_or_else(|| LossScaleError::Preset {
            name: name.to_owned(),
            known: NAMED.map(|(known, _)| known).join(", "),
        })
    }

    /// `torch.amp.GradScaler` (2.15): starts at 2^16, doubles after 2000 good steps, halves at each overflow, and has no limits except those of exact
    /// scales.
    ///
    /// For torch's behaviour to the bit, with zero and infinite scales, see `protocol` of `binade-interchange`.
    pub const fn torch() -> Self {
        Self { min_exponent: -MAX_EXPONENT, max_exponent: MAX_EXPONENT, ..Self::dynamic() }
    }
}
