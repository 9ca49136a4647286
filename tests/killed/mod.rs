//! Processes that are killed while they train on a device and save, and the run that goes on from what they left.

use binade_checkpoint::{Checkpoint, Draft, Loaded};
use binade_core::ops::Upload;
use binade_core::{DType, FoundInf, GradSet, Handle, Named, Optimizer as _};
use binade_grad_scaler::ScaleStore;
use binade_master_weights::{MasterOptimizer, OptimizerConfig, Snapshot, UpdateRule};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// Variables that tell the process started by a test where to save, on and on, and which rule to train by.
const PATH: &str = "BINADE_SAVE_UNTIL_KILLED";
const RULE: &str = "BINADE_RULE";
/// Size at which most of a process's time is spent in saves.
const BYTES: usize = 1 << 18;

/// Device that a run trains on and is saved from.
pub(crate) trait Trains:
    Upload
    + ScaleStore
    + Snapshot
    + GradSet<
        Params = Vec<Named<<Self as Handle>::Tensor>>,
        Grads: From<Vec<Named<Option<<Self as Handle>::Tensor>>>>,
    > + Clone
{
}

impl<D> Trains for D where
    D: Upload
        + ScaleStore
        + Snapshot
        + GradSet<
            Params = Vec<Named<<D as Handle>::Tensor>>,
            Grads: From<Vec<Named<Option<<D as Handle>::Tensor>>>>,
        > + Clone
{
}

/// Test that starts its own program again, in which it trains and saves until it is killed.
pub(crate) struct Kills<'a> {
    /// The test's name, with its module.
    pub(crate) test: &'a str,
    /// Folder of the checkpoints.
    pub(crate) folder: PathBuf,
    /// Processes to kill by each rule.
    pub(crate) each: u32,
    /// Line of the process's output from which the time to its end is drawn: `saving` before the first step, or `saved` after a save.
    pub(crate) from: &'a str,
}

fn number(checkpoint: &Checkpoint) -> u64 {
    checkpoint.words["number"].parse().unwrap()
}

/// A run of one step a number.
struct Run<D: Trains> {
    optimizer: MasterOptimizer<D>,
    number: u64,
}

impl<D: Trains> Run<D> {
    fn new(device: &D, rule: UpdateRule) -> Self {
        let config = OptimizerConfig::new(rule).unwrap().with_storage(DType::F16);
        let params = vec![Named::new("w", tensor(device, 0))];
        Self { optimizer: MasterOptimizer::new(device.clone(), params, config).unwrap(), number: 0 }
    }

    /// Goes on from a checkpoint.
    fn resumed(device: &D, rule: UpdateRule, checkpoint: &Checkpoint) -> Self {
        let mut run = Self::new(device, rule);
        let mut restore = checkpoint.restore();
        restore.optimizer("model", &mut run.optimizer).unwrap();
        restore.finish().unwrap();
        run.number = number(checkpoint);
        run
    }

    fn step(&mut self) {
        self.number += 1;
        let device = self.optimizer.device().clone();
        let grads = vec![Named::new("w", Some(tensor(&device, self.number)))];
        let found = device.upload_found(&FoundInf::default()).unwrap();
        self.optimizer.step(grads.into(), &found).unwrap();
    }

    fn checkpoint(&self) -> Checkpoint {
        let bytes = vec![self.number.to_le_bytes()[0]; BYTES];
        let draft = Draft::fresh().optimizer("model", &self.optimizer).unwrap();
        draft.word("number", self.number).blob("bytes", bytes).finish().unwrap()
    }

    fn save(&self, path: &Path) {
        self.checkpoint().write(path).unwrap();
    }

    /// Steps up to the number of a checkpoint, and asserts that it has this run's bits.
    fn assert_reaches(&mut self, checkpoint: &Checkpoint, what: &str) {
        // The checkpoint is the last one that was seen, or a later one.
        assert!(number(checkpoint) >= self.number, "{what}: {}", number(checkpoint));
        while self.number < number(checkpoint) {
            self.step();
        }
        let same = checkpoint.to_bytes().unwrap() == self.checkpoint().to_bytes().unwrap();
        assert!(same, "{what}: other bits after {}", self.number);
    }
}

/// Returns the checkpoint that a killed process has left.
fn left(path: &Path, what: &str) -> Checkpoint {
    match Checkpoint::read_or_previous(path) {
        Ok(Loaded::Last(checkpoint) | Loaded::Previous { checkpoint, .. }) => checkpoint,
        Err(error) => panic!("{what}: {error}"),
    }
}

fn tensor<D: Trains>(device: &D, seed: u64) -> D::Tensor {
    let mut random = fastrand::Rng::with_seed(seed);
    let values: Vec<f32> = (0..300).map(|_| random.f32() - 0.5).collect();
    device.upload(&values, &[300], DType::F32).unwrap()
}

/// Takes one step after another from the last checkpoint, and saves after each.
fn save_until_killed<D: Trains>(device: &D, rules: &[UpdateRule], path: &Path) -> ! {
    let rule = rules[env::var(RULE).unwrap().parse::<usize>().unwrap()];
    let mut run = Run::resumed(device, rule, &Checkpoint::read(path).unwrap());
    println!("\nsaving");
    loop {
        run.step();
        run.save(path);
        println!("\nsaved");
    }
}

impl Kills<'_> {
    /// Kills processes that train by each rule, and asserts that what each left is whole, has the bits of a run that nothing interrupted, and
    /// goes on to that run's bits. Returns how many kills left a file behind, and how many checkpoints were written.
    pub(crate) fn run<D: Trains>(&self, device: &D, rules: &[UpdateRule]) -> [u64; 2] {
        if let Some(path) = env::var_os(PATH) {
            save_until_killed(device, rules, &PathBuf::from(path));
        }
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(&self.folder).unwrap();
        let mut random = fastrand::Rng::with_seed(50);
        let [mut within, mut written] = [0; 2];
        for (place, rule) in rules.iter().enumerate() {
            let path = self.folder.join(format!("run{place}"));
            let mut whole = Run::new(device, *rule);
            whole.save(&path);
            whole.step();
            let began = Instant::now();
            whole.save(&path);
            let one_save = began.elapsed();
            for kill in 0..self.each {
                self.kill_one((&path, place), one_save.mul_f64(4.0 * random.f64()));
                let (what, before) = (format!("kill {kill} of {rule:?}"), whole.number);
                within += u64::from(path.with_extension("partial").exists());
                whole.assert_reaches(&left(&path, &what), &what);
                written += whole.number - before;
            }
            let mut resumed = Run::resumed(device, *rule, &left(&path, "the last"));
            resumed.step();
            whole.assert_reaches(&resumed.checkpoint(), &format!("{rule:?} resumed"));
        }
        fs::remove_dir_all(&self.folder).unwrap();
        [within, written]
    }

    /// Starts a process that saves, and kills it some time after it has begun.
    fn kill_one(&self, (path, rule): (&Path, usize), after: Duration) {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", self.test, "--nocapture"])
            .env(PATH, path)
            .env(RULE, rule.to_string())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut said, line) = (Vec::new(), format!("\n{}\n", self.from));
        let mut out = child.stdout.take().unwrap();
        while !said.ends_with(line.as_bytes()) {
            let mut byte = [0];
            out.read_exact(&mut byte).expect("the process says that it saves");
            said.extend(byte);
        }
        thread::sleep(after);
        // SIGKILL, on systems with signals.
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
