//! The list of cases, a page of the book: by operation, how near a result must come, and what each case says, where, and of which contract.

use super::cases::operations;
use super::{Item, parts};
use binade_conformance::{Arithmetic, CaseGroup};
use std::fmt::Write as _;

/// Cases that differ in variant and numbers alone.
struct Row {
    sentence: String,
    numbers: Vec<String>,
    variants: Vec<String>,
    proves: Vec<String>,
}

/// The list, of these cases and of the sentences that they prove. Links are those of a page beside the book's others.
pub fn page(cases: &[String], items: &[Item]) -> String {
    let mut page = format!("{} cases.\n", cases.len());
    let operations = operations();
    for own in cases.chunk_by(|a, b| parts(a)[0] == parts(b)[0]) {
        section(&mut page, operations[parts(&own[0])[0]], own, items);
    }
    page
}

fn section(page: &mut String, group: CaseGroup, cases: &[String], items: &[Item]) {
    let _ = write!(page, "\n## {group}\n\nAgreement: {}.\n\n", agreement(group));
    page.push_str("| says | of | proves |\n|---|---|---|\n");
    for Row { sentence, numbers, variants, proves } in rows(cases, items) {
        let behind =
            if numbers.is_empty() { String::new() } else { format!(": {}", numbers.join(", ")) };
        let links = proves.iter().map(|name| format!("[{name}](../contracts.md#{})", anchor(name)));
        let links = links.collect::<Vec<_>>().join(", ");
        let _ = writeln!(page, "| {sentence}{behind} | {} | {links} |", variants.join(", "));
    }
}

/// How near a result must come where the arithmetic lacks nothing, and what each lack changes.
fn agreement(group: CaseGroup) -> String {
    let ieee = Arithmetic::IEEE;
    let within = |arithmetic| group.agreement(arithmetic);
    let lacks = [
        ("without `fma`", Arithmetic { fma: false, ..ieee }),
        ("without `rounded_div_sqrt`", Arithmetic { rounded_div_sqrt: false, ..ieee }),
        ("without `keeps_subnormals`", Arithmetic { keeps_subnormals: false, ..ieee }),
        ("with `tensor_core`", Arithmetic { tensor_core: true, ..ieee }),
        ("with `tf32`", Arithmetic { tensor_core: true, tf32: true, ..ieee }),
    ];
    let usual = within(ieee);
    let others = lacks.into_iter().filter_map(|(lack, arithmetic)| {
        let other = within(arithmetic);
        (other != usual).then(|| format!("; {lack}, {other}"))
    });
    usual.to_string() + &others.collect::<String>()
}

/// In the order of their first cases.
fn rows(cases: &[String], items: &[Item]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for case in cases {
        let [_, variant, sentence] = parts(case);
        let (sentence, numbers) = without_numbers(&sentence.replace('_', " "));
        let at = rows.iter().position(|row| row.sentence == sentence).unwrap_or_else(|| {
            let (numbers, variants, proves) = Default::default();
            rows.push(Row { sentence, numbers, variants, proves });
            rows.len() - 1
        });
        let proved = items.iter().filter(|item| item.is_proved_by(case));
        add(&mut rows[at].numbers, numbers);
        add(&mut rows[at].variants, [variant.to_owned()]);
        add(&mut rows[at].proves, proved.map(|item| item.under.clone()));
    }
    rows
}

/// Adds what is not there yet.
fn add(list: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

/// `all of n elements` and the number; the numbers of one sentence stay together.
fn without_numbers(sentence: &str) -> (String, Option<String>) {
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let numbers: Vec<_> = sentence.split(' ').filter(is_number).collect();
    let words = sentence.split(' ').map(|word| if is_number(&word) { "n" } else { word });
    let sentence = words.collect::<Vec<_>>().join(" ");
    (sentence, (!numbers.is_empty()).then(|| numbers.join(" and ")))
}

/// A heading as a link names it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|&c| c.is_alphanumeric() || "_- ".contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}
