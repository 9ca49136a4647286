//! A run that was killed, and resumed, ends with the bits of one that was not interrupted.

use crate::common::{file, only, small};
use binade_checkpoint::Checkpoint;
use binade_example_gpt::args::Args;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// Variable that tells the process started by this test to train, and where to save.
const PATH: &str = "BINADE_TRAIN_UNTIL_KILLED";
const THIS: &str = "killed::a_run_killed_three_times_ends_with_the_bits_of_an_uninterrupted_one";
const LINE: &str = "--level O1 --dtype f16 --steps 400 --every 4 --accumulate 2 --dropout 0.2";

/// Returns the arguments of a run that saves in `path`, and resumes from it if it is there.
fn args(path: &Path) -> Args {
    let save = Some(path.to_owned());
    Args { resume: save.clone().filter(|path| path.exists()), save, ..small(LINE) }
}

/// Returns the step of the checkpoint; 0 if there is none.
fn step(path: &Path) -> u32 {
    Checkpoint::read(path).map_or(0, |checkpoint| checkpoint.words["step"].parse().unwrap())
}

fn train(path: &Path) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", THIS]).env(PATH, path).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_run_killed_three_times_ends_with_the_bits_of_an_uninterrupted_one() {
    if let Some(path) = env::var_os(PATH) {
        only(&args(&PathBuf::from(path)));
        return;
    }
    let [whole, killed] = ["whole", "killed"].map(|name| file(&format!("killed-{name}")));
    for path in [&whole, &killed] {
        let _ = fs::remove_file(path);
    }
    let uninterrupted = only(&args(&whole));
    for kill in 0..3 {
        let (before, began) = (step(&killed), Instant::now());
        let mut child = train(&killed);
        while step(&killed) < before + 8 {
            assert!(began.elapsed() < Duration::from_mins(2), "kill {kill}: no checkpoint came");
            thread::sleep(Duration::from_millis(3));
        }
        thread::sleep(Duration::from_millis(7 * kill));
        // SIGKILL, on systems with signals.
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!((24..400).contains(&step(&killed)), "the kills came at {}", step(&killed));
    let resumed = only(&args(&killed));
    assert_eq!(resumed.sample, uninterrupted.sample);
    assert!(fs::read(killed).unwrap() == fs::read(whole).unwrap());
}
