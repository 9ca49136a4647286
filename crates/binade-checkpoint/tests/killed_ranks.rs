//! A rank that is killed at any moment while all save by rank leaves a whole checkpoint, from which other ranks resume the run.

use crate::common::processes::{Kill, Process, leave, run};
use crate::common::{folder, names};
use binade_checkpoint::{Checkpoint, Draft, Loaded, previous};
use binade_core::{Named, Optimizer};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_ranks::{Alone, Group, Partition, RankGrads, Ranks};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{env, process};

const TEST: &str =
    "killed_ranks::a_rank_killed_at_fifty_moments_of_saving_leaves_a_whole_checkpoint";
/// Environment variables with the path to save to, and the step at which ranks end.
const PATH: &str = "BINADE_TEST_PATH";
const STEPS: &str = "BINADE_TEST_STEPS";
const KILLS: usize = 50;
/// Number of a group's calls while it saves.
const CALLS: usize = 6;
/// Elements of the model: the ranks' files take about as long as their meetings.
const ELEMENTS: usize = 4 << 12;

type Model<G> = MasterOptimizer<Ranks<Cpu, G>>;

fn tensor(step: usize) -> Tensor {
    let value = |at| f32::from(u16::try_from((at * (step + 3)) % 1021).unwrap()) / 1021.0 - 0.5;
    Tensor::new((0..ELEMENTS).map(value).collect(), &[4, ELEMENTS / 4]).unwrap()
}

fn model<G: Group>(rank: &Ranks<Cpu, G>) -> Model<G> {
    let config = OptimizerConfig::new(UpdateRule::adamw(0.01)).unwrap();
    let config = config.with_storage(binade_core::DType::BF16);
    MasterOptimizer::new(rank.clone(), vec![Named::new("w", tensor(0))], config).unwrap()
}

/// Takes a step; returns `None` if a rank is gone.
fn step<G: Group>(model: &mut Model<G>, number: usize) -> Option<()> {
    let mut grads = RankGrads::from(vec![Named::new("w", Some(tensor(number)))]);
    let found = model.device().unscale(&mut grads, &ScaleState::from_exponent(0)).ok()?;
    model.step(grads, &found).ok()
}

fn checkpoint<G: Group>(model: &Model<G>, place: usize) -> Option<Checkpoint> {
    let draft = Draft::fresh().optimizer("model", model).ok()?;
    draft.word("place", place).finish().ok()
}

fn place(checkpoint: &Checkpoint) -> usize {
    checkpoint.words["place"].parse().unwrap()
}

/// Resumes from the last checkpoint as one rank, and saves after each step.
fn save(group: Process, path: &Path, steps: usize) -> Option<()> {
    let rank = Ranks::new(Cpu, group);
    let rank = rank.with_partition(Partition::Slices).with_saved_slices();
    let (mut model, mut number) = (model(&rank), 0);
    if path.exists() {
        let (Loaded::Last(from) | Loaded::Previous { checkpoint: from, .. }) =
            Checkpoint::read_by_rank(&rank, path).unwrap();
        number = place(&from);
        let mut restore = from.restore();
        restore.optimizer("model", &mut model).unwrap();
        restore.finish().unwrap();
    }
    while number < steps {
        number += 1;
        step(&mut model, number)?;
        let checkpoint = checkpoint(&model, number)?;
        rank.group().is_saving.store(true, Ordering::Relaxed);
        checkpoint.write_by_rank(&rank, path).ok()?;
        rank.group().is_saving.store(false, Ordering::Relaxed);
    }
    Some(())
}

/// Uninterrupted run on one rank.
struct Uninterrupted {
    model: Model<Alone>,
    files: Vec<Vec<u8>>,
}

impl Uninterrupted {
    /// Returns the bytes of the checkpoint after this many steps.
    fn after(&mut self, steps: usize) -> &[u8] {
        while self.files.len() <= steps {
            let number = self.files.len();
            if number > 0 {
                step(&mut self.model, number).unwrap();
            }
            self.files.push(checkpoint(&self.model, number).unwrap().to_bytes().unwrap());
        }
        &self.files[steps]
    }
}

/// Returns true if there are files of ranks that no manifest names.
fn is_torn(path: &Path) -> bool {
    let beside = names(path.parent().unwrap());
    let step = |name: &String| name.split('.').nth(1)?.parse::<usize>().ok();
    let mut steps: Vec<_> = beside.iter().filter_map(step).collect();
    steps.sort_unstable();
    steps.dedup();
    let is_left = |name: &str| beside.iter().any(|file| file == name);
    steps.len() > 2 || is_left("run.partial") || is_left("run.linked")
}

#[test]
fn a_rank_killed_at_fifty_moments_of_saving_leaves_a_whole_checkpoint() {
    if let Some(group) = Process::here() {
        let (path, steps) = (env::var(PATH).unwrap(), env::var(STEPS).unwrap());
        save(group, &PathBuf::from(path), steps.parse().unwrap()).unwrap_or_else(|| leave());
        process::exit(0);
    }
    let path = folder("killed_ranks").join("run");
    let save = |ranks, steps: usize, kill| {
        let variables = [(PATH, path.to_str().unwrap()), (STEPS, &steps.to_string())];
        run(ranks, TEST, &variables, kill);
    };
    save(2, 2, None);
    let mut whole = Uninterrupted { model: model(&Ranks::new(Cpu, Alone)), files: Vec::new() };
    let mut random = fastrand::Rng::with_seed(50);
    let (mut last, mut torn, mut newer, mut by_rank) = (2, 0, 0, [0; 4]);
    for number in 0..KILLS {
        let ranks = random.usize(2..=4);
        // Most kills come during the writing of files and of the manifest, which follow the second and the fourth call.
        let any = random.usize(1..=CALLS);
        let call = random.choice([2, 2, 2, 4, 4, any]).unwrap();
        let call = call + CALLS * random.usize(..2);
        let after = Duration::from_micros(random.u64(..6000));
        let kill = Kill { rank: random.usize(..ranks), call, after };
        by_rank[kill.rank] += 1;
        save(ranks, usize::MAX, Some(kill));
        let here = format!("kill {number} on {ranks} ranks: {kill:?}");
        torn += usize::from(is_torn(&path));
        let loaded = Checkpoint::read(&path).unwrap_or_else(|error| panic!("{here}: {error}"));
        let now = place(&loaded);
        assert!(now >= last && now <= last + 3, "{here}: {now} after {last}");
        assert!(loaded.to_bytes().unwrap() == whole.after(now), "{here}: other bits after {now}");
        let before = Checkpoint::read(&previous(&path)).unwrap();
        assert!(place(&before) < now, "{here}");
        assert!(before.to_bytes().unwrap() == whole.after(place(&before)), "{here}");
        newer += now - last;
        last = now;
    }
    println!(
        "{torn} of {KILLS} kills left a torn checkpoint behind; {newer} were written; kills by rank: {by_rank:?}"
    );
    assert!(torn > 0 && newer > 0, "no kill fell within a saving");
    save(3, last + 2, None);
    let loaded = Checkpoint::read(&path).unwrap();
    assert!(loaded.to_bytes().unwrap() == whole.after(last + 2));
    assert!(!is_torn(&path), "{:?}", names(path.parent().unwrap()));
}
