//! Uploads of a batch: before the work of a step, and beside it.

use super::{
    Bench, Result,
    clock::Clock,
    data,
    row::{Kind, What},
    work::Turns,
};
use binade_core::DType;

/// Number of passes over a tensor of the batch's size that stand for a step's work: they take about as long as the upload.
const PASSES: usize = 64;

impl Bench {
    /// Measures a step's work behind an upload of 64 MiB, and beside one.
    pub(super) fn uploads(&mut self, clock: &Clock) -> Result<()> {
        let elements = self.size(1 << 24, 1 << 10);
        if !self.measures("upload") || !self.fits("uploads", 8 * 4 * elements)? {
            return Ok(());
        }
        let (cuda, batch) = (self.cuda.clone(), 0.5_f32.to_le_bytes().repeat(elements));
        let curtain = data::noise(&cuda, elements)?;
        let work = || (0..PASSES).try_for_each(|_| cuda.duplicate(&curtain).map(drop));
        let what = |name| {
            let of = (DType::F32, elements, 1);
            What::moving("upload", name, Kind::Computed, of, [batch.len(), 0])
        };
        let before = |(): &mut ()| {
            let tensor = cuda.from_bits(&batch, DType::F32, &[elements])?;
            work()?;
            Ok(tensor)
        };
        self.time(clock, &mut Turns::new(what("before the work"), vec![()], before))?;
        let beside = |(): &mut ()| {
            let next = cuda.prefetch_bits(&batch, DType::F32, &[elements])?;
            work()?;
            Ok(next.tensor()?)
        };
        self.time(clock, &mut Turns::new(what("beside the work"), vec![()], beside))?;
        self.never_waited("upload")
    }
}
