//! `cargo xtask ptx`: the PTX interpreter under the name of the CUDA driver, in a folder of its own, and in another one under
//! the names of cuBLASLt and cuDNN as well.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use crate::{
    Result,
    ci::Outcome,
    shell::{Call, root},
};

/// What the loader looks for. Not `libcuda.so`, and in none of the folders that cargo puts on library paths, where it would
/// stand before a real driver.
const DRIVER: &str = "libcuda.so.1";

/// What cudarc looks for first, so that no real one comes before it. The same file as the driver: the loader then takes all
/// for one library, which knows of the driver's memory.
const LIBRARIES: [&str; 2] = ["libcublasLt.so", "libcudnn.so"];

/// The skip of a stage that needs the stand-in, where no loader would find it.
pub(crate) fn lacking() -> Option<Outcome> {
    let reason = "the stand-in for the driver is found by Linux's loader alone";
    (!cfg!(target_os = "linux")).then(|| Outcome::Skipped(reason.into()))
}

#[derive(clap::Args)]
pub(crate) struct Ptx {
    /// With stand-ins for cuBLASLt and cuDNN beside the driver's.
    #[arg(long)]
    libraries: bool,
}

impl Ptx {
    pub(crate) fn run(&self) -> Result<()> {
        println!("{}", folder(self.libraries)?.display());
        Ok(())
    }
}

/// Builds the driver, with the libraries beside it or without, and returns the folder.
pub(crate) fn folder(libraries: bool) -> Result<PathBuf> {
    let call = Call::cargo("build --quiet --package binade-ptx --message-format json");
    let built = library(&call.read()?).ok_or("binade-ptx has no shared library")?;
    if libraries { with_libraries(&built) } else { driver(&built) }
}

/// The library of this file as the driver, in a folder of its own, which is returned.
pub(crate) fn driver(built: &Path) -> Result<PathBuf> {
    placed(built, "ptx", &[DRIVER])
}

/// The same, in a folder with the libraries that are simulated too.
pub(crate) fn with_libraries(built: &Path) -> Result<PathBuf> {
    placed(built, "ptx-libraries", &[DRIVER, LIBRARIES[0], LIBRARIES[1]])
}

/// Stages that run side by side place the same files.
static PLACING: Mutex<()> = Mutex::new(());

/// One file under all of `names`, in a folder of the target folder.
fn placed(built: &Path, folder: &str, names: &[&str]) -> Result<PathBuf> {
    let _turn = PLACING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = root().join("target").join(folder);
    fs::create_dir_all(&folder)?;
    // Under another name first, so that a process that is starting never loads half a library.
    let new = folder.join("new");
    fs::copy(built, &new)?;
    for name in names {
        let link = folder.join(format!("{name}.new"));
        if link.exists() {
            fs::remove_file(&link)?;
        }
        fs::hard_link(&new, &link)?;
        fs::rename(link, folder.join(name))?;
    }
    fs::remove_file(new)?;
    Ok(folder)
}

/// The shared library among the files that cargo's messages name, one JSON object a line.
pub(crate) fn library(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let files = messages.filter_map(|message| message.get("filenames")?.as_array().cloned());
    let paths = files.flatten().filter_map(|file| file.as_str().map(PathBuf::from));
    let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| name == "libbinade_ptx.so");
    paths.into_iter().find(is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_among_the_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","filenames":["t/debug/libhalf.rlib"]}"#,
            "\n",
            r#"{"reason":"compiler-artifact","filenames":["t/debug/libbinade_ptx.rlib","t/debug/libbinade_ptx.so"]}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(library(messages), Some(PathBuf::from("t/debug/libbinade_ptx.so")));
        assert_eq!(library("not json"), None);
    }
}
