//! `cargo xtask kernels --install`: the pinned toolchain from PyPI, in a folder of its own, with no rights but the user's.

use std::{fs, path::Path, process::Command};

use crate::{
    Result,
    kernels::toolkit::{PINNED, Toolkit, bin, folder, host_compiler},
    shell::{heard, on_path},
};

/// The meta package pins its parts, which pin nothing of each other; the parts are what `nvcc -ptx` and ptxas need.
const PACKAGES: &str = "cuda-toolkit[nvcc,crt,nvvm,cudart,cccl]==13.0.2";

/// Written first, and again with the packages when all is done.
const STAMP: &str = "binade-toolchain.txt";

/// What a folder holds.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Nothing, or it does not exist.
    Empty,
    /// What an installation left that did not end, or that had other packages.
    Half,
    /// What somebody else made.
    Foreign,
    /// These packages.
    Done,
}

/// Installs the toolchain where none is found, here or elsewhere on the machine.
pub(crate) fn install_where_missing() -> Result<()> {
    if Toolkit::find().is_ok() { Ok(()) } else { install() }
}

/// Installs the toolchain unless it is in the folder. The error says what is missing.
pub(super) fn install() -> Result<()> {
    let folder = folder();
    let shown = folder.display();
    host_compiler()?;
    match state(&folder)? {
        State::Done => println!("CUDA {PINNED} is there: {shown}"),
        State::Foreign => {
            let bin = bin(&folder).ok_or(format!("{shown} holds something else: remove it"))?;
            Toolkit::judged(&shown.to_string(), bin)
                .map_err(|error| format!("{error}, once {shown} is removed"))?;
            println!("CUDA {PINNED} is there, not made by this command: {shown}");
        }
        State::Half => {
            fs::remove_dir_all(&folder)?;
            make(&folder)?;
        }
        State::Empty => make(&folder)?,
    }
    Ok(())
}

fn state(folder: &Path) -> Result<State> {
    if !folder.exists() || fs::read_dir(folder)?.next().is_none() {
        return Ok(State::Empty);
    }
    Ok(match fs::read_to_string(folder.join(STAMP)) {
        Err(_) => State::Foreign,
        Ok(stamp) if stamp == PACKAGES && bin(folder).is_some() => State::Done,
        Ok(_) => State::Half,
    })
}

fn make(folder: &Path) -> Result<()> {
    println!("installing {PACKAGES} (about 100 MB) into {}", folder.display());
    on_path("python3").ok_or("pip needs python3: apt-get install python3 python3-venv")?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join(STAMP), "half made\n")?;
    heard(Command::new("python3").args(["-m", "venv"]).arg(folder)).map_err(|error| {
        format!("python3 makes no virtual environment: apt-get install python3-venv\n{error}")
    })?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "2"];
    heard(Command::new(folder.join("bin/python")).args(pip).arg(PACKAGES))
        .map_err(|error| format!("pip could not install: is there a network?\n{error}"))?;
    bin(folder).ok_or("the packages hold no nvcc for this system")?;
    Ok(fs::write(folder.join(STAMP), PACKAGES)?)
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    /// What a folder with these files is taken for.
    fn state_with(name: &str, files: &[(&str, &str)]) -> State {
        let folder = env::temp_dir().join(format!("binade-install-{}-{name}", process::id()));
        fs::create_dir_all(folder.join("bin")).unwrap();
        for (file, text) in files {
            fs::write(folder.join(file), text).unwrap();
        }
        let state = state(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        state
    }

    #[test]
    fn a_folder_that_is_not_there_is_empty() {
        assert_eq!(state(Path::new("no/such/folder")).unwrap(), State::Empty);
    }

    #[test]
    fn only_a_stamp_of_these_packages_and_nvcc_together_are_done() {
        let nvcc = ("bin/nvcc", "");
        assert_eq!(state_with("done", &[(STAMP, PACKAGES), nvcc]), State::Done);
        assert_eq!(state_with("lost", &[(STAMP, PACKAGES)]), State::Half);
        assert_eq!(state_with("half", &[(STAMP, "half made\n"), nvcc]), State::Half);
        assert_eq!(state_with("old", &[(STAMP, "cuda-toolkit==12.9"), nvcc]), State::Half);
    }

    #[test]
    fn a_folder_without_a_stamp_is_somebody_elses() {
        assert_eq!(state_with("foreign", &[("bin/nvcc", "")]), State::Foreign);
    }
}
