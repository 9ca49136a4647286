//! Statistics over seeds.

use super::run::{Run, name};
use crate::training::Setting;

/// Figures of one setting, a seed each, in the order of seeds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    /// Level and low type.
    pub(super) name: String,
    /// Seeds and figures; NaN where a figure is not finite.
    pub(super) figures: Vec<(u32, f64)>,
    /// Steps skipped, of all seeds.
    pub(super) skipped: u64,
    /// Steps begun, of all seeds.
    pub(super) steps: u64,
    /// Number of runs that diverged.
    pub(super) diverged: usize,
}

impl Level {
    /// Returns the level of a setting; `None` where `runs` has none of it.
    pub(super) fn of(setting: Setting, runs: &[&Run]) -> Option<Self> {
        let name = name(setting);
        let mut own: Vec<_> = runs.iter().filter(|run| run.setting == name).collect();
        own.sort_by_key(|run| run.seed);
        (!own.is_empty()).then(|| Self {
            name,
            figures: own.iter().map(|run| (run.seed, run.value())).collect(),
            skipped: own.iter().map(|run| run.skipped).sum(),
            steps: own.iter().map(|run| run.steps).sum(),
            diverged: own.iter().filter(|run| run.diverged.is_some()).count(),
        })
    }

    /// Returns the mean over seeds; NaN where one figure is.
    pub(super) fn mean(&self) -> f64 {
        mean(&self.values())
    }

    /// Returns the standard deviation of a sample: the sum of squares over one less than the seeds. NaN of one seed.
    pub(super) fn deviation(&self) -> f64 {
        let (values, mean) = (self.values(), self.mean());
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (count(values.len()) - 1.0)).sqrt()
    }

    /// Returns the differences from another level, seed by seed, of seeds that both have.
    pub(super) fn gaps(&self, other: &Self) -> Vec<f64> {
        let same = |seed| other.figures.iter().find(|(it, _)| *it == seed);
        let gap = |(seed, figure): &(u32, f64)| Some(figure - same(*seed)?.1);
        self.figures.iter().filter_map(gap).collect()
    }

    fn values(&self) -> Vec<f64> {
        self.figures.iter().map(|(_, figure)| *figure).collect()
    }
}

/// Returns the mean; NaN of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

#[expect(clippy::cast_precision_loss, reason = "a few seeds")]
fn count(of: usize) -> f64 {
    of as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(figures: &[f64]) -> Level {
        let (figures, name) = ((0..).zip(figures.iter().copied()).collect(), "O1 f16".into());
        Level { name, figures, skipped: 0, steps: 0, diverged: 0 }
    }

    #[test]
    fn the_deviation_is_of_a_sample_and_gaps_are_seed_by_seed() {
        let (first, other) = (level(&[1.0, 2.0, 6.0]), level(&[1.5, 1.0]));
        assert_eq!((first.mean(), first.deviation()), (3.0, 7.0_f64.sqrt()));
        assert_eq!(other.gaps(&first), [0.5, -1.0]);
    }

    #[test]
    fn a_figure_that_is_not_finite_makes_the_mean_no_number() {
        let level = level(&[1.0, f64::NAN]);
        assert!(level.mean().is_nan() && level.deviation().is_nan());
    }
}
