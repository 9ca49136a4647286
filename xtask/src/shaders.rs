//! `cargo xtask shaders`: composes the WGSL shaders that are committed in the wgpu backend, and says what is wrong with them,
//! without any device.
//!
//! naga, which is in wgpu, parses and validates them; what it lets pass and drivers or browsers do not is looked for beside it.

mod backends;
mod compose;
mod traps;
mod validate;

use std::{collections::BTreeSet, fmt::Write, fs};

use clap::Args;

use crate::{
    Result,
    files::Files,
    issue::{Issue, verdict},
    packed::{self, Texts},
    shell::root,
};

/// The folders of shaders, and of what several of them use.
const SOURCES: &str = "shaders";
const LIBRARY: &str = "shaders/lib";

/// The folder that composed shaders are committed in, and the list of what each entry takes.
const COMPOSED: &str = "crates/binade-wgpu/wgsl";
const ENTRIES: &str = "crates/binade-wgpu/wgsl/ENTRIES";

/// The file that holds every composed shader, from the root.
pub(crate) const PACKED: &str = "crates/binade-wgpu/wgsl/shaders.wgsl.lzma";

const TITLE: &str = "# By `cargo xtask shaders`: file, entry, invocations of a group, bytes of parameters, bindings.\n";

#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct Shaders {
    /// Compares what is committed with its sources, and writes nothing.
    #[arg(long)]
    check: bool,
    /// Prints one composed shader.
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
}

impl Shaders {
    pub(crate) fn run(self) -> Result<()> {
        if let Some(name) = self.show {
            return packed::show(PACKED, &name);
        }
        let files = files()?;
        let mut composed = compose(&files);
        if self.check {
            composed.issues.extend(differences(&files, &composed));
        } else if composed.issues.is_empty() {
            fs::write(root().join(ENTRIES), &composed.entries)?;
            packed::write(PACKED, &composed.texts)?;
        }
        verdict(&composed.issues, "shaders")
    }
}

/// Everything that the checks look at.
fn files() -> Result<Files> {
    Files::load(&root(), [SOURCES, LIBRARY, COMPOSED], PACKED)
}

/// Composed shaders.
#[derive(Default)]
struct Composed {
    /// Faults of the shaders.
    issues: Vec<Issue>,
    /// The text of each.
    texts: Texts,
    /// The list of entries.
    entries: String,
}

/// Composes and validates every shader.
fn compose(files: &Files) -> Composed {
    let mut all = Composed { entries: TITLE.to_owned(), ..Composed::default() };
    for name in files.stems(SOURCES, ".wgsl") {
        let source = format!("{SOURCES}/{name}.wgsl");
        let own = files.text(&source).unwrap_or_default();
        let mut wrong = |error: String| all.issues.push(Issue::new(&source, 0, error));
        let text = match compose::compose(files, name) {
            Ok(text) => text,
            Err(error) => {
                wrong(error);
                continue;
            }
        };
        match validate::entries(name, &text) {
            Err(errors) => errors.into_iter().for_each(wrong),
            // Writing to a string cannot fail.
            Ok(found) => drop(found.iter().try_for_each(|it| writeln!(all.entries, "{it}"))),
        }
        all.issues.extend(traps::in_source(&source, own));
        all.issues.extend(traps::in_composed(&format!("{COMPOSED}/{name}.wgsl"), &text));
        all.texts.insert(name.to_owned(), text);
    }
    for name in files.stems(LIBRARY, ".wgsl") {
        let source = format!("{LIBRARY}/{name}.wgsl");
        all.issues.extend(traps::in_source(&source, files.text(&source).unwrap_or_default()));
    }
    all
}

/// Returns what is committed otherwise than it is composed.
fn differences(files: &Files, composed: &Composed) -> Vec<Issue> {
    let advice = "run `cargo xtask shaders` and commit what it writes";
    let committed = files.stems(COMPOSED, ".wgsl").map(str::to_owned);
    let names: BTreeSet<_> = committed.chain(composed.texts.keys().cloned()).collect();
    let stale = names.into_iter().filter(|name| {
        files.text(&format!("{COMPOSED}/{name}.wgsl"))
            != composed.texts.get(name).map(String::as_str)
    });
    let stale = stale.map(|name| {
        Issue::new(PACKED, 0, format!("{name} is not what the sources are composed to: {advice}"))
    });
    let is_old = files.text(ENTRIES) != Some(&composed.entries);
    let entries = is_old.then(|| Issue::new(ENTRIES, 0, format!("out of date: {advice}")));
    stale.chain(entries).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHADER: &str = "// A.\n//!use lib/p.wgsl\n\
        @compute @workgroup_size(1) fn main() { b[0] = p; }\n";

    const LIBRARY_TEXT: &str = "@group(0) @binding(0) var<uniform> p: u32;\n\
        @group(0) @binding(1) var<storage, read_write> b: array<u32>;\n";

    fn of(shader: &str, library: &str) -> Files {
        Files::of(&[("shaders/k.wgsl", shader), ("shaders/lib/p.wgsl", library)])
    }

    /// The sources and what is composed of them, as they lie there when it has been written.
    fn written() -> Files {
        let mut files = of(SHADER, LIBRARY_TEXT);
        let Composed { texts, entries, .. } = compose(&files);
        for (name, text) in texts {
            files.put(format!("{COMPOSED}/{name}.wgsl"), text);
        }
        files.put(ENTRIES.to_owned(), entries);
        files
    }

    #[test]
    fn the_committed_shaders_are_what_their_sources_compose_to() {
        let files = files().unwrap();
        let composed = compose(&files);
        assert_eq!((&composed.issues[..], &differences(&files, &composed)[..]), (&[][..], &[][..]));
        assert!(!composed.texts.is_empty());
    }

    #[test]
    fn what_was_written_passes_and_a_change_of_a_library_and_an_orphan_are_found() {
        let only = |files: &Files, sources: &Files| {
            let composed = compose(sources);
            assert_eq!(composed.issues, []);
            differences(files, &composed).iter().map(ToString::to_string).collect::<String>()
        };
        assert_eq!(only(&written(), &written()), "");
        let changed = of(SHADER, &format!("{LIBRARY_TEXT}const more = 1;\n"));
        assert!(only(&written(), &changed).contains(": k is not"));
        let mut orphaned = written();
        orphaned.put(format!("{COMPOSED}/old.wgsl"), String::new());
        assert!(only(&orphaned, &orphaned).contains(": old is not"));
    }
}
