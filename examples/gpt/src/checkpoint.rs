//! Checkpoints of a run.

use crate::Result;
use crate::args::Args;
use crate::trainer::Trainer;
use binade_checkpoint::{Checkpoint, Draft};
use binade_example_shared::program::Trains;
use std::path::Path;

impl<D: Trains> Trainer<'_, D> {
    /// Saves the run after its last step.
    pub(crate) fn save(&self, file: &Path) -> Result<()> {
        let step = self.last.as_ref().ok_or("--save: no step has been taken yet")?;
        let draft = Draft::after(step).scaler("loss", &self.amp.scaler)?;
        let draft = draft.optimizer("gpt", &self.amp.optimizer)?.word("run", self.identity());
        let written = draft.word("step", self.taken()).finish()?.write(file);
        written.map_err(|error| format!("--save {}: {error}", file.display()).into())
    }

    /// Resumes the run that was saved in `file`.
    pub(crate) fn resume(&mut self, file: &Path) -> Result<()> {
        self.restore(file).map_err(|why| format!("--resume {}: {why}", file.display()).into())
    }

    fn restore(&mut self, file: &Path) -> Result<()> {
        let (saved, here) = (Checkpoint::read(file)?, self.identity());
        let word = |name| saved.words.get(name).ok_or_else(|| format!("it has no word `{name}`"));
        let (there, step) = (word("run")?, word("step")?.parse::<u32>()?);
        if *there != here {
            return Err(format!("it is of a run of `{there}`, and this is one of `{here}`").into());
        }
        if step >= self.args.steps {
            return Err(format!(
                "it has taken {step} steps; take more than --steps {}",
                self.args.steps
            )
            .into());
        }
        let mut restore = saved.restore();
        restore.scaler("loss", &mut self.amp.scaler)?;
        restore.optimizer("gpt", &mut self.amp.optimizer)?;
        restore.finish()?;
        self.run.outcomes.steps.attempted = step.into();
        self.run.outcomes.scales = vec![self.amp.scaler.state()?.factor()];
        Ok(())
    }

    /// Returns the arguments that a resumed run shares with the saved one. Another number of steps is another schedule from here on.
    fn identity(&self) -> String {
        let Args { layers, heads, width, context, batch, accumulate, lr, .. } = self.args;
        let Args { dropout, clip_norm, seed, .. } = self.args;
        let (name, characters) =
            (&self.run.name, self.text.train.len() + self.text.validation.len());
        format!(
            "{name} on {characters} characters, --layers {layers} --heads {heads} --width {width} --context {context} \
             --batch {batch} --accumulate {accumulate} --lr {lr} --dropout {dropout} --clip-norm {clip_norm} --seed {seed}"
        )
    }
}
