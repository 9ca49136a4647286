//! Sources of one kernel: its file, and the headers that it includes, directly or through another.

use std::{collections::BTreeMap, fmt::Write};

use sha2::{Digest, Sha256};

use crate::{
    files::{Files, resolve},
    kernels::compile::{FLAGS, RECIPE},
};

/// The SHA-256 of `text`, as 64 hexadecimal digits.
pub(super) fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// The hash of everything that decides the PTX, the compiler aside: recipe, flags, source and headers of our own.
///
/// Headers in angle brackets are the toolchain's, whose version the manifest has. The error names an include that leads
/// nowhere.
pub(super) fn hash(files: &Files, source: &str) -> Result<String, String> {
    let mut all = format!("{RECIPE} {}\n", FLAGS.join(" "));
    for (path, text) in reached(files, source)? {
        // The length keeps two files from passing as one.
        let _ = write!(all, "{path} {}\n{text}", text.len());
    }
    Ok(sha256(&all))
}

/// The source and all headers, by path, without the budgets at an end, which `cargo xtask sass` reads and the compiler does not.
fn reached<'a>(files: &'a Files, source: &str) -> Result<BTreeMap<String, &'a str>, String> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![source.to_owned()]);
    while let Some(path) = waiting.pop() {
        let text = files.text(&path).ok_or_else(|| format!("it includes {path}: not there"))?;
        let text = without_budgets(text);
        if found.insert(path.clone(), text).is_none() {
            waiting.extend(includes(text).filter_map(|name| resolve(&path, name)));
        }
    }
    Ok(found)
}

/// The text without the budgets that end it.
fn without_budgets(text: &str) -> &str {
    let budgets = text.split_inclusive('\n').rev().take_while(|line| line.starts_with("// sass:"));
    &text[..text.len() - budgets.map(str::len).sum::<usize>()]
}

/// The names in `#include "…"`, also those that a condition leaves out: a hash may say more than is needed.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        rest.trim_start().strip_prefix('"')?.split('"').next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_of_a_header_counts_one_that_is_not_there_is_named_and_files_are_told_apart() {
        let files = |a: &str, b: &str| {
            let kernel = "#include <stdint.h>\n#include \"lib/a.cuh\"\n";
            let a = format!("  # include \"b.cuh\"\n#include \"../lib/a.cuh\"\n{a}");
            let headers = [("kernels/k.cu", kernel), ("kernels/lib/a.cuh", &a)];
            Files::of(&[&headers[..], &[("kernels/lib/b.cuh", b)]].concat())
        };
        let of = |a, b| hash(&files(a, b), "kernels/k.cu");
        assert_eq!(of("", "int x;\n"), of("", "int x;\n"));
        assert_ne!(of("", "int x;\n"), of("", "int y;\n"));
        assert_ne!(of("int x;\nint y;\n", ""), of("int x;\n", "int y;\n"));
        assert_eq!(of("int x;\n", ""), of("int x;\n// sass: k spills 0\n", ""));
        assert_ne!(of("// sass: k\nint x;\n", ""), of("// sass: k\nint y;\n", ""));
        let lost = Files::of(&[("kernels/k.cu", "#include \"lib/a.cuh\"\n")]);
        assert!(hash(&lost, "kernels/k.cu").unwrap_err().contains("kernels/lib/a.cuh"));
    }
}
