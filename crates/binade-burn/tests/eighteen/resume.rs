//! 9: a checkpoint is burn's records and the scaler's state.

use crate::common::{Mlp, Result, step};
use binade_burn::{Burn, BurnOptimizer, Views};
use binade_core::DType;
use binade_grad_scaler::{LossScale, Scaler};
use burn::module::Module;
use burn::optim::{AdamWConfig, ModuleOptimizer, OptimizerRecord};
use burn::store::ModuleRecord;

const STEPS: usize = 12;

fn adam() -> ModuleOptimizer {
    AdamWConfig::new().init()
}

/// Overflows at first, since 2^24 is too much for f16.
fn scaler() -> Result<Scaler<Burn>> {
    let rule = LossScale::dynamic().with_init_scale(16_777_216.0)?.with_growth_interval(2)?;
    Ok(Scaler::new(Burn, rule)?)
}

fn run(scaler: &mut Scaler<Burn>, trained: &mut BurnOptimizer<Mlp>, steps: usize) -> Result<usize> {
    let mut skipped = 0;
    for _ in 0..steps {
        let loss = trained.module.loss();
        skipped += usize::from(!step(scaler, trained, loss)?.is_applied());
    }
    Ok(skipped)
}

/// Saved to bytes and read into another model, optimizer and scaler.
fn reopened(
    scaler: &Scaler<Burn>,
    trained: &BurnOptimizer<Mlp>,
) -> Result<(Scaler<Burn>, BurnOptimizer<Mlp>)> {
    let module = trained.module.clone().into_record().into_bytes()?;
    let optimizer = trained.optimizer.to_record().into_bytes()?;
    let state = scaler.state()?;

    let fresh = Mlp::new().load_record(ModuleRecord::from_bytes(module)?);
    let module = Views::lower(DType::F16).attach(fresh)?;
    let optimizer = adam().load_record(OptimizerRecord::from_bytes(optimizer)?);
    let mut scaler = self::scaler()?;
    scaler.set_state(state)?;
    Ok((scaler, BurnOptimizer::new(module, optimizer, trained.learning_rate.clone())))
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
    let skipped = run(&mut scaler, &mut whole, STEPS)?;
    assert!((1..STEPS).contains(&skipped), "{skipped}: both kinds of step are to be saved after");
    for at in 0..=STEPS {
        let (mut before, mut trained) = begin()?;
        run(&mut before, &mut trained, at)?;
        let (mut after, mut trained) = reopened(&before, &trained)?;
        run(&mut after, &mut trained, STEPS - at)?;
        assert_eq!(trained.module.bits(), whole.module.bits(), "after step {at}");
        assert_eq!(after.state()?, scaler.state()?, "after step {at}");
    }
    Ok(())
}
