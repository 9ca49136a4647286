//! What must lie in the backend's folder: the composed shaders, packed, and what each entry takes.

use std::{collections::BTreeSet, fmt::Write};

use crate::{
    files::Files,
    packed::Texts,
    shaders::{
        COMPOSED, ENTRIES, LIBRARY, PACKED, SOURCES, compose::compose as composed, header::Header,
        traps, validate,
    },
    tidy::Issue,
};

const TITLE: &str = "# By `cargo xtask shaders`: file, entry, invocations of a group, bytes of parameters, bindings, overrides.\n";

/// What the shaders are composed to.
#[derive(Debug, Default)]
pub(super) struct Composed {
    /// What is wrong with the shaders.
    pub(super) issues: Vec<Issue>,
    /// The text of each.
    pub(super) texts: Texts,
    /// The list of entries, and how many there are.
    pub(super) entries: String,
    pub(super) count: usize,
}

/// Composes and validates every shader.
pub(super) fn compose(files: &Files) -> Composed {
    let mut all = Composed { entries: TITLE.to_owned(), ..Composed::default() };
    for name in files.stems(SOURCES, ".wgsl") {
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
        match validate::entries(name, &text, &header.overrides) {
            Err(errors) => errors.into_iter().for_each(wrong),
            Ok(found) => {
                all.count += found.len();
                // Writing to a string cannot fail.
                let _ = found.iter().try_for_each(|entry| writeln!(all.entries, "{entry}"));
            }
        }
        all.issues.extend(traps::in_source(&source, own));
        all.issues.extend(traps::in_composed(&format!("{COMPOSED}/{name}.wgsl"), &text));
        all.texts.insert(name.to_owned(), text);
    }
    for name in files.stems(LIBRARY, ".wgsl") {
        let source = format!("{LIBRARY}/{name}.wgsl");
        let own = files.text(&source).unwrap_or_default();
        all.issues.extend(traps::in_source(&source, own));
        let text = if asks(own) { continue } else { composed(files, &format!("lib/{name}")) };
        if let Err(error) = text.and_then(|text| validate::library(&text)) {
            all.issues.push(Issue::new(source, 0, error));
        }
    }
    all
}

/// Where what is committed is something else.
pub(super) fn differences(files: &Files, composed: &Composed) -> Vec<Issue> {
    let advice = "run `cargo xtask shaders` and commit what it writes";
    let committed = files.stems(COMPOSED, ".wgsl").map(str::to_owned);
    let names: BTreeSet<_> = committed.chain(composed.texts.keys().cloned()).collect();
    let stale = names.into_iter().filter(|name| {
        let committed = files.text(&format!("{COMPOSED}/{name}.wgsl"));
        committed != composed.texts.get(name).map(String::as_str)
    });
    let stale =
        stale.map(|name| format!("{name} is not what the sources are composed to: {advice}"));
    let stale = stale.map(|message| Issue::new(PACKED, 0, message));
    let entries = (files.text(ENTRIES) != Some(&composed.entries))
        .then(|| Issue::new(ENTRIES, 0, format!("out of date: {advice}")));
    stale.chain(entries).collect()
}

/// Whether a library is only whole with names of who uses it, by a line `//!asks NAME, ...`: it is validated with them alone.
fn asks(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("//!asks "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHADER: &str = "// A.\n//\n// B.\n//\n// C.\n//\n// D.\n//!use lib/p.wgsl\n\
        @compute @workgroup_size(1) fn main() { b[0] = p; }\n";

    const LIBRARY_TEXT: &str = "@group(0) @binding(0) var<uniform> p: u32;\n\
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
        let Composed { texts, entries, .. } = compose(&of(sources));
        let mut files = of(sources);
        for (name, text) in texts {
            files.put(format!("{COMPOSED}/{name}.wgsl"), text);
        }
        files.put(ENTRIES.to_owned(), entries);
        files
    }

    #[test]
    fn what_was_written_passes_and_a_change_of_a_library_is_found() {
        let sources = files(SHADER, LIBRARY_TEXT);
        let composed = compose(&of(&sources));
        assert_eq!((&composed.issues[..], composed.count), (&[][..], 1));
        assert_eq!(differences(&written(&sources), &composed), []);
        let changed = compose(&of(&files(SHADER, &format!("{LIBRARY_TEXT}const more = 1;\n"))));
        let found = differences(&written(&sources), &changed);
        assert!(matches!(&found[..], [issue] if issue.to_string().contains(": k is not")));
    }

    #[test]
    fn an_orphan_and_a_shader_that_is_not_valid_are_found() {
        let mut orphaned = written(&files(SHADER, LIBRARY_TEXT));
        orphaned.put(format!("{COMPOSED}/old.wgsl"), String::new());
        let found = differences(&orphaned, &compose(&orphaned));
        assert!(matches!(&found[..], [issue] if issue.to_string().contains(": old is not")));
        assert_eq!(compose(&of(&files(SHADER, "const b = 1;"))).issues.len(), 1);
        assert_eq!(compose(&of(&files(SHADER, "const b = ;"))).issues.len(), 2, "itself too");
        assert_eq!(compose(&of(&files("const x = 1;", LIBRARY_TEXT))).issues.len(), 1, "no header");
    }
}
