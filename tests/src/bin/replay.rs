//! Replays recorded runs given by path: `replay FILE…`.

use binade_tests::replay::{self, Notes};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: replay FILE…, recordings as JSON, gzipped or plain");
        return ExitCode::from(2);
    }
    let failed = files.iter().filter(|file| !passes(Path::new(file))).count();
    println!("{} passed, {failed} failed", files.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn passes(file: &Path) -> bool {
    let outcome = replay::file(file).and_then(|recording| replay::replay(&recording));
    match &outcome {
        // Only a kind with something to tell has notes.
        Ok(notes) if *notes == Notes::default() => {}
        Ok(notes) => print!("{}: passed\n{notes}", file.display()),
        Err(error) => println!("{}: {error}", file.display()),
    }
    outcome.is_ok()
}
