//! Arguments as typed, of a small model on a short text, and files of the tests.

use binade_example_gpt::args::Args;
use binade_example_gpt::report::Run;
use binade_example_gpt::session;
use clap::Parser;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Parses arguments as typed, after the program's name.
pub(crate) fn parse(line: &str) -> Result<Args, clap::Error> {
    Args::try_parse_from(std::iter::once("gpt").chain(line.split_whitespace()))
}

/// Sentence to learn by heart.
pub(crate) const SENTENCE: &str = "the quick brown fox jumps over the lazy dog; ";

/// Text that repeats it, written once for all tests.
static TEXT: LazyLock<PathBuf> = LazyLock::new(|| {
    let text = file("sentence.txt");
    fs::write(&text, SENTENCE.repeat(20)).unwrap();
    text
});

/// Returns arguments of a model of 8,000 parameters on the sentence, unless `line` says otherwise.
pub(crate) fn small(line: &str) -> Args {
    let sizes = "--layers 1 --heads 2 --width 24 --context 16 --batch 8 --every 20 --sample 30";
    Args { text: Some(TEXT.clone()), ..parse(&format!("{sizes} {line}")).unwrap() }
}

/// Returns the path of a file that a test may write.
pub(crate) fn file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gpt");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Runs `args`, which ask for one run.
pub(crate) fn only(args: &Args) -> Run {
    let mut runs = Vec::new();
    session::run(args, &mut runs).unwrap();
    let [run] = runs.try_into().unwrap();
    run
}
