//! `cargo xtask kernels`: compiles what has changed, and writes PTX and manifests.

use std::fs;

use crate::{
    Result,
    files::Files,
    kernels::{
        PACKED, committed,
        compile::Compiler,
        digest, files,
        manifest::{Entry, Manifest},
        set::{BACKEND, SETS, Set},
        sources,
        toolkit::{PINNED, Toolkit},
    },
    packed,
    shell::root,
    tidy::Issue,
};

/// Compiles and writes; what is wrong with the result is returned, and lies there to be looked at.
pub(super) fn run() -> Result<Vec<Issue>> {
    let (root, toolkit) = (root(), Toolkit::find()?);
    let compiler = Compiler { toolkit: &toolkit, root: &root };
    let mut all = files(&root)?;
    for set in &SETS {
        fs::create_dir_all(root.join(set.ptx))?;
        for (path, text) in compiled(&compiler, &all, set)? {
            println!("{path}");
            if !set.shipped || path == set.manifest() {
                fs::write(root.join(&path), &text)?;
            }
            all.put(path, text);
        }
    }
    if packed::write(&root.join(PACKED), &BACKEND.texts(&all))? {
        println!("{PACKED}");
    }
    Ok(committed::issues(&files(&root)?))
}

/// The files of one set that must be written, each with its text. An error tells of every kernel that did not compile.
fn compiled(compiler: &Compiler, files: &Files, set: &Set) -> Result<Vec<(String, String)>> {
    let mut manifest = committed::manifest(files, set).unwrap_or_default();
    let names = set.names(files);
    manifest.0.retain(|name, _| names.contains(&name.as_str()));
    let stale: Vec<_> = names
        .into_iter()
        .filter(|name| !committed::is_fresh(files, set, name, &manifest))
        .collect();
    let (mut written, mut failed) = (Vec::new(), Vec::new());
    for (name, result) in compiler.all(files, set, &stale) {
        match result.and_then(|ptx| Ok((entry(files, set, name, &ptx)?, ptx))) {
            Ok((entry, ptx)) => {
                manifest.0.insert(name.to_owned(), entry);
                written.push((set.compiled(name), ptx));
            }
            Err(error) => failed.push(format!("{}: {error}", set.source(name))),
        }
    }
    if !failed.is_empty() {
        return Err(failed.join("\n").into());
    }
    written.extend(rewritten(files, set, &manifest));
    Ok(written)
}

fn entry(files: &Files, set: &Set, name: &str, ptx: &str) -> Result<Entry, String> {
    let sources = sources::hash(files, &set.source(name))?;
    Ok(Entry { sources, compiler: PINNED.into(), ptx: digest::hex(ptx) })
}

/// The manifest, where it says something that it did not.
fn rewritten(files: &Files, set: &Set, manifest: &Manifest) -> Option<(String, String)> {
    let (path, text) = (set.manifest(), manifest.to_string());
    let had = files.text(&path);
    let is_new = if manifest.0.is_empty() { had.is_some() } else { true };
    (is_new && had != Some(text.as_str())).then_some((path, text))
}
