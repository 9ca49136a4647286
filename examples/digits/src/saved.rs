//! Checkpoints of a run between epochs, of which each rank writes its slices.

use crate::Result;
use crate::model::Trains;
use crate::trainer::Trainer;
use binade_checkpoint::{Checkpoint, Draft, FileError, Loaded, RestoreError};
use binade_cpu::Cpu;
use binade_ranks::{Group, Ranks};
use fastrand::Rng;
use std::path::Path;

/// Calls by which all ranks together write a checkpoint and read one.
pub(crate) struct Files<D> {
    write: fn(&D, &Checkpoint, &Path) -> Result<()>,
    read: fn(&D, &Path) -> Result<Option<Checkpoint>>,
}

impl<G: Group> Files<Ranks<Cpu, G>> {
    /// Returns the calls of ranks.
    pub(crate) fn by_rank() -> Self {
        let write =
            |rank: &_, checkpoint: &Checkpoint, path: &_| Ok(checkpoint.write_by_rank(rank, path)?);
        let read = |rank: &_, path: &_| match Checkpoint::read_by_rank(rank, path) {
            Ok(Loaded::Last(checkpoint)) => Ok(Some(checkpoint)),
            Ok(Loaded::Previous { checkpoint, why }) => {
                eprintln!("an epoch is lost: {why}");
                Ok(Some(checkpoint))
            }
            Err(RestoreError::File(FileError::None { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        };
        Self { write, read }
    }
}

impl<D: Trains> Trainer<'_, D> {
    /// Writes a checkpoint after so many epochs, where the command line asks for it.
    pub(crate) fn save(&self, epochs: u32) -> Result<()> {
        let (Some(path), Some(files), Some(last)) =
            (&self.args.checkpoint_by_rank, &self.files, &self.last)
        else {
            return Ok(());
        };
        let draft = Draft::after(last).scaler("loss", &self.amp.scaler)?;
        let draft = draft.optimizer("model", &self.amp.optimizer)?.word("epochs", epochs);
        let draft = draft.word("attempted", self.run.outcomes.steps.attempted);
        let draft = draft.blob("order", self.order.get_seed().to_le_bytes());
        let running = self.net.running(self.device)?.into_iter();
        let draft = running.fold(draft, |draft, (name, raw)| draft.tensor(&name, raw));
        (files.write)(self.device, &draft.finish()?, path)
    }

    /// Goes on from a checkpoint where the command line names one that is there, and returns the number of epochs that are done.
    pub(crate) fn resume(&mut self) -> Result<u32> {
        let (Some(path), Some(files)) = (&self.args.checkpoint_by_rank, &self.files) else {
            return Ok(0);
        };
        let Some(checkpoint) = (files.read)(self.device, path)? else { return Ok(0) };
        let word =
            |name| checkpoint.words.get(name).ok_or(format!("{}: no {name}", path.display()));
        let (epochs, attempted) = (word("epochs")?.parse()?, word("attempted")?.parse()?);
        let seed = checkpoint.blobs.get("order").and_then(|seed| seed.as_slice().try_into().ok());
        let seed = seed.ok_or(format!("{}: no order of images", path.display()))?;
        let mut restore = checkpoint.restore();
        restore.scaler("loss", &mut self.amp.scaler)?;
        restore.optimizer("model", &mut self.amp.optimizer)?;
        restore.finish()?;
        self.net.set_running(self.device, &checkpoint.tensors)?;
        self.order = Rng::with_seed(u64::from_le_bytes(seed));
        self.run.outcomes.steps.attempted = attempted;
        Ok(epochs)
    }
}
