//! What one kernel is compiled from: its source, and the headers it includes, directly or through another.

use std::{collections::BTreeMap, fmt::Write};

use crate::files::Files;
use crate::kernels::{
    compile::{FLAGS, RECIPE},
    digest,
};

/// The hash of everything that decides the PTX, the compiler aside: recipe, flags, source and headers of our own.
///
/// Headers in angle brackets are the toolchain's, whose version the manifest has. The error names an include that leads
/// nowhere.
pub(super) fn hash(files: &Files, source: &str) -> Result<String, String> {
    let mut all = format!("{RECIPE} {}\n", FLAGS.join(" "));
    for (path, text) in reached(files, source)? {
        // The length keeps two files from passing as one; writing to a string cannot fail.
        let _ = write!(all, "{path} {}\n{text}", text.len());
    }
    Ok(digest::hex(&all))
}

/// The source and all headers, by path.
fn reached<'a>(files: &'a Files, source: &str) -> Result<BTreeMap<String, &'a str>, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![source.to_owned()];
    while let Some(path) = waiting.pop() {
        if found.contains_key(&path) {
            continue;
        }
        let text =
            files.text(&path).ok_or_else(|| format!("it includes {path}, which is not there"))?;
        waiting.extend(includes(text).map(|name| beside(&path, name)));
        found.insert(path, text);
    }
    Ok(found)
}

/// The names in `#include "…"`, also those that a condition leaves out: a hash may say more than is needed.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        rest.trim_start().strip_prefix('"')?.split('"').next()
    })
}

/// `name` as seen from the folder of `path`, with `..` resolved.
fn beside(path: &str, name: &str) -> String {
    let mut parts: Vec<_> = path.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "#include <stdint.h>\n#include \"lib/a.cuh\"\n";

    fn files(header: &str) -> Files {
        let a = "  # include \"b.cuh\"\n#include \"../lib/a.cuh\"\n";
        Files::of(&[
            ("kernels/k.cu", KERNEL),
            ("kernels/lib/a.cuh", a),
            ("kernels/lib/b.cuh", header),
        ])
    }

    #[test]
    fn headers_of_headers_count_and_cycles_end() {
        let files = files("");
        let found = reached(&files, "kernels/k.cu").unwrap();
        let found: Vec<_> = found.into_keys().collect();
        assert_eq!(found, ["kernels/k.cu", "kernels/lib/a.cuh", "kernels/lib/b.cuh"]);
    }

    #[test]
    fn a_change_in_a_header_changes_the_hash() {
        let hash = |header| hash(&files(header), "kernels/k.cu").unwrap();
        assert_eq!(hash("int x;"), hash("int x;"));
        assert_ne!(hash("int x;"), hash("int y;"));
    }

    #[test]
    fn text_that_moves_from_one_file_to_the_next_changes_the_hash() {
        let of = |a, b| {
            let kernel = "#include \"a.cuh\"\n#include \"b.cuh\"\n";
            let files = Files::of(&[("k/k.cu", kernel), ("k/a.cuh", a), ("k/b.cuh", b)]);
            hash(&files, "k/k.cu").unwrap()
        };
        assert_ne!(of("int x;\nint y;\n", ""), of("int x;\n", "int y;\n"));
    }

    #[test]
    fn an_include_that_leads_nowhere_is_named() {
        let files = Files::of(&[("kernels/k.cu", KERNEL)]);
        assert!(hash(&files, "kernels/k.cu").unwrap_err().contains("kernels/lib/a.cuh"));
    }
}
