//! Checks of the committed PTX without CUDA: by the hashes of the manifest, and by looking at the instructions.

use std::collections::BTreeMap;

use crate::{
    files::Files,
    issue::Issue,
    kernels::{
        compile::PINNED,
        lint,
        set::{Header, SETS, Set},
        sources::{self, sha256},
    },
};

/// Advice about most of what is found.
const COMPILE: &str = "run `cargo xtask kernels` and commit what it writes";

/// The first line of every manifest.
const TITLE: &str =
    "# By `cargo xtask kernels`: name, sha256 of flags and sources, compiler, sha256 of the PTX.";

/// Rows of a manifest, by the kernel's name: the hash of its sources, the compiler's version, the hash of its PTX.
type Manifest = BTreeMap<String, [String; 3]>;

/// Returns everything that is wrong in all sets.
pub(super) fn issues(files: &Files) -> Vec<Issue> {
    SETS.iter().flat_map(|set| of_set(files, set)).collect()
}

/// The manifest of `set`, empty where there is none.
pub(super) fn manifest(files: &Files, set: &Set) -> Result<Manifest, Issue> {
    let mut manifest = Manifest::new();
    let lines = files.text(&set.manifest()).unwrap_or_default().lines().enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.starts_with('#')) {
        let words: Vec<_> = line.split(' ').map(String::from).collect();
        let row = <[String; 4]>::try_from(words).ok();
        if row.is_none_or(|[name, rest @ ..]| manifest.insert(name, rest).is_some()) {
            let message = format!("not a line of a manifest: {COMPILE}");
            return Err(Issue::new(set.manifest(), index + 1, message));
        }
    }
    Ok(manifest)
}

/// The text of a manifest.
pub(super) fn text(manifest: &Manifest) -> String {
    let row = |(name, row): (&String, &[String; 3])| format!("\n{name} {}", row.join(" "));
    TITLE.to_owned() + &manifest.iter().map(row).collect::<String>() + "\n"
}

/// The row of a kernel that has just been compiled.
pub(super) fn row(files: &Files, set: &Set, name: &str, ptx: &str) -> Result<[String; 3], String> {
    Ok([sources::hash(files, &set.source(name))?, PINNED.to_owned(), sha256(ptx)])
}

fn of_set(files: &Files, set: &Set) -> Vec<Issue> {
    let manifest = match manifest(files, set) {
        Ok(manifest) => manifest,
        Err(issue) => return vec![issue],
    };
    let names = set.names(files);
    let mut issues: Vec<_> =
        names.iter().filter_map(|name| objection(files, set, name, &manifest)).collect();
    let made = files.stems(set.ptx, ".ptx").map(|name| (set.compiled(name), name));
    let listed = manifest.keys().map(|name| (set.manifest(), name.as_str()));
    let orphans = made.chain(listed).filter(|(_, name)| !names.contains(name));
    issues.extend(orphans.map(|(path, name)| {
        Issue::new(path, 0, format!("there is no {}: delete it, {COMPILE}", set.source(name)))
    }));
    if set.shipped {
        issues.extend(names.iter().flat_map(|name| linted(files, set, name)));
    }
    issues
}

/// Returns the first fault between a source, its PTX and the manifest: without one, the PTX need not be compiled again.
pub(super) fn objection(files: &Files, set: &Set, name: &str, all: &Manifest) -> Option<Issue> {
    const FAULTS: [&str; 3] = [
        "changed since it was compiled, or a header of it",
        "not compiled by the pinned compiler",
        "not as the compiler wrote it: change the source",
    ];
    let at = |message: String| Some(Issue::new(set.source(name), 0, message));
    if let Err(error) = Header::read(files.text(&set.source(name)).unwrap_or_default()) {
        return at(error);
    }
    let (Some(had), Some(ptx)) = (all.get(name), files.text(&set.compiled(name))) else {
        return at(format!("not compiled: {COMPILE}"));
    };
    let row = match row(files, set, name, ptx) {
        Ok(row) => row,
        Err(error) => return at(error),
    };
    let differs = row.iter().zip(had).position(|(is, was)| is != was)?;
    at(format!("{}, {}: {COMPILE}", FAULTS[differs], had[1]))
}

/// Issues with the instructions of one kernel. Its header can let pass what lowers the agreement class, and nothing else.
fn linted(files: &Files, set: &Set, name: &str) -> Vec<Issue> {
    let header = Header::read(files.text(&set.source(name)).unwrap_or_default());
    let Some(ptx) = files.text(&set.compiled(name)) else { return Vec::new() };
    let is_held = header.is_ok_and(|header| !header.lowers);
    if is_held { lint::issues(&set.compiled(name), ptx) } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    const SOURCE: &str = "// Casts.\n#include \"lib/a.cuh\"\n";
    const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry cast()\n{\n\tret;\n}\n";

    /// A repository with one kernel in `set`, `source` compiled to `ptx`.
    fn repository(set: &Set, source: &str, ptx: &str) -> Files {
        let header = format!("{}/lib/a.cuh", set.sources);
        let mut files = Files::of(&[(&set.source("cast"), source), (&header, "int a;\n")]);
        let row = row(&files, set, "cast", ptx).unwrap();
        files.put(set.compiled("cast"), ptx.into());
        files.put(set.manifest(), text(&[("cast".into(), row)].into()));
        files
    }

    /// The only issue, if there is any, as a person reads it, after a file of a good repository has been replaced.
    fn told(path: &str, change: impl Fn(&str) -> String) -> String {
        let mut files = repository(&SETS[0], SOURCE, PTX);
        let text = change(files.text(path).unwrap_or_default());
        files.put(path.into(), text);
        found(&files)
    }

    fn found(files: &Files) -> String {
        let found = issues(files);
        assert!(found.len() < 2, "{found:?}");
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_committed_ptx_is_what_its_manifest_says() {
        assert_eq!(issues(&crate::kernels::files(&root()).unwrap()), []);
        assert_eq!(issues(&Files::default()), []);
    }

    #[test]
    fn each_planted_fault_is_told_with_its_place() {
        let [ptx, manifest] = [SETS[0].compiled("cast"), SETS[0].manifest()];
        assert_eq!(told(&ptx, str::to_owned), "");
        for (path, from, to, wanted) in [
            ("kernels/cast.cu", "Casts", "Sums", "kernels/cast.cu: changed since"),
            ("kernels/lib/a.cuh", "a", "b", "kernels/cast.cu: changed since"),
            (&ptx, "ret", "exit", "kernels/cast.cu: not as the compiler wrote it"),
            (
                &manifest,
                PINNED,
                "12.4.131",
                "kernels/cast.cu: not compiled by the pinned compiler, 12.4.131",
            ),
            (&manifest, "cast ", "cast cast ", "crates/binade-cuda/ptx/MANIFEST:2: not a line"),
            (
                &manifest,
                "\ncast",
                "\ngone 1 2 3\ncast",
                "crates/binade-cuda/ptx/MANIFEST: there is no kernels/gone.cu",
            ),
        ] {
            let said = told(path, |text| text.replace(from, to));
            assert!(said.starts_with(wanted), "{said}");
        }
        let said = told("kernels/clip.cu", |_| "// Clips.\n".into());
        assert!(said.starts_with("kernels/clip.cu: not compiled"), "{said}");
        let said = told(&SETS[0].compiled("gone"), |_| PTX.into());
        assert!(said.contains("there is no kernels/gone.cu"), "{said}");
        let said = told("kernels/cast.cu", |_| format!("// requires: sm_80\n{SOURCE}"));
        assert!(said.contains("compute_NN"), "{said}");
    }

    #[test]
    fn an_unrounded_product_is_refused_unless_the_header_lowers_the_class_or_it_is_planted() {
        let ptx = PTX.replace("ret;", "mul.f32 %f1, %f1, %f1;");
        assert!(found(&repository(&SETS[0], SOURCE, &ptx)).contains("`__fmul_rn`"));
        let lowered = format!("// lowers: contraction is wanted\n{SOURCE}");
        assert_eq!(found(&repository(&SETS[0], &lowered, &ptx)), "");
        assert_eq!(found(&repository(&SETS[1], SOURCE, &ptx)), "");
    }
}
