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
    shell::{Call, root},
};

/// The driver's name for the loader, then those of the libraries, of which cudarc looks for these first. One file for all: the loader
/// then takes them for one library, which knows of the driver's memory. Not `libcuda.so`, and in none of the folders that cargo puts
/// on library paths, where it would stand before a real driver.
const NAMES: [&str; 3] = ["libcuda.so.1", "libcublasLt.so", "libcudnn.so"];

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
    place(&built)?;
    Ok(placed(libraries))
}

/// Where the driver lies, with the libraries beside it or without, once it is placed.
pub(crate) fn placed(libraries: bool) -> PathBuf {
    root().join("target").join(if libraries { "ptx-libraries" } else { "ptx" })
}

/// Stages that run side by side place the same files.
static PLACING: Mutex<()> = Mutex::new(());

/// Puts the library of this file into both folders.
pub(crate) fn place(built: &Path) -> Result<()> {
    let _turn = PLACING.lock().unwrap_or_else(PoisonError::into_inner);
    for (folder, names) in [(placed(false), &NAMES[..1]), (placed(true), &NAMES)] {
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
    }
    Ok(())
}

/// The shared library among the files that cargo's messages name, one JSON object a line.
pub(crate) fn library(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let files = messages.filter_map(|message| message.get("filenames")?.as_array().cloned());
    let mut paths = files.flatten().filter_map(|file| file.as_str().map(PathBuf::from));
    paths.find(|path| path.file_name().is_some_and(|name| name == "libbinade_ptx.so"))
}
