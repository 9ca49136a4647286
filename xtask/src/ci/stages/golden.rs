//! Replays every trace that the repository ships.

use std::{fs, path::Path};

use crate::{
    Result,
    binaries::{Binaries, Kind},
    ci::{outcome::Outcome, stages::plain},
    shell::root,
};

/// Where the traces lie, from the root.
const FOLDER: &str = "tests/data/golden";

pub(crate) fn run() -> Result<Outcome> {
    let files = traces(&root().join(FOLDER))?;
    if files.is_empty() {
        return Ok(Outcome::Skipped(format!("{FOLDER} holds no *.json.gz")));
    }
    let count = files.len();
    plain(&Binaries::built()?.call("tests", Kind::Program, "replay")?.args(files))?;
    Ok(Outcome::Passed(format!("{count} files")))
}

/// The traces in `folder` and below it, by name; none when it does not exist.
fn traces(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(traces(&path)?);
        } else if path.to_string_lossy().ends_with(".json.gz") {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    #[test]
    fn traces_are_found_in_folders_below_and_nothing_else_is() {
        let folder = env::temp_dir().join(format!("binade-golden-{}", process::id()));
        fs::create_dir_all(folder.join("below")).unwrap();
        for name in ["b.json.gz", "below/a.json.gz", "notes.md"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let found = traces(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(
            matches!(&found[..], [b, a] if b.ends_with("b.json.gz") && a.ends_with("a.json.gz")),
            "{found:?}"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_holds_no_traces() {
        assert!(traces(Path::new("no/such/folder")).unwrap().is_empty());
    }
}
