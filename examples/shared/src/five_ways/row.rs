//! Rows of the README's table, one for each run of the task.

use super::{SEED, Task};
use binade::core::DType;
use binade::core::cast::{OnOverflow, round};
use binade::grad_scaler::ScaleState;
use std::{fmt, io};

/// Types that every way stores weights in, in the order of the table; those of sixteen bits have f32 masters or not, as
/// [`Row::with`] says.
pub const PRECISIONS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// State of a loss scale at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Number of steps that overflowed and were skipped.
    pub skipped: u64,
    /// Scale after the last step.
    pub scale: f64,
}

impl From<&ScaleState> for Scaling {
    fn from(state: &ScaleState) -> Self {
        Self { skipped: state.skipped, scale: f64::from(state.factor()) }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Owner of the tensors: `tape`, `candle`, `burn`, `own tensor`, `slices`.
    pub way: String,
    /// Type that the run stored weights in.
    pub precision: DType,
    /// Trainer: `Binade`, or `alone` for the framework's own optimizer without it.
    pub with: String,
    /// Share of test images classified right.
    pub accuracy: f32,
    /// Mean loss of the last epoch; `None` if it is not finite.
    pub loss: Option<f32>,
    /// Share of weights, as the model computes with them, that differ from their first values.
    pub moved: f32,
    /// Loss-scale figures; `None` without a scaler.
    pub scaling: Option<Scaling>,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Loss of every step, in order.
    pub losses: Vec<f32>,
    /// Weights, by parameter in the order of [`crate::mlp::layout`], as the model computes with them.
    pub weights: Vec<Vec<f32>>,
    /// Logits, ten for each test image.
    pub logits: Vec<f32>,
    /// Loss-scale figures; `None` without a scaler.
    pub scaling: Option<Scaling>,
}

impl Row {
    /// Creates the row of a run of `task`.
    pub fn new((way, precision, with): (&str, DType, &str), task: &Task, run: &Run) -> Self {
        let first = task.parameters.iter().flat_map(|parameter| &parameter.values);
        let stored = first.map(|&x| round(x, precision, OnOverflow::NonFinite));
        let moved = stored.zip(run.weights.iter().flatten()).map(|(old, &now)| old != Some(now));
        let last = &run.losses[run.losses.len().saturating_sub(task.epoch_steps())..];
        let loss = Some(mean(last.iter().copied())).filter(|loss| loss.is_finite());
        Self {
            way: way.to_owned(),
            precision,
            with: with.to_owned(),
            accuracy: task.accuracy(&run.logits),
            loss,
            moved: mean(moved.map(f32::from)),
            scaling: run.scaling,
        }
    }
}

/// Returns the mean, added in `f64`, so that ten thousand weights lose nothing.
fn mean(values: impl Iterator<Item = f32>) -> f32 {
    let (sum, count) =
        values.fold((0.0_f64, 0.0_f64), |(sum, count), x| (sum + f64::from(x), count + 1.0));
    #[expect(clippy::cast_possible_truncation, reason = "a figure of a table")]
    let mean = (sum / count) as f32;
    mean
}

impl fmt::Display for Row {
    /// Writes a row of Markdown, as the README's table has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { way, precision, with, accuracy, loss, moved, scaling } = self;
        let loss = loss.map_or_else(|| "not finite".to_owned(), |loss| format!("{loss:.3}"));
        let (skipped, scale) = match scaling {
            Some(Scaling { skipped, scale }) => (skipped.to_string(), power(*scale)),
            None => ("–".into(), "–".into()),
        };
        let (accuracy, moved) = (100.0 * accuracy, 100.0 * moved);
        write!(
            f,
            "| {way} | {precision} | {with} | {accuracy:.1} % | {loss} | {moved:.0} % | {skipped} | {scale} |"
        )
    }
}

/// Returns a power of two as `2^N`, and 1 and other numbers as they are.
pub fn power(scale: f64) -> String {
    let exponent = scale.log2();
    if exponent.fract() == 0.0 && scale != 1.0 {
        format!("2^{exponent}")
    } else {
        scale.to_string()
    }
}

/// Function that trains one way in one precision.
pub type Way<E> = fn(&Task, DType) -> Result<Row, E>;

/// Trains by each way in each precision, and prints the rows of the README's table.
///
/// # Errors
///
/// If a run diverges, or the embedded digits are damaged.
pub fn print<E: From<io::Error>>(ways: &[Way<E>]) -> Result<(), E> {
    let task = Task::new(SEED)?;
    let mut rows = Vec::new();
    for way in ways {
        for precision in PRECISIONS {
            rows.push(way(&task, precision)?);
        }
    }
    for row in rows {
        println!("{row}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_and_a_scaler_that_there_is_not_are_told() {
        let scaling = Some(Scaling { skipped: 9, scale: 262144.0 });
        let row = |way: &str, with: &str, accuracy, loss, moved, scaling| Row {
            way: way.into(),
            precision: DType::F16,
            with: with.into(),
            accuracy,
            loss,
            moved,
            scaling,
        };
        let alone = row("candle", "alone", 0.1, None, 1.0, None).to_string();
        assert_eq!(alone, "| candle | f16 | alone | 10.0 % | not finite | 100 % | – | – |");
        let ours = row("tape", "Binade", 0.928, Some(0.2067), 0.907, scaling).to_string();
        assert_eq!(ours, "| tape | f16 | Binade | 92.8 % | 0.207 | 91 % | 9 | 2^18 |");
        assert_eq!((power(1.0), power(3.0), power(0.5)), ("1".into(), "3".into(), "2^-1".into()));
    }
}
