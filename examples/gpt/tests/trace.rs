//! Losses beside those of PyTorch, trained on the same weights, windows and order.

use crate::common::{file, only, parse};
use binade_example_gpt::args::Args;
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::{fs, io};

/// Losses that `tests/data/golden/gpt.py` recorded.
#[derive(Deserialize)]
struct Trace {
    arguments: BTreeMap<String, f64>,
    /// Length of the text, with which the embedded plays begin.
    characters: usize,
    losses: BTreeMap<String, Vec<f32>>,
}

/// Returns the first `characters` of the embedded plays.
fn beginning(characters: usize) -> String {
    let plays = GzDecoder::new(&include_bytes!("../data/shakespeare.txt.gz")[..]);
    io::read_to_string(plays).unwrap().chars().take(characters).collect()
}

/// Asserts that a run at this level has each recorded loss, within a relative `bound`.
#[track_caller]
fn agrees(trace: &Trace, name: &str, level: &str, bound: f32) {
    let text = file(&format!("{name}.txt"));
    fs::write(&text, beginning(trace.characters)).unwrap();
    let given =
        trace.arguments.iter().flat_map(|(it, value)| [format!("--{it}"), value.to_string()]);
    let given = given.collect::<Vec<_>>().join(" ");
    let line = format!("{level} {given} --dropout 0 --every 1 --sample 0");
    let run = only(&Args { text: Some(text), ..parse(&line).unwrap() });
    let (got, want) = (run.curve.iter().map(|it| it.train), &trace.losses[name]);
    assert_eq!((got.len(), want.len()), (50, 50), "{name}");
    let far: Vec<_> = got.zip(want).map(|(got, want)| (got - want).abs() / want).collect();
    println!("{name}: {:e}", far.iter().copied().fold(0.0, f32::max));
    assert!(far.iter().all(|it| *it <= bound), "{name}: {far:?}");
}

#[test]
fn the_first_fifty_losses_are_those_of_pytorch() {
    let recorded = include_str!("../../../tests/data/golden/gpt.json");
    let trace: Trace = serde_json::from_str(recorded).unwrap();
    agrees(&trace, "O0 f32", "--level O0", 1e-4);
    agrees(&trace, "O1 bf16", "--level O1 --dtype bf16", 2e-2);
    agrees(&trace, "O1 f16", "--level O1 --dtype f16", 2e-2);
}
