//! A process that is killed while it trains and saves leaves a whole checkpoint, at any moment and by any rule.

use crate::common::all_rules;
use binade_checkpoint::{Checkpoint, Draft, Loaded};
use binade_core::{DType, FoundInf, Named, Optimizer};
use binade_cpu::{Cpu, Tensor};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// Variables that tell the process started by this test where to save, on and on, and which rule to train by.
const PATH: &str = "BINADE_SAVE_UNTIL_KILLED";
const RULE: &str = "BINADE_RULE";
const KILLS: u32 = 50;
/// Size at which most of a process's time is spent in saves.
const BYTES: usize = 1 << 18;

fn number(checkpoint: &Checkpoint) -> u64 {
    checkpoint.words["number"].parse().unwrap()
}

fn tensor(seed: u64) -> Tensor {
    let mut random = fastrand::Rng::with_seed(seed);
    Tensor::new((0..300).map(|_| random.f32() - 0.5).collect(), &[300]).unwrap()
}

/// A run of one step a number.
struct Run {
    optimizer: MasterOptimizer<Cpu>,
    number: u64,
}

impl Run {
    fn new(rule: UpdateRule) -> Self {
        let config = OptimizerConfig::new(rule).unwrap().with_storage(DType::F16);
        let params = vec![Named::new("w", tensor(0))];
        Self { optimizer: MasterOptimizer::new(Cpu, params, config).unwrap(), number: 0 }
    }

    /// Goes on from a checkpoint.
    fn resumed(rule: UpdateRule, checkpoint: &Checkpoint) -> Self {
        let mut run = Self::new(rule);
        let mut restore = checkpoint.restore();
        restore.optimizer("model", &mut run.optimizer).unwrap();
        restore.finish().unwrap();
        run.number = number(checkpoint);
        run
    }

    fn step(&mut self) {
        self.number += 1;
        let grads = vec![Named::new("w", Some(tensor(self.number)))];
        self.optimizer.step(grads.into(), &FoundInf::default()).unwrap();
    }

    fn checkpoint(&self) -> Checkpoint {
        let bytes = vec![self.number.to_le_bytes()[0]; BYTES];
        let draft = Draft::fresh().optimizer("model", &self.optimizer).unwrap();
        draft.word("number", self.number).blob("bytes", bytes).finish().unwrap()
    }

    fn save(&self, path: &Path) {
        self.checkpoint().write(path).unwrap();
    }
}

/// Takes one step after another from the last checkpoint, and saves after each.
fn save_until_killed(path: &Path) -> ! {
    let rule = all_rules()[env::var(RULE).unwrap().parse::<usize>().unwrap()];
    let mut run = Run::resumed(rule, &Checkpoint::read(path).unwrap());
    println!("\nsaving");
    loop {
        run.step();
        run.save(path);
    }
}

/// Starts a process that saves, and kills it `after` it has begun.
fn kill_one((path, rule): (&Path, usize), after: Duration) {
    let this = "a_process_killed_at_fifty_moments_of_saving_leaves_a_whole_checkpoint";
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", &format!("killed::{this}"), "--nocapture"])
        .env(PATH, path)
        .env(RULE, rule.to_string())
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
    let rules = all_rules();
    let mut random = fastrand::Rng::with_seed(50);
    let (mut within, mut written) = (0, 0);
    for (place, rule) in rules.iter().enumerate() {
        let path = folder.join(format!("run{place}"));
        let mut whole = Run::new(*rule);
        whole.save(&path);
        whole.step();
        let began = Instant::now();
        whole.save(&path);
        let one_save = began.elapsed();
        let kills = KILLS.div_ceil(u32::try_from(rules.len()).unwrap());
        for kill in 0..kills {
            kill_one((&path, place), one_save.mul_f64(4.0 * random.f64()));
            let here = format!("kill {kill} of {rule:?}");
            within += u32::from(path.with_extension("partial").exists());
            let loaded = Checkpoint::read_or_previous(&path);
            let loaded = match loaded.unwrap_or_else(|error| panic!("{here}: {error}")) {
                Loaded::Last(checkpoint) | Loaded::Previous { checkpoint, .. } => checkpoint,
            };
            // The checkpoint is the last one that was seen, or a later one: with the bits of a run that nothing interrupted.
            assert!(number(&loaded) >= whole.number, "{here}: {}", number(&loaded));
            while whole.number < number(&loaded) {
                whole.step();
                written += 1;
            }
            let same = loaded.to_bytes().unwrap() == whole.checkpoint().to_bytes().unwrap();
            assert!(same, "{here}: other bits after {}", whole.number);
        }
    }
    println!("{within} kills left a file behind; {written} checkpoints were written");
    assert!(within > 0 && written > 0, "no kill fell within a save");
}
