//! Figures of a run, and the lines that are printed of them, as `main_amp` prints them.

use crate::meter::{Average, Hits};
use binade_example_shared::program::curve::{self, Point};
use binade_example_shared::program::table::{scales, wrap};
use binade_example_shared::program::{Outcomes, Steps};
use std::fmt;

/// One run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Model, level and low type, such as `resnet18 O1 f16`.
    pub name: String,
    /// Losses after each epoch since the run was resumed.
    pub curve: Vec<Point>,
    /// Outcomes of the steps.
    pub outcomes: Outcomes,
    /// Validation after the last epoch.
    pub last: Validation,
    /// Percentage of the best validation so far, by its largest logits.
    pub best: f64,
    /// Images trained on since the run was resumed.
    pub images: f64,
    /// Seconds that these took.
    pub seconds: f64,
}

/// Figures of a validation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Validation {
    /// Mean loss.
    pub loss: f64,
    /// Percentage of images whose label has the largest logit.
    pub top1: f64,
    /// Percentage of images whose label has one of the five largest logits.
    pub top5: f64,
}

impl fmt::Display for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { loss, top1, top5 } = self;
        write!(f, " * Prec@1 {top1:.3} Prec@5 {top5:.3}  Loss {loss:.4}")
    }
}

/// Figures of an epoch so far: the last ones, and averages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    seconds: Average,
    pub(crate) loss: Average,
    top1: Average,
    top5: Average,
}

impl Meter {
    /// Adds as many steps, their mean loss and seconds a step, and the hits of the last of them.
    pub(crate) fn add(&mut self, steps: f64, loss: f64, seconds: f64, hits: Hits) {
        let [top1, top5] = hits.percent();
        self.loss.add(loss, steps);
        self.seconds.add(seconds, steps);
        self.top1.add(top1, hits.images);
        self.top5.add(top5, hits.images);
    }

    /// Returns the line of a step: epoch, step, and steps of the epoch; its `batch` images; the scale and the steps skipped so far.
    pub(crate) fn line(
        &self,
        [epoch, step, len]: [u64; 3],
        batch: f64,
        outcomes: &Outcomes,
    ) -> String {
        let Self { seconds, loss, top1, top5 } = self;
        let [speed, mean_speed] = [batch / seconds.last, batch / seconds.mean()];
        let skipped = outcomes.steps.skipped;
        let scale = scales(&outcomes.scales[outcomes.scales.len().saturating_sub(1)..]);
        format!(
            "Epoch: [{epoch}][{step}/{len}]  Time {:.3} ({:.3})  Speed {speed:.1} ({mean_speed:.1})  Loss {:.4} ({:.4})  \
             Prec@1 {:.2} ({:.2})  Prec@5 {:.2} ({:.2})  Scale {scale}  Skipped {skipped}",
            seconds.last,
            seconds.mean(),
            loss.last,
            loss.mean(),
            top1.last,
            top1.mean(),
            top5.last,
            top5.mean(),
        )
    }
}

impl fmt::Display for Run {
    /// Writes the run's steps, scale, speed and curve, its first skip and its divergence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, curve, outcomes, best, images, seconds, .. } = self;
        let Steps { applied, skipped, .. } = outcomes.steps;
        let scale = scales(&outcomes.scales);
        let bars = |of: fn(&Point) -> f32| curve::bars(curve.iter().map(of));
        let trained = format!(
            "{:.1} images/s, {seconds:.1} s of training; loss {}, of validation {}; ",
            images / seconds,
            bars(|it| it.train),
            bars(|it| it.validation),
        );
        // A validation alone has trained nothing.
        let trained = if curve.is_empty() { "" } else { &trained };
        let told = format!(
            "{name}: {applied} steps applied, {skipped} skipped, scale {scale}; {trained}best Prec@1 {best:.3}"
        );
        write!(f, "{}", wrap(&told))?;
        let skip = outcomes.first_skip.as_ref().map(|report| format!("first skip: {report}."));
        let end = outcomes.diverged.as_ref().map(|report| format!("diverged: {report}."));
        skip.into_iter().chain(end).try_for_each(|told| write!(f, "\n{}", wrap(&told)))
    }
}
