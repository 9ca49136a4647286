//! `cargo xtask kernels --check`: what is committed is what the sources compile to.

use std::{fmt, fs, path::Path};

use crate::{
    Result,
    files::Files,
    kernels::{
        PACKED, committed,
        compile::Compiler,
        set::{BACKEND, SETS, Set},
        toolkit::{PINNED, Toolkit},
    },
    packed,
    shell::root,
    tidy::Issue,
};

/// Whether the check could compile again.
pub(crate) enum Recompiled {
    /// So many kernels.
    All(usize),
    /// Why there is no compiler.
    Not(String),
}

impl fmt::Display for Recompiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(count) => write!(f, "{count} kernels compiled again by {PINNED}"),
            Self::Not(why) => write!(f, "hashes and instructions only, nothing compiled: {why}"),
        }
    }
}

/// Looks at what is committed, and compiles it again where the toolchain is installed.
pub(crate) fn check() -> Result<(Vec<Issue>, Recompiled)> {
    let root = root();
    let files = super::files(&root)?;
    let mut issues = committed::issues(&files);
    issues.extend(packed_otherwise(&root, &files)?);
    let toolkit = match Toolkit::find() {
        Ok(toolkit) => toolkit,
        Err(why) => return Ok((issues, Recompiled::Not(why.to_string()))),
    };
    let compiler = Compiler { toolkit: &toolkit, root: &root };
    issues.extend(SETS.iter().flat_map(|set| different(&compiler, &files, set)));
    let count = SETS.iter().map(|set| set.names(&files).len()).sum();
    Ok((issues, Recompiled::All(count)))
}

/// An issue where the packed file of what is shipped is not the one that this compressor makes of its texts.
fn packed_otherwise(root: &Path, files: &Files) -> Result<Option<Issue>> {
    let is_same = fs::read(root.join(PACKED))? == packed::pack(&BACKEND.texts(files))?;
    let message = "not as it would be packed now: run `cargo xtask kernels` and commit it";
    Ok((!is_same).then(|| Issue::new(PACKED, 0, message)))
}

/// The kernels of `set` that do not compile, or compile to something else than is committed.
fn different(compiler: &Compiler, files: &Files, set: &Set) -> Vec<Issue> {
    let results = compiler.all(files, set, &set.names(files));
    let issues = results.into_iter().filter_map(|(name, result)| match result {
        Err(error) => Some(Issue::new(set.source(name), 0, error)),
        Ok(ptx) => {
            let line = first_difference(&ptx, files.text(&set.compiled(name)).unwrap_or_default())?;
            let scratch = Compiler::scratch(set, name);
            let message = format!("the source compiles to something else: {}", scratch.display());
            Some(Issue::new(set.compiled(name), line, message))
        }
    });
    issues.collect()
}

/// The first line, from 1, in which the texts differ.
fn first_difference(a: &str, b: &str) -> Option<usize> {
    if a == b {
        return None;
    }
    let same = a.split('\n').zip(b.split('\n')).take_while(|(a, b)| a == b).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_told() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\nb\n", ""), Some(1));
        assert_eq!(first_difference("a\nb\n", "a\nb"), Some(3));
    }

    #[test]
    fn a_check_that_compiled_nothing_says_why() {
        let said = Recompiled::Not("CUDA is not installed".into()).to_string();
        assert!(said.contains("nothing compiled") && said.contains("not installed"), "{said}");
    }
}
