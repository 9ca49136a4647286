//! The page of contracts, held to the traits that state them and to the cases and tests that prove them.

use crate::kit::{self, Item, is_like, quoted};
use binade_conformance::Sentence;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates whose traits state contracts: floors 0 to 2, the kit among them.
const STATED_IN: [&str; 13] = [
    "binade-core",
    "binade-cast-policy",
    "binade-autocast",
    "binade-grad-scaler",
    "binade-master-weights",
    "binade-cpu",
    "binade-cuda",
    "binade-wgpu",
    "binade-checkpoint",
    "binade-interchange",
    "binade-model-parallel",
    "binade-ranks",
    "binade-conformance",
];

/// Public traits that have nothing to say to implementers: why, and what in the file shows it.
const IMPLEMENTED_BY_NOBODY: [(&str, &str, &str); 7] = [
    ("Element", "sealed: backends have kernels for these types", "sealed::Sealed + Copy"),
    (
        "Stored",
        "sealed: a tensor is an array of one of these types",
        "only this crate can name `Data`",
    ),
    ("Managed", "sealed: DLPack has these structures", "sealed::Sealed + 'static"),
    ("Results", "of a private module, and named in a bound alone", "other crates do not name it"),
    ("RankDevice", "a handle with what ranks need has it", "impl<D> RankDevice for D where"),
    ("ModelDevice", "a handle that trains has it", "impl<D> ModelDevice for D where"),
    (
        "TrainingDevice",
        "a handle that trains what has names has it",
        "impl<D> TrainingDevice for D where",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn items() -> Vec<Item> {
    kit::items(&read("docs/contracts.md"))
}

/// Returns the words that documentation and page have in common: neither links nor the width of lines.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['[', ']']) {
        plain += &rest[..at];
        let is_end = rest[at..].starts_with(']');
        rest = &rest[at + 1..];
        if is_end && rest.starts_with('(') {
            rest = rest.split_once(')').map_or("", |(_, after)| after);
        }
    }
    (plain + rest).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

/// The files of all crates whose traits state contracts.
fn all_sources() -> Vec<String> {
    let mut files = Vec::new();
    for name in STATED_IN {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    files
}

/// `Handle` of `Handle {…`.
fn first_word(text: &str) -> String {
    text.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// Public traits, each with the file it stands in. Those of a module within a file are for sealing.
fn public_traits(files: &[String]) -> BTreeMap<String, &str> {
    let of = |file: &str| -> Vec<String> {
        file.lines().filter_map(|line| line.strip_prefix("pub trait ")).map(first_word).collect()
    };
    files.iter().flat_map(|file| of(file).into_iter().map(move |name| (name, &**file))).collect()
}

/// By trait, each bullet of its section for implementers.
fn stated() -> BTreeSet<(String, String)> {
    let mut stated = BTreeSet::new();
    for file in &all_sources() {
        for section in file.split("/// # For implementers\n").skip(1) {
            let name = first_word(section.split("pub trait ").nth(1).unwrap());
            let lines = section.lines().map_while(|line| line.strip_prefix("///"));
            let bullets = lines.skip(1).map(str::trim).take_while(|line| !line.is_empty());
            let bullets = bullets.collect::<Vec<_>>().join("\n");
            for bullet in format!("\n{bullets}").split("\n* ").skip(1) {
                stated.insert((name.clone(), plain(bullet)));
            }
        }
    }
    stated
}

/// Returns true if a function or a section of doc tests has this name, as `docs/differences.md` names them.
fn names(source: &str, test: &str) -> bool {
    ['(', '<'].iter().any(|next| source.contains(&format!("fn {test}{next}")))
        || source.lines().map(str::trim_start).any(|line| {
            [format!("//! # {test}"), format!("/// ## {test}")].contains(&line.to_owned())
        })
}

#[test]
fn every_bullet_of_a_trait_is_on_the_page_and_no_other() {
    let stated = stated();
    let traits: BTreeSet<&str> = stated.iter().map(|(name, _)| &**name).collect();
    assert!(stated.len() > 25 && traits.len() > 8, "{traits:?}");
    let listed: BTreeSet<(String, String)> = items()
        .into_iter()
        .filter(|item| traits.contains(&*item.under))
        .map(|item| (item.under, plain(&item.text)))
        .collect();
    let missing: Vec<_> = stated.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&stated).collect();
    assert!(missing.is_empty(), "not on docs/contracts.md: {missing:#?}");
    assert!(stale.is_empty(), "stated by no trait any more: {stale:#?}");
}

#[test]
fn every_public_trait_states_its_contract_or_is_nobodys_to_implement() {
    let files = all_sources();
    let traits = public_traits(&files);
    let stated: BTreeSet<String> = stated().into_iter().map(|(name, _)| name).collect();
    let nobodys: BTreeSet<&str> = IMPLEMENTED_BY_NOBODY.iter().map(|(name, ..)| *name).collect();
    for name in traits.keys() {
        let (has_bullets, is_nobodys) = (stated.contains(name), nobodys.contains(&**name));
        assert!(has_bullets || is_nobodys, "`{name}` has no bullets under \"For implementers\"");
        assert!(!(has_bullets && is_nobodys), "`{name}` has bullets for what nobody implements");
    }
    for (name, why, shown_by) in IMPLEMENTED_BY_NOBODY {
        let file =
            traits.get(name).unwrap_or_else(|| panic!("there is no trait `{name}` any more"));
        assert!(file.contains(shown_by), "`{name}` is no longer what is said of it: {why}");
    }
}

#[test]
fn every_sentence_is_proved_by_what_exists() {
    let cases = kit::known();
    let mut files = BTreeMap::new();
    for Item { text, proofs, .. } in items() {
        assert!(!proofs.is_empty(), "nothing proves: {text}");
        for proof in proofs.iter().filter(|proof| !proof.starts_with("not yet: ")) {
            let Some((_, link)) = proof.split_once("](../") else {
                assert!(quoted(proof).next().is_some(), "no case is named: {proof}");
                for pattern in quoted(proof) {
                    let like = cases.iter().any(|case| is_like(case, pattern));
                    assert!(like, "no case is called `{pattern}`: {text}");
                }
                continue;
            };
            let (file, tests) = link.split_once(')').unwrap();
            let source = files.entry(file.to_owned()).or_insert_with(|| read(file));
            assert!(quoted(tests).next().is_some(), "no test is named: {proof}");
            for test in quoted(tests) {
                assert!(names(source, test), "`{file}` has no test `{test}`: {text}");
            }
        }
    }
}

#[test]
fn every_case_of_the_kit_proves_something() {
    let items = items();
    let proves_nothing = |case: &String| !items.iter().any(|item| item.is_proved_by(case));
    let idle: BTreeSet<String> = kit::known().into_iter().filter(proves_nothing).collect();
    assert!(idle.is_empty(), "name these on docs/contracts.md, beside what they prove: {idle:#?}");
}

#[test]
fn the_list_of_cases_has_each_operation_and_every_sentence() {
    let cases = kit::known();
    assert!(cases.len() > 1000, "only {} cases", cases.len());
    let page = kit::page(&cases, &items());
    let lines: BTreeSet<&str> = page.lines().collect();
    for case in &cases {
        let [operation, _, sentence] = kit::parts(case);
        assert!(lines.contains(&*format!("## {operation}")), "{case}");
        let row = format!("| {}", sentence.replace('_', " "));
        let is_plain = !row.contains(|c: char| c.is_ascii_digit());
        let next = lines.range(&*row..).next();
        assert!(!is_plain || next.is_some_and(|line| line.starts_with(&row)), "{case}");
    }
    let row = "\n| rounds once | f64-f32 | [AmpTensor](../contracts.md#amptensor), [Autocast](../contracts.md#autocast) |\n";
    assert!(page.contains(row), "{page}");
}

#[test]
fn the_report_tells_of_each_case_the_sentences_that_the_page_says_it_proves() {
    let items = items();
    for case in kit::known() {
        let proved = items.iter().filter(|item| item.is_proved_by(&case));
        let page = proved.map(|item| (&*item.under, &*item.text));
        let told = Sentence::proved_by(&case).into_iter().map(|it| (it.of, it.says));
        assert_eq!(told.collect::<Vec<_>>(), page.collect::<Vec<_>>(), "{case}");
    }
}

#[test]
fn a_pattern_is_like_what_it_leaves_open() {
    for (name, pattern) in
        [("a/b/c", "a/b/c"), ("a/b/c", "a/*"), ("a/b/c", "*/c"), ("a/b/c", "a*b*c")]
    {
        assert!(is_like(name, pattern), "{name} {pattern}");
    }
    for (name, pattern) in [("a/b/c", "a/b"), ("a/b/c", "*/d"), ("a/b/c", "b*"), ("a", "a*a")] {
        assert!(!is_like(name, pattern), "{name} {pattern}");
    }
    assert_eq!(plain("in [`-max`], [x](crate::y) and\n  on"), "in `-max`, x and on");
}

/// The rows of a page's tables, without headings.
fn rows(page: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = page.lines().collect();
    let is_row = |line: &str| line.starts_with('|') && !line.starts_with("|--");
    let is_heading = |at: usize| lines.get(at + 1).is_some_and(|next| next.starts_with("|--"));
    let found = (0..lines.len()).filter(|&at| is_row(lines[at]) && !is_heading(at));
    found.map(|at| lines[at]).collect::<Vec<_>>().into_iter()
}

#[test]
fn every_difference_and_every_fact_names_tests_that_are_there() {
    for page in ["docs/differences.md", "docs/semantics.md"] {
        let text = read(page);
        assert!(rows(&text).count() > 10, "{page}");
        for row in rows(&text) {
            let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
            let links: Vec<_> = cell.split("](../").skip(1).collect();
            assert!(!links.is_empty(), "{page} names no test in the last cell: {row}");
            for link in links {
                let (file, tests) = link.split_once(')').unwrap();
                let source = read(file);
                let tests = tests.split('[').next().unwrap();
                assert!(quoted(tests).next().is_some(), "{page} names no test of {file}: {row}");
                for test in quoted(tests) {
                    assert!(names(&source, test), "`{file}` has no test `{test}`: {row}");
                }
            }
        }
    }
}
