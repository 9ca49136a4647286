//! Instruction forms of the backend's PTX: the interpreter knows each of them to the last suffix. With `--nocapture` the list is
//! printed.

use super::committed;
use binade_ptx::{Module, known_forms};
use std::collections::{BTreeMap, BTreeSet};

/// Number of occurrences of each form, by its spelling.
type Forms = BTreeMap<String, usize>;

/// Returns the opcodes of a text as they are spelled. They are read here once more, so that one run names every unknown form; the
/// parser stops at the first.
fn spelled(text: &str) -> Forms {
    let mut forms = Forms::new();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    // Inline assembly leaves braces around its line.
    let ended =
        lines.filter_map(|line| Some(line.rsplit_once(';')?.0)).flat_map(|all| all.split(';'));
    for words in ended.map(|one| one.trim_start_matches([' ', '\t', '{']).split_whitespace()) {
        let mut words = words.skip_while(|word| word.starts_with('@'));
        let is_opcode = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
        if let Some(form) = words.next().filter(is_opcode) {
            *forms.entry(form.to_owned()).or_default() += 1;
        }
    }
    forms
}

#[test]
fn every_form_of_the_committed_ptx_is_known() {
    let mut all = Forms::new();
    for (_, text) in committed() {
        for (form, count) in spelled(&text) {
            *all.entry(form).or_default() += count;
        }
    }
    for (form, count) in &all {
        println!("{count:>5}  {form}");
    }
    let known: BTreeSet<_> = known_forms().collect();
    let unknown: Vec<_> = all.keys().filter(|form| !known.contains(form.as_str())).collect();
    assert!(unknown.is_empty(), "add to the table in `isa`, with their exact meaning: {unknown:?}");
}

#[test]
fn the_committed_ptx_parses_whole_and_is_reproducible() {
    for (name, text) in committed() {
        let module = Module::parse(&text);
        let module = module.unwrap_or_else(|error| panic!("{name}.ptx: {error}"));
        assert!(module.entries().count() > 0, "{name}.ptx has no entry");
        let mut parsed = Forms::new();
        for form in module.forms() {
            *parsed.entry(form.to_owned()).or_default() += 1;
        }
        assert_eq!(parsed, spelled(&text), "{name}.ptx: the list leaves something out");
    }
}
