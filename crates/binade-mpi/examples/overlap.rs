//! Measures how much of the gradient exchange overlaps with backward: `mpirun -n 4 overlap WIDTH LAYERS BATCH BUCKET ROUNDS LEVEL PAUSE`.
//!
//! Each rank trains a perceptron of LAYERS layers, each WIDTH wide, on its own batch: without other ranks, with gradients that `unscale` sends, and
//! with gradients that are sent in buckets of BUCKET bytes during backward. Backward pauses for PAUSE ms in each layer, like a host that waits for an
//! accelerator. With 0 the products use the cores without pauses.

use binade::prelude::*;
use binade_core::{DType, Handle, Named, Op, OpClass, ops::Ops};
use binade_cpu::{Cpu, Tensor};
use binade_master_weights::MasterWeights;
use binade_mpi::Mpi;
use binade_ranks::{Group, RankGrads, Ranks, Shards};
use binade_tape::{ScalingDevice, Tape, TapeError, Var};
use std::{
    env,
    error::Error,
    fs,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Rank = Ranks<Cpu, Mpi>;
type Params = Vec<Named<Tensor>>;

/// Device that the model is trained on: the CPU, alone or as a rank.
trait Trains: ScalingDevice + Ops + Handle<Tensor = Tensor> + MasterWeights<Params = Params> {}

impl<D> Trains for D where
    D: ScalingDevice + Ops + Handle<Tensor = Tensor> + MasterWeights<Params = Params>
{
}

fn main() -> ExitCode {
    binade_mpi::run(Duration::from_mins(5), measure)
}

/// Model and batch.
#[derive(Clone, Copy, Debug)]
struct Size {
    width: usize,
    layers: usize,
    batch: usize,
    /// Time that backward pauses in each layer.
    pause: Duration,
    level: (OptLevel, DType),
}

/// Variants of a step: how the group takes part in it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Alone,
    After,
    During,
}

fn measure(group: Mpi) -> Outcome {
    let args: Vec<String> = env::args().skip(1).collect();
    let [width, layers, batch, bucket, rounds, level, pause] = &args[..] else {
        return Err(
            "usage: mpirun -n RANKS overlap WIDTH LAYERS BATCH BUCKET ROUNDS O0|O1|O2 PAUSE".into(),
        );
    };
    let level = match &**level {
        "O0" => (OptLevel::O0, DType::F32),
        "O1" => (OptLevel::O1, DType::BF16),
        "O2" => (OptLevel::O2, DType::BF16),
        other => return Err(format!("{other} is no level: give O0, O1 or O2").into()),
    };
    let size = Size {
        width: width.parse()?,
        layers: layers.parse()?,
        batch: batch.parse()?,
        pause: Duration::from_millis(pause.parse()?),
        level,
    };
    let (bucket, rounds): (usize, usize) = (bucket.parse()?, rounds.parse()?);
    let (own, second) = (group.rank(), group.duplicate()?);
    let rank = Ranks::overlapping(Cpu, [group, second], bucket)?;
    let mut alone = amp(Cpu, size)?;
    let mut together = amp(rank.clone(), size)?;
    let mut times = [Way::Alone, Way::After, Way::During].map(|way| (way, Vec::new()));
    // The first round is a warm-up.
    for round in 0..=rounds {
        for (way, times) in &mut times {
            gathered(rank.group(), 0.0)?;
            let (begun, busy) = (Instant::now(), processor_time()?);
            match way {
                Way::Alone => step(&mut alone, &Cpu, size, |_, losses| {
                    Ok(losses.0[0].backward::<Vec<_>>()?.into())
                })?,
                Way::After => step(&mut together, &rank, size, |_, losses| {
                    Ok(RankGrads::from(losses.0[0].backward::<Vec<_>>()?))
                })?,
                Way::During => step(&mut together, &rank, size, |params, losses| {
                    rank.backward(params, &losses.0, |loss, tell| {
                        loss.backward_each(|gradient| Ok(tell(gradient)?))
                    })
                })?,
            }
            let own = [begun.elapsed().as_secs_f64(), processor_time()? - busy];
            let most =
                |own| gathered(rank.group(), own).map(|all| all.into_iter().fold(0.0, f64::max));
            let [time, busy] = own.map(most);
            if round > 0 {
                times.push([time?, busy?]);
            }
        }
    }
    if own == 0 {
        tell(&rank, size, bucket, times);
    }
    Ok(())
}

fn tell(rank: &Rank, size: Size, bucket: usize, times: [(Way, Vec<[f64; 2]>); 3]) {
    let Size { width, layers, batch, pause, level } = size;
    let (ranks, parameters) = (rank.group().ranks(), layers * width * width);
    println!(
        "{ranks} ranks, {parameters} weights in {layers} layers, {batch} rows a rank, {} {}, buckets of {bucket} bytes, pauses of {pause:?}",
        level.0, level.1
    );
    let [alone, after, during] = times.map(|(way, mut times)| {
        let count = times.len();
        times.sort_by(|a, b| a[1].total_cmp(&b[1]));
        let busy = times[count / 2][1];
        times.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let [median, least, most] = [count / 2, 0, count - 1].map(|place| times[place][0]);
        println!(
            "{way:?}: {median:.4} s a step, median of {count} ({least:.4} to {most:.4}), {busy:.4} s of a core"
        );
        median
    });
    println!("hidden: {:.2} of {:.4} s", (after - during) / (after - alone), after - alone);
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn amp<D: Trains>(device: D, size: Size) -> Outcome<Amp<D>> {
    let Size { width, layers, level, .. } = size;
    let bound = (6.0 / width as f32).sqrt();
    let weight = |layer: usize| {
        let element = |at: usize| (((at + layer) * 2_654_435_769) % 1000) as f32 / 500.0 - 1.0;
        let values = (0..width * width).map(|at| bound * element(at)).collect();
        Ok(Named::new(format!("{layer}.weight"), Tensor::new(values, &[width, width])?))
    };
    let params = (0..layers).map(weight).collect::<Result<Vec<_>, binade_cpu::Error>>()?;
    Ok(initialize(device, Model::new(params), UpdateRule::sgd(1e-4), level.0.with(level.1))
        .map_err(|error| error.to_string())?)
}

/// Returns a batch of fixed values around zero.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn rows(size: Size, shift: f32) -> Result<Tensor, binade_cpu::Error> {
    let len = size.batch * size.width;
    let values = (0..len).map(|at| (at % 97) as f32 / 97.0 - shift).collect();
    Tensor::new(values, &[size.batch, size.width])
}

/// Runs one step with the gradients that `backward` returns.
fn step<D: Trains>(
    amp: &mut Amp<D>,
    device: &D,
    size: Size,
    backward: impl FnOnce(&Params, &Shards<Var<D>>) -> Result<D::Grads, TapeError<D::Error>>,
) -> Outcome {
    let tape = Tape::new(device.clone(), &amp.region);
    let params = tape.parameters(&amp.optimizer.params);
    let mut x = tape.constant(rows(size, 0.5)?).cast(params[0].dtype())?;
    for weight in &params {
        x = paused(&x.linear(weight, None)?.relu()?, size.pause)?;
    }
    let loss = Shards(vec![x.cast(DType::F32)?.mse_loss(&tape.constant(rows(size, 0.25)?))?]);
    let params = &amp.optimizer.params;
    let grads = amp.scaler.scale(&loss)?.backward(|losses| backward(params, losses))?;
    let step = grads.unscale()?.step(&mut amp.optimizer)?;
    amp.scaler.update(step)?.ignore();
    Ok(())
}

/// Returns `x`, with a backward in which the thread sleeps.
fn paused<D: Trains>(x: &Var<D>, pause: Duration) -> Result<Var<D>, TapeError<D::Error>> {
    if pause.is_zero() {
        return Ok(x.clone());
    }
    x.tape().custom(
        Op::custom("pause", OpClass::Pointwise),
        &[x],
        |call| Ok(call.operands[0].clone()),
        move |_, gradient| {
            thread::sleep(pause);
            Ok(vec![Some(gradient.clone())])
        },
    )
}

/// Returns the CPU time of this process's threads, in seconds.
fn processor_time() -> Outcome<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir("/proc/self/task")? {
        let told = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += told.split(' ').next().unwrap_or_default().parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

fn gathered(group: &Mpi, own: f64) -> Outcome<Vec<f64>> {
    let mut all = vec![0; 8 * group.ranks()];
    group.all_gather(&own.to_le_bytes(), &vec![8; group.ranks()], &mut all)?;
    Ok(all.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}
