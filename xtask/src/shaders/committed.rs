//! What must lie in the backend's folder: the composed shaders, a manifest of hashes, and what each entry takes.

use std::{collections::BTreeMap, fmt::Write};

use crate::{
    shaders::{
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
    /// Text by path.
    pub(super) files: BTreeMap<String, String>,
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
        all.files.insert(format!("{COMPOSED}/{name}.wgsl"), text.wgsl);
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
    all.files.insert(format!("{COMPOSED}/MANIFEST"), manifest);
    all.files.insert(format!("{COMPOSED}/ENTRIES"), entries);
    all
}

/// Where what is committed is something else.
pub(super) fn differences(files: &Files, composed: &Composed) -> Vec<Issue> {
    let advice = "run `cargo xtask shaders` and commit what it writes";
    let stale = composed.files.iter().filter(|(path, text)| files.text(path) != Some(text));
    let stale = stale.map(|(path, _)| {
        Issue::new(path, 0, format!("not what the sources are composed to: {advice}"))
    });
    let lost = files.composed().filter(|path| !composed.files.contains_key(*path));
    let lost = lost.map(|path| Issue::new(path, 0, format!("no shader makes it: {advice}")));
    stale.chain(lost).collect()
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

    #[test]
    fn what_was_written_passes_and_a_change_of_a_library_is_found() {
        let mut committed = files(SHADER, LIBRARY);
        let composed = compose(&of(&committed));
        assert_eq!((&composed.issues[..], composed.entries), (&[][..], 1));
        committed.extend(composed.files.clone());
        assert_eq!(differences(&of(&committed), &composed), []);
        committed[1].1 += "const more = 1;\n";
        let changed = of(&committed);
        let found = differences(&changed, &compose(&changed));
        assert_eq!(found.len(), 2, "the text and the manifest: {found:?}");
    }

    #[test]
    fn an_orphan_and_a_shader_that_is_not_valid_are_found() {
        let mut committed = files(SHADER, LIBRARY);
        committed.extend(compose(&of(&committed)).files);
        committed.push((format!("{COMPOSED}/old.wgsl"), String::new()));
        let orphaned = of(&committed);
        assert_eq!(differences(&orphaned, &compose(&orphaned)).len(), 1);
        assert_eq!(compose(&of(&files(SHADER, "const b = 1;"))).issues.len(), 1);
        assert_eq!(compose(&of(&files(SHADER, "const b = ;"))).issues.len(), 2, "itself too");
        assert_eq!(compose(&of(&files("const x = 1;", LIBRARY))).issues.len(), 1, "no header");
    }
}
