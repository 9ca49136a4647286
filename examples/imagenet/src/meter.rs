//! Averages of losses, accuracies and times.

/// Last value, and the average of all by their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Average {
    /// Value that was added last.
    pub last: f64,
    sum: f64,
    weight: f64,
}

impl Average {
    /// Adds a value with a weight, such as the number of images that it is the mean of.
    pub fn add(&mut self, value: f64, weight: f64) {
        self.last = value;
        self.sum += value * weight;
        self.weight += weight;
    }

    /// Returns the average; NaN of nothing.
    pub fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

/// Counts of images, and of those whose label is among the largest logits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hits {
    /// Images whose label has the largest logit.
    pub top1: f64,
    /// Images whose label has one of the five largest logits.
    pub top5: f64,
    /// Images.
    pub images: f64,
}

impl Hits {
    /// Counts rows of `classes` logits, each with the label of its image. A row with a NaN has no hit; of equal logits the first is the
    /// larger.
    pub fn of(logits: &[f32], labels: &[i64], classes: usize) -> Self {
        let mut hits = Self::default();
        for (row, label) in logits.chunks_exact(classes).zip(labels) {
            let place = usize::try_from(*label).ok().and_then(|label| place(row, label));
            hits.top1 += f64::from(place.is_some_and(|place| place < 1));
            hits.top5 += f64::from(place.is_some_and(|place| place < 5));
            hits.images += 1.0;
        }
        hits
    }

    /// Returns the percentages of both hits.
    pub fn percent(&self) -> [f64; 2] {
        [self.top1, self.top5].map(|hits| 100.0 * hits / self.images)
    }
}

/// Returns the number of logits of a row that are larger than the label's; `None` if one is NaN or the label has none.
fn place(row: &[f32], label: usize) -> Option<usize> {
    let own = row.get(label)?;
    let is_larger = |(class, logit): (usize, &f32)| logit > own || (logit == own && class < label);
    let larger = row.iter().enumerate().filter(|it| is_larger(*it)).count();
    (!row.iter().any(|logit| logit.is_nan())).then_some(larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_hits_by_its_place_and_never_beside_a_nan() {
        let row = [0.5, 3.0, 1.0, 2.5, 2.0, 1.5, 0.0];
        let hits = |row: &[f32], label| {
            let Hits { top1, top5, images } = Hits::of(row, &[label], row.len());
            [top1, top5, images]
        };
        assert_eq!(hits(&row, 1), [1.0, 1.0, 1.0]);
        assert_eq!(hits(&row, 2), [0.0, 1.0, 1.0]);
        assert_eq!(hits(&row, 0), [0.0, 0.0, 1.0]);
        assert_eq!(hits(&[0.0; 7], 1), [0.0, 1.0, 1.0], "of equal logits one is the largest");
        assert_eq!(hits(&[0.0; 7], 6), [0.0, 0.0, 1.0]);
        assert_eq!(hits(&[f32::NAN, 1.0], 1), [0.0, 0.0, 1.0]);
        assert_eq!(hits(&[1.0, f32::NAN], 1), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn an_average_weighs_its_values() {
        let mut average = Average::default();
        assert!(average.mean().is_nan());
        average.add(2.0, 3.0);
        average.add(6.0, 1.0);
        assert_eq!((average.last, average.mean()), (6.0, 3.0));
        assert_eq!(Hits { top1: 1.0, top5: 3.0, images: 4.0 }.percent(), [25.0, 75.0]);
    }
}
