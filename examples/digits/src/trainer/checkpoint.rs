//! Saving and resuming of a run.

use super::{Result, Trainer};
use crate::book::Book;
use crate::config;
use crate::data::Images;
use crate::place::Place;
use crate::train::{TrainError, Trains};
use binade::core::{DType, RawTensor};
use binade_checkpoint::{Checkpoint, Draft, Loaded, Mismatch, RestoreError, SaveError, previous};
use clap::ValueEnum;
use flate2::Crc;
use indicatif::ProgressBar;

impl<D: Trains> Trainer<'_, D> {
    /// Returns true if a checkpoint is due after the current step. `ends` is true for the last step of an epoch.
    pub(super) fn is_due(&self, ends: bool) -> bool {
        let every = self.args.checkpoint_every;
        let by_count = every.is_some_and(|every| self.book.attempted().is_multiple_of(every));
        self.args.checkpoint.is_some() && (ends || by_count)
    }

    /// Saves the run, if the command line says so.
    pub(super) fn save(&mut self, images: &Images) -> Result<(), D> {
        let Some(path) = &self.args.checkpoint else { return Ok(()) };
        let draft = self.last.as_ref().map_or_else(Draft::fresh, Draft::after);
        let draft =
            draft.scaler("loss", &self.amp.scaler)?.optimizer("model", &self.amp.optimizer)?;
        let book = serde_json::to_string(&self.book)
            .map_err(|error| RestoreError::from(unreadable("book", &error)))?;
        let mut draft = draft.word("place", self.place.written()).word("book", book);
        for (name, word) in self.shape(images) {
            draft = draft.word(name, word);
        }
        for (name, seen) in self.net.statistics() {
            let values = self.device.download(seen)?;
            let form = binade::core::TensorSpec::new(DType::F32, [values.len()]);
            let raw = RawTensor::from_f32(form, &values);
            draft = raw.into_iter().fold(draft, |draft, raw| draft.tensor(&name, raw));
        }
        draft.finish().map_err(SaveError::from)?.write(path).map_err(TrainError::Write)
    }

    /// Resumes from the file, if the command line says so.
    pub(crate) fn resume(&mut self, images: &Images, bar: &ProgressBar) -> Result<(), D> {
        let Some(path) = self.args.checkpoint.as_ref().filter(|_| self.args.resume) else {
            return Ok(());
        };
        let (checkpoint, from) =
            match Checkpoint::read_or_previous(path).map_err(TrainError::Read)? {
                Loaded::Last(checkpoint) => (checkpoint, path.display().to_string()),
                Loaded::Previous { checkpoint, why } => {
                    (checkpoint, format!("{}, since {why}", previous(path).display()))
                }
            };
        let checkpoint = &checkpoint;
        for (name, word) in self.shape(images) {
            checkpoint.check_word(name, &word).map_err(RestoreError::from)?;
        }
        let place = self.place_in(checkpoint, images).map_err(RestoreError::from)?;
        let word = checkpoint.word("book").unwrap_or_default();
        let book = serde_json::from_str(word)
            .map_err(|error| RestoreError::from(unreadable("book", &error)))?;
        let seen = self.seen(checkpoint)?;
        let mut restore = checkpoint.restore();
        restore.scaler("loss", &mut self.amp.scaler)?;
        restore.optimizer("model", &mut self.amp.optimizer)?;
        restore.finish()?;
        self.net.statistics().zip(seen).for_each(|((_, now), seen)| *now = seen);
        self.go_on(&from, place, book, images, bar);
        Ok(())
    }

    fn go_on(&mut self, from: &str, place: Place, book: Book, images: &Images, bar: &ProgressBar) {
        let batches = config::batches(self.args, images.len());
        let windows = place.windows * self.args.accumulate as usize;
        bar.set_position((place.epochs as usize * batches + windows) as u64);
        let step = book.attempted();
        self.resumed = Some(format!("was resumed after step {step} from {from}"));
        (self.place, self.book) = (place, book);
    }

    /// Returns the position of the saved run, which must not be beyond this one's end.
    fn place_in(
        &self,
        checkpoint: &Checkpoint,
        images: &Images,
    ) -> std::result::Result<Place, Mismatch> {
        let words = checkpoint.word("place").unwrap_or_default();
        let place = Place::read(words).ok_or_else(|| unreadable("place", &words))?;
        let (over, asked) = (place.epochs, self.args.epochs);
        let begun = over + u32::from(place.windows > 0);
        if begun > asked {
            let (found, expected) = (format!("{over} over"), format!("{asked} or fewer"));
            return Err(Mismatch::Differs { what: "--epochs".into(), found, expected });
        }
        let windows =
            config::batches(self.args, images.len()).div_ceil(self.args.accumulate as usize);
        if place.windows >= windows {
            return Err(unreadable("place", &words));
        }
        Ok(place)
    }

    /// Uploads the saved run's statistics of normalisations.
    fn seen(&mut self, checkpoint: &Checkpoint) -> Result<Vec<D::Tensor>, D> {
        let device = self.device;
        let one = |(name, now): (String, &mut D::Tensor)| {
            let raw = checkpoint.tensor(&name).and_then(RawTensor::to_f32).unwrap_or_default();
            let shape = device.shape(now);
            Ok(device.upload(&raw, &shape, DType::F32)?)
        };
        self.net.statistics().map(one).collect()
    }

    /// Returns the arguments that shape a run, and its data: a resumed run must have the same.
    fn shape(&self, images: &Images) -> [(&'static str, String); 10] {
        let args = self.args;
        let (level, dtype) = self.setting;
        let named = |value: Option<clap::builder::PossibleValue>| {
            value.map_or_else(String::new, |value| value.get_name().to_owned())
        };
        [
            ("--level", level.to_string()),
            ("--dtype", dtype.to_string()),
            ("--model", named(args.model.to_possible_value())),
            ("--optimizer", named(args.optimizer.to_possible_value())),
            ("--data", summed(images)),
            ("--batch", args.batch.to_string()),
            ("--accumulate", args.accumulate.to_string()),
            ("--seed", args.seed.to_string()),
            ("--lr", config::rule(args).lr().to_string()),
            ("--clip-norm", args.clip_norm.map_or_else(|| "none".into(), |norm| norm.to_string())),
        ]
    }
}

fn unreadable(what: &str, why: &dyn std::fmt::Display) -> Mismatch {
    Mismatch::Invalid { what: format!("the run's {what}"), why: why.to_string() }
}

/// Returns a checksum of the training images: another folder may hold the same ones.
fn summed(images: &Images) -> String {
    let mut crc = Crc::new();
    images.pixels.iter().for_each(|pixel| crc.update(&pixel.to_le_bytes()));
    images.labels.iter().for_each(|label| crc.update(&label.to_le_bytes()));
    format!("{} images of crc32 {:08x}", images.len(), crc.sum())
}
