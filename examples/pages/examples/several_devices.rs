//! Several devices: torch's recipes of `DataParallel` and `DistributedDataParallel`, with one GPU a process and with several.
//!
//! A process is a rank, and each of its devices has a shard of the batch and a thread. torch asks to apply `autocast` in `forward`,
//! since a thread begins without it; here the region is a value that each thread is given. Devices are handles of the CPU and ranks
//! are threads, so that the page runs anywhere. `examples/mpi` has processes.

use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_ranks::{Group, Ranks, Shards, threads};
use binade_tape::{Tape, Var};
use std::{thread, time::Duration};

/// Whole batch: four shards of one image of two pixels.
const BATCH: [[f32; 2]; 4] = [[1.0, 2.0], [0.5, -1.0], [-0.75, 0.3], [0.1, 0.7]];

/// Trains one process on its shards for eight steps, and returns the weight.
fn process<G: Group>(group: G) -> Result<Vec<f32>> {
    let (own, count) = (group.rank(), BATCH.len() / group.ranks());
    let shards = &BATCH[own * count..][..count];
    let device = Ranks::new(Cpu, group);
    let model = Model::new(vec![parameter("weight", &[0.3, -0.2], &[1, 2])?]);
    let level = OptLevel::O1.with(DType::F16);
    let mut amp = initialize(device.clone(), model, UpdateRule::sgd(0.1), level)?;
    for _ in 0..8 {
        let (region, params) = (&amp.region, &amp.optimizer.params);
        let forward = |image: &[f32; 2]| {
            let autocast = Tape::new(device.clone(), region);
            let weight = autocast.parameter(&params[0]);
            let image = autocast.constant(Tensor::new(image.to_vec(), &[1, 2])?);
            let output = image.linear(&weight, None)?;
            assert_eq!(output.dtype(), DType::F16, "the region is in force on each thread");
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(output.mul(&output)?.sum()?)
        };
        let losses = thread::scope(|scope| {
            let threads: Vec<_> =
                shards.iter().map(|it| scope.spawn(move || forward(it))).collect();
            threads.into_iter().map(|it| it.join().expect("no panic")).collect::<Result<Vec<_>>>()
        })?;
        let scaled = amp.scaler.scale(&Shards(losses))?;
        let grads =
            scaled.backward(|losses| losses.0.iter().map(Var::backward::<Vec<_>>).collect())?;
        let step = grads.unscale()?.step(&mut amp.optimizer)?; // `unscale` averages all shards of all processes
        amp.scaler.update(step)?.resolve()?.unless_diverged()?;
    }
    Ok(amp.optimizer.params[0].value.to_f32().into_owned())
}

/// Runs so many processes, and returns the weight of each.
fn run(processes: usize) -> Result<Vec<Vec<f32>>> {
    let groups = threads(processes, Duration::from_secs(10)).into_iter();
    let running: Vec<_> = groups.map(|group| thread::spawn(|| process(group))).collect();
    running.into_iter().map(|it| it.join().expect("no panic")).collect()
}

fn main() -> Result<()> {
    for (processes, name) in [
        (1, "DataParallel in a single process"),
        (4, "DistributedDataParallel, one GPU per process"),
        (2, "DistributedDataParallel, multiple GPUs per process"),
    ] {
        println!("{name}: {:?}", run(processes)?[0]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_the_same_bits_on_one_process_with_four_devices_on_two_and_on_four() {
        let alone = run(1).unwrap();
        assert_ne!(alone[0], [0.3, -0.2]);
        for processes in [2, 4] {
            assert!(
                run(processes).unwrap().iter().all(|weight| *weight == alone[0]),
                "{processes}"
            );
        }
    }
}
