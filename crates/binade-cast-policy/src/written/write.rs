//! Writer of policies in TOML.

use super::rule;
use crate::{Attribute, CastRule, Compare, Condition, OpTable, Overrides};
use std::fmt::Write as _;

pub(super) fn table(table: &OpTable) -> String {
    let mut text = format!("preset = {}\n", quoted(table.preset.id));
    if table.strict {
        text += "strict = true\n";
    }
    if !table.registered.is_empty() {
        text += "\n[operations]\n";
    }
    for (name, rule) in &table.registered {
        text += &line(&key(name), &rule::write(rule));
    }
    text
}

pub(super) fn overrides(policy: &Overrides<OpTable>) -> String {
    let layers = policy.exceptions.iter().map(exception);
    std::iter::once(table(&policy.base)).chain(layers).collect()
}

fn exception((when, rule): &(Condition, CastRule)) -> String {
    let mut text = String::from("\n[[overrides]]\n");
    if let Some(op) = &when.op {
        text += &line("op", &quoted(op));
    }
    if let Some(path) = &when.path {
        text += &line("path", &quoted(&path.to_string()));
    }
    for attribute in Attribute::ALL {
        text += &bounds(attribute, when);
    }
    text + &line("rule", &rule::write(rule))
}

/// Returns a line for the bounds of an attribute: one table, or an array of several in their order.
fn bounds(attribute: Attribute, when: &Condition) -> String {
    let own = when.attributes.iter().filter(|(a, _)| *a == attribute);
    let own: Vec<_> = own.map(|&(_, is)| bound(is)).collect();
    match &own[..] {
        [] => String::new(),
        [one] => line(attribute.name(), one),
        several => line(attribute.name(), &format!("[{}]", several.join(", "))),
    }
}

fn bound(is: Compare) -> String {
    match is {
        Compare::Above(bound) => format!("{{ above = {} }}", number(bound)),
        Compare::Below(bound) => format!("{{ below = {} }}", number(bound)),
        Compare::Equal(bound) => format!("{{ equal = {} }}", number(bound)),
    }
}

/// Returns as few digits as read back to the same bits; Rust's `NaN` is `nan` in TOML.
fn number(x: f64) -> String {
    if x.is_nan() { "nan".into() } else { format!("{x:?}") }
}

fn line(key: &str, value: &str) -> String {
    format!("{key} = {value}\n")
}

/// Returns a key, bare if TOML allows it.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.into() } else { quoted(name) }
}

/// Returns a basic string of TOML 1.0, in which quotes, backslashes and control characters are escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a `String` does not fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
