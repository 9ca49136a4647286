//! What a run of the task gives: a row of the table, which programs hand on as JSON.

use super::Task;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// How a run computed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Everything in `f32`.
    F32,
    /// Weights in bf16, with f32 masters or without, as [`Row::with`] says.
    Bf16,
    /// Weights in f16.
    F16,
}

impl Precision {
    /// In the order of the table.
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::F16];

    /// The weight that stores `value`.
    pub fn round(self, value: f32) -> f32 {
        match self {
            Self::F32 => value,
            Self::Bf16 => bf16::from_f32(value).to_f32(),
            Self::F16 => f16::from_f32(value).to_f32(),
        }
    }
}

/// What became of a loss scale.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Scaling {
    /// Steps that overflowed and were skipped.
    pub skipped: u64,
    /// The scale after the last step.
    pub scale: f64,
}

/// One run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    /// Whose tensors: `tape`, `candle`, `burn`, `own tensor`, `slices`.
    pub way: String,
    /// In what.
    pub precision: Precision,
    /// `Binade`, or `alone` for the framework's own optimizer without it.
    pub with: String,
    /// The share of test images that it gets right.
    pub accuracy: f32,
    /// The mean loss of the last epoch; nothing where that is not finite.
    pub loss: Option<f32>,
    /// Weights, as the model computes with them, that differ from their first values, as a share of all.
    pub moved: f32,
    /// Nothing where no scaler looked.
    pub scaling: Option<Scaling>,
}

/// What a run leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The loss of every step, in order.
    pub losses: Vec<f32>,
    /// The weights, by parameter in the order of [`crate::mlp::layout`], as the model computes with them.
    pub weights: Vec<Vec<f32>>,
    /// Ten for each test image.
    pub logits: Vec<f32>,
    /// Nothing where no scaler looked.
    pub scaling: Option<Scaling>,
}

impl Row {
    /// The row of a run of `task`.
    pub fn new((way, precision, with): (&str, Precision, &str), task: &Task, run: &Run) -> Self {
        let first = task
            .parameters
            .iter()
            .flat_map(|parameter| &parameter.values)
            .map(|&x| precision.round(x));
        let moved = first.zip(run.weights.iter().flatten()).map(|(first, &now)| first != now);
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

/// In `f64` inside: ten thousand weights lose nothing.
fn mean(values: impl Iterator<Item = f32>) -> f32 {
    let (sum, count) =
        values.fold((0.0_f64, 0.0_f64), |(sum, count), x| (sum + f64::from(x), count + 1.0));
    #[expect(clippy::cast_possible_truncation, reason = "a figure of a table")]
    let mean = (sum / count) as f32;
    mean
}

/// Writes the rows to standard output as one JSON array, which `cargo xtask five-ways` reads.
///
/// # Errors
///
/// When standard output is closed.
pub fn print(rows: &[Row]) -> io::Result<()> {
    writeln!(io::stdout(), "{}", serde_json::to_string(rows)?)
}
