//! Checkpoints by rank: each rank writes its slices to its own file, and the first rank writes a manifest, which is renamed last.

use crate::file::{self, folder, in_file, in_format, neither, previous};
use crate::format::{self, Contents, stated};
use crate::index::Own;
use crate::manifest::{self, RankFile};
use crate::part::Part;
use crate::slices::{self, Reader};
use crate::{Checkpoint, FileError, Loaded, RestoreError, SaveError};
use binade_core::Handle;
use binade_ranks::{Group, Partition, Ranks, RanksError};
use std::fs;
use std::path::Path;

type Failed<D> = RanksError<<D as Handle>::Error>;

/// Result on all ranks. The inner error is one of files, after which the ranks can continue together.
type Met<T, D> = Result<Result<T, FileError>, Failed<D>>;

impl Checkpoint {
    /// Writes this rank's slices to a file beside `path`. Together with the files of the other ranks it becomes the checkpoint at `path`. The old
    /// checkpoint is kept as `NAME.previous`, with its files. Every rank makes this call, with a path on a shared file system.
    ///
    /// Each byte is written once: a slice by the rank that owns it, and state common to all ranks by the first. Ranks exchange only names and
    /// checksums. A device made by [`Ranks::with_saved_slices`] also gathers nothing while it saves.
    ///
    /// If processes or machines stop at any time, the last checkpoint or the previous one is whole: rank 0 puts the manifest at `path` once every
    /// rank has synced its file to disk. Then it removes files of older checkpoints and of unfinished ones.
    ///
    /// # Errors
    ///
    /// Returns an error on every rank if a file cannot be written. The earlier checkpoints are then whole, and ranks may continue. Also returns an
    /// error if ranks differ in metadata strings, configurations or custom tensors, or if a rank does not make the call.
    pub fn write_by_rank<D: Handle, G: Group>(
        &self,
        rank: &Ranks<D, G>,
        path: &Path,
    ) -> Result<(), SaveError<Failed<D>>> {
        let place = (rank.group().rank(), rank.group().ranks());
        let part = in_format(path, Part::of(self, rank));
        let name = path.file_name().unwrap_or_default().display();
        let contents = part.as_ref().map_or_else(ToString::to_string, Part::contents);
        let own = part.and_then(|part| Ok((part, step(path, place.0)?)));
        let met = joint(rank, format!("`{name}`, {contents}"), own);
        let (part, steps) = met.map_err(SaveError::Device)??;

        let step = steps.first().and_then(|step| step.parse().ok()).unwrap_or_default();
        let file = folder(path).join(manifest::file_name(path, step, place));
        let own = part.write(&file, place).map(|written| ((), written.to_text()));
        let is_written = own.is_ok();
        let met = joint(rank, format!("files of step {step}"), own).map_err(SaveError::Device)?;
        if is_written && met.is_err() {
            // No manifest will name this file, as every rank knows. If it stays, the next checkpoint removes it.
            let _ = file::remove(&file);
        }
        let ((), files) = met?;

        let files = files.iter().map(|file| RankFile::of_text(file)).collect();
        let own = if place.0 == 0 { part.place(path, files) } else { Ok(()) };
        let own = own.map(|()| ((), String::new()));
        let met = joint(rank, format!("manifest of step {step}"), own);
        met.map_err(SaveError::Device)?.map(drop).map_err(SaveError::File)
    }

    /// Reads the checkpoint at `path`, or the previous one if that is not whole. Every rank makes this call, and all read the same checkpoint. Any
    /// number of ranks can read what any number wrote, by rank or whole.
    ///
    /// With [`Partition::Slices`] a rank reads only its own slices of a checkpoint by rank. Each rank verifies the checksums of a part of the files.
    ///
    /// # Errors
    ///
    /// Returns the error of the last checkpoint, on this rank or another, if there is none or if neither is whole. Also returns an error if a rank
    /// does not make the call.
    pub fn read_by_rank<D: Handle, G: Group>(
        rank: &Ranks<D, G>,
        path: &Path,
    ) -> Result<Loaded, RestoreError<Failed<D>>> {
        let why = match read(rank, path).map_err(RestoreError::Device)? {
            Ok(checkpoint) => return Ok(Loaded::Last(checkpoint)),
            Err(why) => why,
        };
        match read(rank, &previous(path)).map_err(RestoreError::Device)? {
            Ok(checkpoint) => Ok(Loaded::Previous { checkpoint, why }),
            Err(error) => Err(neither(path, why, &error).into()),
        }
    }
}

/// Returns the step number of the next checkpoint, which rank 0 chooses.
fn step(path: &Path, rank: usize) -> Result<String, FileError> {
    if rank > 0 {
        return Ok(String::new());
    }
    // Another program's file is refused before anything is written.
    in_file("replace", path, file::is_kept(path))?;
    manifest::next_step(path).map(|step| step.to_string())
}

/// Reads the checkpoint at `path`, never the previous one. An error of any rank is an error on all.
fn read<D: Handle, G: Group>(rank: &Ranks<D, G>, path: &Path) -> Met<Checkpoint, D> {
    let (own, ranks) = (rank.group().rank(), rank.group().ranks());
    let slice = |name: &str, elements: usize| rank.own_slice(name, elements);
    let is_sliced = rank.partition() == Partition::Slices && ranks > 1;
    let slice = is_sliced.then_some(&slice as &Own<'_>);
    let open = || {
        let bytes = in_file("read", path, fs::read(path))?;
        let sum = in_format(path, stated(&bytes))?;
        let checkpoint = match in_format(path, format::read(&bytes))? {
            Contents::Whole(checkpoint) => checkpoint,
            Contents::Manifest(manifest) => {
                slices::read(path, manifest, &Reader { rank: own, ranks, own: slice })?
            }
        };
        Ok((checkpoint, sum))
    };
    let name = path.file_name().unwrap_or_default().display();
    Ok(joint(rank, format!("`{name}`"), open())?.and_then(|(checkpoint, sums)| {
        match sums.iter().position(|sum| *sum != sums[0]) {
            None => Ok(checkpoint),
            Some(other) => {
                let why = format!(
                    "{} has the checksum {} and not {} as on rank 0: give all ranks one file",
                    path.display(),
                    sums[other],
                    sums[0]
                );
                Err(FileError::Rank { rank: other, why })
            }
        }
    }))
}

/// Meets the other ranks after a part of the work, and returns each rank's text. A failure of any rank is an error on all.
fn joint<D: Handle, G: Group, T>(
    rank: &Ranks<D, G>,
    setting: String,
    own: Result<(T, String), FileError>,
) -> Met<(T, Vec<String>), D> {
    let text = match &own {
        Ok((_, text)) => format!("{DONE}{text}"),
        Err(error) => error.to_string(),
    };
    let all = rank.gather(setting, text.as_bytes());
    let (own, all) = match (own, all) {
        // This rank's own error says more than an error between ranks.
        (Err(error), _) => return Ok(Err(error)),
        (Ok((own, _)), all) => (own, all?),
    };
    let texts = all.into_iter().enumerate().map(|(rank, text)| {
        let text = String::from_utf8_lossy(&text).into_owned();
        let done = text.strip_prefix(DONE).map(str::to_owned);
        done.ok_or(FileError::Rank { rank, why: text })
    });
    Ok(texts.collect::<Result<_, _>>().map(|texts| (own, texts)))
}

/// First character of the text of a rank that did not fail.
const DONE: char = '+';
