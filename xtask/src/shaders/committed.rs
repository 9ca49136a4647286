//! What must lie in the backend's folder: the composed shaders, a manifest of hashes, and what each entry takes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use crate::{
    packed::Texts,
    shaders::{
        PACKED,
        compose::compose as composed,
        digest,
        files::{COMPOSED, Files, SOURCES},
        header::Header,
        traps, validate,
    },
    tidy::Issue,
};

const MANIFEST: &str = "# By `cargo xtask shaders`: name, sha256 of its sources, sha256 of what they are composed to.\n";

const ENTRIES: &str = "# By `cargo xtask shaders`: file, entry, invocations of a group, bytes of parameters, bindings, overrides.\n";

/// What the shaders are composed to.
#[derive(Debug, Default)]
pub(super) struct Composed {
    /// What is wrong with the shaders.
    pub(super) issues: Vec<Issue>,
    /// The text of each shader, which is packed.
    pub(super) texts: Texts,
    /// The manifest and the list of entries, by path.
    pub(super) tables: BTreeMap<String, String>,
    /// How many entries there are.
    pub(super) entries: usize,
}

/// Composes and validates every shader.
pub(super) fn compose(files: &Files) -> Composed {
    let mut all = Composed::default();
    let (mut manifest, mut entries) = (MANIFEST.to_owned(), ENTRIES.to_owned());
    for name in files.names() {
        let source = format!("{SOURCES}/{name}.wgsl");
        let mut wrong = |error: String| all.issues.push(Issue::new(&source, 0, error));
        let own = files.text(&source).unwrap_or_default();
        let (header, text) = match (Header::read(own), composed(files, name)) {
            (Ok(header), Ok(text)) => (header, text),
            (Err(error), _) | (_, Err(error)) => {
                wrong(error);
                continue;
            }
        };
        match validate::entries(name, &text.wgsl, &header.overrides) {
            Err(errors) => errors.into_iter().for_each(wrong),
            Ok(found) => {
                all.entries += found.len();
                // Writing to a string cannot fail.
                let _ = found.iter().try_for_each(|entry| writeln!(entries, "{entry}"));
            }
        }
        all.issues.extend(traps::in_composed(&format!("{COMPOSED}/{name}.wgsl"), &text.wgsl));
        let sources: Vec<_> = text.used.iter().filter_map(|path| files.text(path)).collect();
        let [sources, hash] = [&sources.concat(), &text.wgsl].map(|text| digest::hex(text));
        let _ = writeln!(manifest, "{name} {sources} {hash}");
        all.texts.insert(name.to_owned(), text.wgsl);
    }
    for name in files.libraries() {
        if asks(files, name) {
            continue;
        }
        let text = composed(files, &format!("lib/{name}"));
        if let Err(error) = text.and_then(|text| validate::library(&text.wgsl)) {
            all.issues.push(Issue::new(format!("{SOURCES}/lib/{name}.wgsl"), 0, error));
        }
    }
    all.issues.extend(files.sources().flat_map(|(path, text)| traps::in_source(path, text)));
    all.tables.insert(format!("{COMPOSED}/MANIFEST"), manifest);
    all.tables.insert(format!("{COMPOSED}/ENTRIES"), entries);
    all
}

/// Where what is committed is something else.
pub(super) fn differences(files: &Files, composed: &Composed) -> Vec<Issue> {
    let advice = "run `cargo xtask shaders` and commit what it writes";
    let names: BTreeSet<_> = files.packed.keys().chain(composed.texts.keys()).collect();
    let stale =
        names.into_iter().filter(|name| files.packed.get(*name) != composed.texts.get(*name));
    let stale =
        stale.map(|name| format!("{name} is not what the sources are composed to: {advice}"));
    let tables = composed.tables.iter().filter(|(path, text)| files.text(path) != Some(text));
    let tables = tables.map(|(path, _)| Issue::new(path, 0, format!("out of date: {advice}")));
    stale.map(|message| Issue::new(PACKED, 0, message)).chain(tables).collect()
}

/// Whether a library is only whole with names of who uses it, by a line `//!asks NAME, ...`: it is validated with them alone.
fn asks(files: &Files, name: &str) -> bool {
    let text = files.text(&format!("{SOURCES}/lib/{name}.wgsl")).unwrap_or_default();
    text.lines().any(|line| line.starts_with("//!asks "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHADER: &str = "// A.\n//\n// B.\n//\n// C.\n//\n// D.\n//!use lib/p.wgsl\n\
        @compute @workgroup_size(1) fn main() { b[0] = p; }\n";

    const LIBRARY: &str = "@group(0) @binding(0) var<uniform> p: u32;\n\
        @group(0) @binding(1) var<storage, read_write> b: array<u32>;\n";

    fn files(shader: &str, library: &str) -> Vec<(String, String)> {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        vec![file("shaders/k.wgsl", shader), file("shaders/lib/p.wgsl", library)]
    }

    fn of(files: &[(String, String)]) -> Files {
        Files::of(&files.iter().map(|(path, text)| (&**path, &**text)).collect::<Vec<_>>())
    }

    /// What lies there when the shaders have been composed and written.
    fn written(sources: &[(String, String)]) -> Files {
        let Composed { texts, tables, .. } = compose(&of(sources));
        let files: Vec<_> = sources.iter().cloned().chain(tables).collect();
        let mut files = of(&files);
        files.packed = texts;
        files
    }

    #[test]
    fn what_was_written_passes_and_a_change_of_a_library_is_found() {
        let sources = files(SHADER, LIBRARY);
        let composed = compose(&of(&sources));
        assert_eq!((&composed.issues[..], composed.entries), (&[][..], 1));
        assert_eq!(differences(&written(&sources), &composed), []);
        let changed = compose(&of(&files(SHADER, &format!("{LIBRARY}const more = 1;\n"))));
        let found = differences(&written(&sources), &changed);
        assert_eq!(found.len(), 2, "the text and the manifest: {found:?}");
    }

    #[test]
    fn an_orphan_and_a_shader_that_is_not_valid_are_found() {
        let sources = files(SHADER, LIBRARY);
        let mut orphaned = written(&sources);
        orphaned.packed.insert("old".into(), String::new());
        let found = differences(&orphaned, &compose(&orphaned));
        assert!(matches!(&found[..], [issue] if issue.to_string().contains(": old is not")));
        assert_eq!(compose(&of(&files(SHADER, "const b = 1;"))).issues.len(), 1);
        assert_eq!(compose(&of(&files(SHADER, "const b = ;"))).issues.len(), 2, "itself too");
        assert_eq!(compose(&of(&files("const x = 1;", LIBRARY))).issues.len(), 1, "no header");
    }
}
