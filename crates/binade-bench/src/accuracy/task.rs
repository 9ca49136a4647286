//! Tasks: an example's program and its sizes.

use super::Options;
use super::run::Figures;
use crate::Result;
use crate::training::Setting;
use binade::OptLevel;
use binade_example_digits as digits;
use binade_example_gpt as gpt;
use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize};

/// Returns a sum of the test set's labels in the folder of pictures, by which sets are told apart; `None` without a folder.
pub(super) fn pictures(options: &Options) -> Result<Option<String>> {
    let Some(folder) = options.data.as_deref() else { return Ok(None) };
    let labels = digits::data::load(Some(folder), 0)?.test.labels;
    // FNV-1a, with a label in the place of a byte.
    let step =
        |sum: u64, label: &i64| (sum ^ label.unsigned_abs()).wrapping_mul(0x0000_0100_0000_01b3);
    Ok(Some(format!("{:016x}", labels.iter().fold(0xcbf2_9ce4_8422_2325, step))))
}

/// Program that is trained, and its data.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Convolutional net with batch normalisation of the example `digits`, on Fashion-MNIST.
    Images,
    /// Character-level GPT of the example `gpt`, on its plays.
    Text,
}

impl Task {
    /// Returns the name, as the command line has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Images => "images",
            Self::Text => "text",
        }
    }

    /// Returns the name of a run's figure, with its unit and its better side.
    pub(super) fn figure(self) -> &'static str {
        match self {
            Self::Images => "test accuracy in %, more is better",
            Self::Text => "validation loss in nats a character, less is better",
        }
    }

    /// Returns the decimals that a figure is shown with.
    pub(super) fn decimals(self) -> usize {
        match self {
            Self::Images => 2,
            Self::Text => 4,
        }
    }

    /// Returns the arguments of the example's program, without the folder of its data.
    pub(super) fn arguments(self, options: &Options, (level, dtype): Setting, seed: u32) -> String {
        let sizes = match (self, options.dry_run) {
            (Self::Images, false) => "digits --model cnn --batch 64 --epochs 1 --lr 0.001",
            (Self::Images, true) => "digits --model mlp --batch 128 --epochs 1",
            (Self::Text, false) => "gpt --layers 2 --width 64 --steps 1000 --every 1000 --sample 0",
            (Self::Text, true) => {
                "gpt --layers 1 --heads 1 --width 8 --context 8 --steps 2 --every 2 --sample 0"
            }
        };
        let low = if level == OptLevel::O0 { String::new() } else { format!(" --dtype {dtype}") };
        format!("{sizes} --level {level}{low} --seed {seed}")
    }

    /// Trains by these arguments.
    pub(super) fn train(self, options: &Options, arguments: &str) -> Result<Figures> {
        match self {
            Self::Images => {
                let mut args = digits::args::Args::try_parse_from(arguments.split(' '))?;
                args.data.clone_from(&options.data);
                let mut runs = Vec::new();
                digits::session::run(&args, &mut runs)?;
                let run = runs.pop().ok_or("one run was asked for")?;
                let (figure, seconds) = (100.0 * run.accuracy(), run.seconds);
                Ok(Figures { figure, outcomes: run.outcomes, seconds })
            }
            Self::Text => {
                let mut runs = Vec::new();
                gpt::session::run(
                    &gpt::args::Args::try_parse_from(arguments.split(' '))?,
                    &mut runs,
                )?;
                let run = runs.pop().ok_or("one run was asked for")?;
                let (figure, seconds) = (run.validation(), run.seconds);
                Ok(Figures { figure, outcomes: run.outcomes, seconds })
            }
        }
    }
}
