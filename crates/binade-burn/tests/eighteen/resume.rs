//! Case 9: a checkpoint is burn's records and the scaler's state, in one file of `binade-checkpoint`.

use crate::common::{Mlp, Result, step};
use binade_burn::{Burn, BurnOptimizer, Views};
use binade_checkpoint::{Checkpoint, Draft};
use binade_core::DType;
use binade_grad_scaler::{LossScale, Scaler, Step};
use burn::module::Module;
use burn::optim::{AdamWConfig, ModuleOptimizer};
use burn::store::ModuleRecord;
use burn::tensor::Bytes;

const STEPS: usize = 12;

fn adam() -> ModuleOptimizer {
    AdamWConfig::new().init()
}

/// Scaler that overflows at first, since 2^24 is too much for f16.
fn scaler() -> Result<Scaler<Burn>> {
    let rule = LossScale::dynamic().with_init_scale(16_777_216.0)?.with_growth_interval(2)?;
    Ok(Scaler::new(Burn, rule)?)
}

/// Returns the number of skipped steps, and the last outcome.
fn run(
    scaler: &mut Scaler<Burn>,
    trained: &mut BurnOptimizer<Mlp>,
    steps: usize,
) -> Result<(usize, Option<Step>)> {
    let (mut skipped, mut last) = (0, None);
    for _ in 0..steps {
        let loss = trained.module.loss();
        let step = step(scaler, trained, loss)?;
        skipped += usize::from(!step.is_applied());
        last = Some(step);
    }
    Ok((skipped, last))
}

/// Bytes of one file.
fn saved(
    last: Option<&Step>,
    scaler: &Scaler<Burn>,
    trained: &BurnOptimizer<Mlp>,
) -> Result<Vec<u8>> {
    let checkpoint = last
        .map_or_else(Draft::fresh, Draft::after)
        .scaler("loss", scaler)?
        .blob("module", trained.module.clone().into_record().into_bytes()?.to_vec())
        .blob("optimizer", trained.optimizer.into_bytes()?.to_vec())
        .finish()?;
    Ok(checkpoint.to_bytes()?)
}

/// Reads the file into another model, optimizer and scaler.
fn reopened(file: &[u8]) -> Result<(Scaler<Burn>, BurnOptimizer<Mlp>)> {
    let checkpoint = Checkpoint::from_bytes(file)?;
    let bytes = |name| {
        checkpoint.blobs.get(name).map(|blob| Bytes::from_bytes_vec(blob.clone())).ok_or(name)
    };
    let fresh = Mlp::new().try_load_record(ModuleRecord::from_bytes(bytes("module")?)?)?;
    let module = Views::lower(DType::F16).attach(fresh)?;
    let optimizer = adam().from_bytes(bytes("optimizer")?)?;
    let mut scaler = scaler()?;
    let mut restore = checkpoint.restore();
    restore.scaler("loss", &mut scaler)?;
    restore.finish()?;
    Ok((scaler, BurnOptimizer::new(module, optimizer, 1e-2)))
}

/// Case 9: accelerate#4289, and those before it.
#[test]
fn a_run_that_is_saved_and_read_after_any_step_goes_on_bit_for_bit() -> Result {
    let start = Views::lower(DType::F16).attach(Mlp::new())?;
    let begin = || {
        Ok::<_, Box<dyn std::error::Error>>((
            scaler()?,
            BurnOptimizer::new(start.clone(), adam(), 1e-2),
        ))
    };
    let (mut scaler, mut whole) = begin()?;
    let (skipped, _) = run(&mut scaler, &mut whole, STEPS)?;
    assert!((1..STEPS).contains(&skipped), "{skipped}: both kinds of step are to be saved after");
    for at in 0..=STEPS {
        let (mut before, mut trained) = begin()?;
        let (_, last) = run(&mut before, &mut trained, at)?;
        let (mut after, mut trained) = reopened(&saved(last.as_ref(), &before, &trained)?)?;
        run(&mut after, &mut trained, STEPS - at)?;
        assert_eq!(trained.module.bits(), whole.module.bits(), "after step {at}");
        assert_eq!(after.state()?, scaler.state()?, "after step {at}");
    }
    Ok(())
}
