//! Checkpoints with one file for each rank have the bits of whole ones, on any number of ranks.

use crate::common::ranks::{Keeps, each, go_on};
use crate::common::{Setting, Training, folder, names, rules, stores};
use crate::observed::Observed;
use binade_checkpoint::{Checkpoint, Draft, Loaded, previous};
use binade_core::{DType, FoundInf, Named, RawTensor, TensorSpec};
use binade_cpu::{Cpu, Tensor};
use binade_master_weights::{MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule};
use binade_ranks::{Alone, Group, Partition, Ranks, RanksError};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns a checkpoint as text, without the found-inf results of an open window: each rank of these runs has the whole batch, so that an overflow is
/// counted on each.
fn told(checkpoint: &Checkpoint) -> String {
    let mut checkpoint = checkpoint.clone();
    for window in checkpoint.windows.values_mut() {
        (window.verdict, window.parts) = (FoundInf::default(), Vec::new());
    }
    format!("{checkpoint:?}")
}

/// Returns the checkpoint of an uninterrupted run on one rank.
fn uninterrupted(setting: &Setting, micro_batches: usize) -> String {
    let mut run = Training::new(&Ranks::new(Cpu, Alone), setting);
    run.run(micro_batches);
    told(&run.checkpoint())
}

/// Writes in the middle and at the end of windows, each time on another number of ranks with another partition.
fn has_the_bits(setting: &Setting, name: &str) {
    let (folder, mut place) = (folder(name), 0);
    let path = folder.join("run.safetensors");
    let mut crews = vec![
        (3, Keeps::Slices),
        (1, Keeps::Slices),
        (8, Keeps::Slices),
        (2, Keeps::Gathered),
        (4, Keeps::Slices),
        (3, Keeps::Whole),
        (5, Keeps::Slices),
        (1, Keeps::Whole),
    ];
    if setting.store == MasterStore::ScaledF16 {
        crews.retain(|(_, keeps)| matches!(keeps, Keeps::Whole));
    }
    for (crew, micro_batches) in crews.into_iter().zip([4, 3, 1, 4, 2, 2, 3, 1]) {
        go_on(crew, setting, &path, micro_batches);
        place += micro_batches;
        let whole = Checkpoint::read(&path).unwrap();
        assert!(told(&whole) == uninterrupted(setting, place), "{setting:?} on {crew:?}");
        // It may be written as one file, for other programs.
        let one = folder.join("whole");
        whole.write(&one).unwrap();
        assert_eq!(told(&Checkpoint::read(&one).unwrap()), told(&whole));
    }
}

#[test]
fn every_store_and_rule_has_the_bits_of_an_uninterrupted_run_on_changing_numbers_of_ranks() {
    for (number, rule) in rules().into_iter().enumerate() {
        let setting = Setting { window: 3, ..Setting::new(rule) };
        has_the_bits(&setting, &format!("by_rank_rule_{number}"));
    }
    for storage in [DType::BF16, DType::F16] {
        for (number, store) in stores(storage).into_iter().enumerate() {
            let setting = Setting::new(UpdateRule::adamw(0.01));
            let setting = Setting { storage, store, window: 2, ..setting };
            has_the_bits(&setting, &format!("by_rank_store_{storage}_{number}"));
        }
    }
}

#[test]
fn whole_files_and_files_by_rank_follow_each_other_at_one_path() {
    let setting = Setting { window: 2, ..Setting::new(UpdateRule::adamw(0.01)) };
    let folder = folder("by_rank_mixed");
    let path = folder.join("run");
    go_on((2, Keeps::Slices), &setting, &path, 3);
    for place in [5, 7] {
        let whole = each(3, |group| {
            let rank = Keeps::Gathered.on(group);
            let Loaded::Last(checkpoint) = Checkpoint::read_by_rank(&rank, &path).unwrap() else {
                panic!("the last is whole");
            };
            let mut run = Training::resumed(&rank, &setting, &checkpoint);
            run.run(2);
            run.checkpoint()
        });
        whole[0].write(&path).unwrap();
        assert_eq!(told(&Checkpoint::read(&path).unwrap()), uninterrupted(&setting, place));
    }
    // The files of ranks were removed with their manifest.
    assert_eq!(names(&folder), ["run", "run.previous"]);
    go_on((4, Keeps::Slices), &setting, &path, 1);
    assert_eq!(told(&Checkpoint::read(&path).unwrap()), uninterrupted(&setting, 8));
    assert_eq!(told(&Checkpoint::read(&previous(&path)).unwrap()), uninterrupted(&setting, 7));
}

#[test]
fn the_files_of_two_checkpoints_stay_and_none_is_written_again() {
    let setting = Setting::new(UpdateRule::adamw(0.01));
    let folder = folder("by_rank_kept");
    let path = folder.join("run");
    let file = |name: &str| fs::read(folder.join(name)).unwrap();
    let mut last: Vec<(String, Vec<u8>)> = Vec::new();
    for (step, ranks) in [(1, 2), (2, 3), (3, 1), (4, 2)] {
        go_on((ranks, Keeps::Slices), &setting, &path, 1);
        let own: Vec<_> = (0..ranks).map(|rank| format!("run.{step}.{rank}-of-{ranks}")).collect();
        let kept = last.iter().map(|(name, _)| name.clone());
        let mut all: Vec<String> = own.iter().cloned().chain(kept).collect();
        all.push("run".to_owned());
        all.extend((step > 1).then(|| "run.previous".to_owned()));
        all.sort();
        assert_eq!(names(&folder), all);
        for (name, bytes) in &last {
            assert!(file(name) == *bytes, "{name} was written again");
        }
        last = own.into_iter().map(|name| (name.clone(), file(&name))).collect();
        let whole = Checkpoint::read(&path).unwrap();
        assert_eq!(told(&whole), uninterrupted(&setting, step));
        if step > 1 {
            let before = Checkpoint::read(&previous(&path)).unwrap();
            assert_eq!(told(&before), uninterrupted(&setting, step - 1));
        }
    }
}

/// Elements of a model of which each of four ranks has a quarter.
const ELEMENTS: usize = 4 << 14;

fn large<G: Group>(rank: &Ranks<Cpu, G>) -> MasterOptimizer<Ranks<Cpu, G>> {
    let values = (0..=u16::MAX).map(|at| f32::from(at).sin()).collect();
    let weight = Tensor::new(values, &[4, ELEMENTS / 4]).unwrap();
    let config = OptimizerConfig::new(UpdateRule::adamw(0.1)).unwrap().with_storage(DType::BF16);
    MasterOptimizer::new(rank.clone(), vec![Named::new("w", weight)], config).unwrap()
}

#[test]
fn a_rank_sends_names_and_checksums_and_writes_and_reads_its_quarter() {
    let folder = folder("by_rank_counted");
    let path = folder.join("run");
    let table = vec![7; 1 << 12];
    let (sent, path, table) = (AtomicUsize::new(0), &path, &table);
    let sent = Arc::new(sent);
    each(4, |group| {
        let (own, count) = (group.rank(), sent.clone());
        let observe = move |_: &str, bytes: &mut Vec<u8>| {
            count.fetch_add(bytes.len(), Ordering::Relaxed);
        };
        let rank = Ranks::new(Cpu, Observed { group, observe });
        let rank = rank.with_partition(Partition::Slices).with_saved_slices();
        let optimizer = large(&rank);
        rank.gather("the model", &[]).unwrap();
        if own == 0 {
            sent.store(0, Ordering::Relaxed);
        }
        rank.gather("the count", &[]).unwrap();
        let draft = Draft::fresh().optimizer("model", &optimizer).unwrap();
        let checkpoint = draft.blob("table", table.clone()).finish().unwrap();
        for saved in &checkpoint.optimizers["model"].parameters {
            let kept = saved.kept.iter().map(|(_, raw)| raw);
            let lengths: Vec<_> = kept.map(|raw| raw.elements().len()).collect();
            assert_eq!(lengths, [ELEMENTS / 4; 3]);
            assert_eq!(saved.value.elements().len(), ELEMENTS / 4);
        }
        checkpoint.write_by_rank(&rank, path).unwrap();
        rank.gather("the end", &[]).unwrap();
    });
    // Two meetings of the count and the end, and three of the checkpoint; a header has 112 bytes.
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent <= 4 * (5 * 112 + 200), "{sent} bytes were sent");
    // A parameter of two bytes, a master and two moments of four, and the state common to all ranks.
    let quarter = ELEMENTS / 4 * (2 + 4 + 8);
    for rank in 0..4 {
        let bytes = fs::read(folder.join(format!("run.1.{rank}-of-4"))).unwrap().len();
        let data = quarter + if rank == 0 { table.len() } else { 0 };
        assert!(bytes >= data && bytes <= data + 1000, "rank {rank}: {bytes}");
    }
    for (ranks, part) in [(4, 4), (2, 2), (1, 1)] {
        each(ranks, |group| {
            let rank = Keeps::Slices.on(group);
            let loaded = Checkpoint::read_by_rank(&rank, path).unwrap();
            let Loaded::Last(checkpoint) = loaded else { panic!("the last is whole") };
            assert!(checkpoint.blobs["table"] == *table);
            let saved = &checkpoint.optimizers["model"].parameters[0];
            for raw in saved.kept.iter().map(|(_, raw)| raw).chain([&saved.value]) {
                assert_eq!(raw.elements(), rank.own_slice("w", ELEMENTS));
                assert_eq!(raw.elements().len(), ELEMENTS / part);
            }
            let mut optimizer = large(&rank);
            let zeros = vec![0.0; ELEMENTS];
            let zeros = Tensor::from_f32(zeros, &[4, ELEMENTS / 4], DType::BF16).unwrap();
            optimizer.params[0].value = zeros;
            let mut restore = checkpoint.restore();
            restore.optimizer("model", &mut optimizer).unwrap();
            restore.finish().unwrap();
            assert_eq!(optimizer.params[0].value.to_bits(), large(&rank).params[0].value.to_bits());
        });
    }
}

#[test]
fn slices_are_not_taken_for_whole_tensors() {
    let path = folder("by_rank_slices").join("run");
    each(2, |group| {
        let rank = Keeps::Slices.on(group);
        let own = rank.group().rank();
        let optimizer = large(&rank);
        let checkpoint = Draft::fresh().optimizer("model", &optimizer).unwrap().finish().unwrap();
        let error = checkpoint.write(&path).unwrap_err().to_string();
        assert!(error.contains("a slice of `optimizer/model/parameter/w` alone"), "{error}");
        // A device with whole masters, and one with the other slice.
        let mut whole = large(&Ranks::new(Cpu, Alone));
        let mut restore = checkpoint.restore();
        let error = restore.optimizer("model", &mut whole).unwrap_err().to_string();
        assert!(error.contains("of the value of `w`: found bf16 [32768]"), "{error}");
        let spec = TensorSpec::new(DType::F32, [2]);
        let tensor = RawTensor::of_slice(spec, own..own + 1, vec![0; 4]).unwrap();
        let draft = Draft::fresh().tensor("mine", tensor).finish().unwrap();
        let told = draft.write_by_rank(&rank, &path).unwrap_err().to_string();
        assert!(told.contains("a slice of `tensor/mine` alone"), "{told}");
    });
    assert!(names(path.parent().unwrap()).is_empty());
}

#[test]
fn ranks_that_save_other_contents_or_save_alone_are_told() {
    let path = folder("by_rank_differ").join("run");
    let differ = |run: &(dyn Fn(&Ranks<Cpu, binade_ranks::Threads>) -> String + Sync)| {
        each(2, |group| run(&Keeps::Slices.on(group)))
    };
    for told in differ(&|rank| {
        let epoch = rank.group().rank();
        let checkpoint = Draft::fresh().word("epoch", epoch).finish().unwrap();
        checkpoint.write_by_rank(rank, &path).unwrap_err().to_string()
    }) {
        assert!(told.contains("rank 0 has `run`, words {\"epoch\": \"0\"}"), "{told}");
        assert!(told.contains("ranks [1] have `run`, words {\"epoch\": \"1\"}"), "{told}");
    }
    for told in differ(&|rank| {
        let blob = [u8::try_from(rank.group().rank()).unwrap()];
        let checkpoint = Draft::fresh().blob("generator", blob).finish().unwrap();
        checkpoint.write_by_rank(rank, &path).unwrap_err().to_string()
    }) {
        assert!(told.contains("ranks differ in the setting of a `gather`"), "{told}");
    }
    for told in differ(&|rank| {
        if rank.group().rank() == 0 {
            let checkpoint = Draft::fresh().finish().unwrap();
            return checkpoint.write_by_rank(rank, &path).unwrap_err().to_string();
        }
        let params = vec![Named::new("w", Tensor::new(vec![1.0_f32], &[1]).unwrap())];
        let config = OptimizerConfig::new(UpdateRule::sgd(0.1)).unwrap();
        let error = MasterOptimizer::new(rank.clone(), params, config).unwrap_err();
        assert!(matches!(error, RanksError::Desync(_)));
        error.to_string()
    }) {
        assert!(told.contains("`gather`, as in `write_by_rank`"), "{told}");
        assert!(told.contains("`masters` in meeting 0"), "{told}");
    }
    assert!(names(path.parent().unwrap()).is_empty());
}
