//! What a machine without CUDA can hold of the committed PTX: by hashes, and by looking at the instructions.

use crate::{
    files::Files,
    kernels::{
        digest,
        header::Header,
        lint,
        manifest::Manifest,
        set::{SETS, Set},
        sources,
        toolkit::PINNED,
    },
    tidy::Issue,
};

/// What to do about most of what is found.
const COMPILE: &str = "run `cargo xtask kernels` and commit what it writes";

/// Everything that is wrong in all sets.
pub(super) fn issues(files: &Files) -> Vec<Issue> {
    SETS.iter().flat_map(|set| of_set(files, set)).collect()
}

/// The manifest of `set`, empty where there is none.
pub(super) fn manifest(files: &Files, set: &Set) -> Result<Manifest, Issue> {
    let text = files.text(&set.manifest()).unwrap_or_default();
    Manifest::parse(text).map_err(|line| {
        Issue::new(set.manifest(), line, format!("not a line of a manifest: {COMPILE}"))
    })
}

/// Whether the PTX of `name` need not be compiled again.
pub(super) fn is_fresh(files: &Files, set: &Set, name: &str, manifest: &Manifest) -> bool {
    objection(files, set, name, manifest).is_none()
}

fn of_set(files: &Files, set: &Set) -> Vec<Issue> {
    let manifest = match manifest(files, set) {
        Ok(manifest) => manifest,
        Err(issue) => return vec![issue],
    };
    let names = set.names(files);
    let mut issues: Vec<_> =
        names.iter().filter_map(|name| objection(files, set, name, &manifest)).collect();
    issues.extend(orphans(files, set, &manifest, &names));
    if set.shipped {
        issues.extend(names.iter().flat_map(|name| linted(files, set, name)));
    }
    issues
}

/// What is wrong between a source, its PTX and the manifest.
fn objection(files: &Files, set: &Set, name: &str, manifest: &Manifest) -> Option<Issue> {
    let (source, compiled) = (set.source(name), set.compiled(name));
    let at = |path: &str, message: String| Some(Issue::new(path, 0, message));
    if let Err(error) = Header::read(files.text(&source).unwrap_or_default()) {
        return at(&source, error);
    }
    let hash = match sources::hash(files, &source) {
        Ok(hash) => hash,
        Err(error) => return at(&source, error),
    };
    let (Some(entry), Some(ptx)) = (manifest.0.get(name), files.text(&compiled)) else {
        return at(&source, format!("not compiled: {COMPILE}"));
    };
    if entry.compiler != PINNED {
        let by = &entry.compiler;
        return at(&compiled, format!("compiled by {by}, not by {PINNED}: {COMPILE}"));
    }
    if entry.sources != hash {
        return at(&source, format!("changed since it was compiled, or a header of it: {COMPILE}"));
    }
    (entry.ptx != digest::hex(ptx)).then(|| {
        Issue::new(
            &compiled,
            0,
            format!("not as the compiler wrote it: change the source, {COMPILE}"),
        )
    })
}

/// PTX and manifest lines that no source makes.
fn orphans(files: &Files, set: &Set, manifest: &Manifest, names: &[&str]) -> Vec<Issue> {
    let advice = if set.shipped { COMPILE } else { "delete it" };
    let lost = files.stems(set.ptx, ".ptx").filter(|name| !names.contains(name));
    let lost = lost.map(|name| {
        Issue::new(set.compiled(name), 0, format!("no {} makes it: {advice}", set.source(name)))
    });
    let unknown = manifest.0.keys().filter(|name| !names.contains(&name.as_str()));
    let unknown = unknown.map(|name| {
        Issue::new(set.manifest(), 0, format!("there is no {}: {COMPILE}", set.source(name)))
    });
    lost.chain(unknown).collect()
}

/// Issues with the instructions of one kernel. Its header can let pass what lowers the agreement class, and nothing else.
fn linted(files: &Files, set: &Set, name: &str) -> Vec<Issue> {
    let header = Header::read(files.text(&set.source(name)).unwrap_or_default());
    let Some(ptx) = files.text(&set.compiled(name)) else { return Vec::new() };
    let mut issues = lint::split_groups(&set.compiled(name), ptx);
    if header.is_ok_and(|header| !header.lowers) {
        issues.extend(lint::issues(&set.compiled(name), ptx));
    }
    issues
}

#[cfg(test)]
mod tests;
