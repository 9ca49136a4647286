//! A process that is killed while it saves leaves a whole checkpoint, at any moment.

use binade_checkpoint::{Checkpoint, Draft, Loaded};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// Variable that tells the process started by this test where to save, on and on.
const PATH: &str = "BINADE_SAVE_UNTIL_KILLED";
const KILLS: u32 = 50;
/// Size at which most of a process's time is spent in saves.
const BYTES: usize = 1 << 18;

fn number(checkpoint: &Checkpoint) -> u64 {
    checkpoint.words["number"].parse().unwrap()
}

/// Saves one checkpoint after another, each numbered.
fn save_until_killed(path: &Path) -> ! {
    let mut number = number(&Checkpoint::read(path).unwrap());
    println!("\nsaving");
    loop {
        number += 1;
        save(path, number);
    }
}

fn save(path: &Path, number: u64) {
    let bytes = vec![number.to_le_bytes()[0]; BYTES];
    let draft = Draft::fresh().word("number", number).blob("bytes", bytes);
    draft.finish().unwrap().write(path).unwrap();
}

/// Starts a process that saves, and kills it `after` it has begun.
fn kill_one(path: &Path, after: Duration) {
    let this = "a_process_killed_at_fifty_moments_of_saving_leaves_a_whole_checkpoint";
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", &format!("killed::{this}"), "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = Vec::new();
    let mut out = child.stdout.take().unwrap();
    while !said.ends_with(b"\nsaving\n") {
        let mut byte = [0];
        out.read_exact(&mut byte).expect("the process says that it saves");
        said.extend(byte);
    }
    thread::sleep(after);
    // SIGKILL, on systems with signals.
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_process_killed_at_fifty_moments_of_saving_leaves_a_whole_checkpoint() {
    if let Some(path) = env::var_os(PATH) {
        save_until_killed(&PathBuf::from(path));
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("checkpoint").join("killed");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("run");
    save(&path, 0);
    let began = Instant::now();
    save(&path, 1);
    let one_save = began.elapsed();
    let mut random = fastrand::Rng::with_seed(50);
    let (mut last, mut within) = (1, 0);
    for kill in 0..KILLS {
        kill_one(&path, one_save.mul_f64(4.0 * random.f64()));
        within += u32::from(folder.join("run.partial").exists());
        let loaded = Checkpoint::read_or_previous(&path);
        let loaded = match loaded.unwrap_or_else(|error| panic!("kill {kill}: {error}")) {
            Loaded::Last(checkpoint) | Loaded::Previous { checkpoint, .. } => checkpoint,
        };
        // The checkpoint is the last one, or the one before it.
        assert!(number(&loaded) + 1 >= last, "kill {kill}: {} after {last}", number(&loaded));
        let expected = vec![number(&loaded).to_le_bytes()[0]; BYTES];
        assert_eq!(loaded.blobs["bytes"], expected, "kill {kill}");
        last = number(&loaded).max(last);
    }
    println!("{within} of {KILLS} kills left a file behind; {last} checkpoints were written");
    assert!(within > 0, "no kill fell within a save");
    save(&path, last + 1);
    assert_eq!(number(&Checkpoint::read(&path).unwrap()), last + 1);
    assert!(!folder.join("run.partial").exists() && !folder.join("run.linked").exists());
}
