//! Every store, against the CPU bit by bit: what is stored, and what is kept beside it. Steps are by powers of
//! two, so that every arithmetic brings the stores the same values.

use crate::support::{
    Compared, Device as _, Result, STORES, gpu, kind, noise, optimizer, step, values, vector,
};
use binade_core::{DType, ErrorKind, Named};
use binade_cpu::Cpu;
use binade_master_weights::{MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule};

crate::tests![
    what_is_kept_beside_lowered_parameters_is_the_cpus,
    what_sixteen_bits_cannot_hold_is_kept_as_on_the_cpu,
    subnormal_masters_are_kept_as_on_the_cpu,
    a_parameter_widened_behind_the_optimizers_back_steps_as_on_the_cpu,
    the_other_half_of_another_type_is_refused,
    a_store_that_keeps_no_masters_of_a_type_is_refused,
    state_of_lamb_in_bf16_is_refused_by_name,
];

/// Every store with each low type that it takes.
fn stores_and_types() -> impl Iterator<Item = (MasterStore, DType)> {
    let pairs =
        STORES.into_iter().flat_map(|store| [DType::BF16, DType::F16].map(|low| (store, low)));
    pairs.filter(|(store, low)| store.takes(*low))
}

/// Optimizers of a store, whose parameters but for `b` are lowered.
fn compared(
    (store, low): (MasterStore, DType),
    set: &[(&'static str, Vec<f32>)],
) -> Result<Compared> {
    let config = OptimizerConfig::new(UpdateRule::sgd(0.5))?.with_store(store).with_storage(low);
    let config = if set.len() > 1 { config.keep(["b"]) } else { config };
    Ok(Compared::new(&gpu(), set, DType::F32, &config))
}

fn what_is_kept_beside_lowered_parameters_is_the_cpus() -> Result {
    let set = [("a", noise(1, 4099)), ("b", noise(2, 33)), ("c", vec![1.0 + 2.0_f32.powi(-8); 7])];
    for store in stores_and_types() {
        let mut run = compared(store, &set)?;
        for seed in 0..4 {
            let what = format!("{store:?} before {seed}");
            run.assert_same(&what)?;
            assert_eq!(values(&run.gpu)?, values(&run.cpu)?, "{what}, exported");
            let grads = set.iter().map(|(name, values)| (*name, noise(90 + seed, values.len())));
            let mut grads: Vec<_> = grads.collect();
            if seed == 2 {
                grads[1].1[3] = f32::NAN;
            }
            run.step(DType::F32, &grads)?;
        }
        assert_eq!(run.gpu.masters().bytes(), run.cpu.masters().bytes(), "{store:?}");
    }
    Ok(())
}

fn what_sixteen_bits_cannot_hold_is_kept_as_on_the_cpu() -> Result {
    let top = [f32::MAX, -f32::MAX, 65504.0, -65504.0, 65520.0, 1e38, 2e-30];
    let odd =
        [f32::from_bits(0x7f7f_7fff), f32::from_bits(0x7f7f_8000), f32::INFINITY, -0.0, f32::NAN];
    let values_at = [&top[..], &odd].concat();
    let back: Vec<f32> =
        values_at.iter().map(|x| if x.is_finite() { x / 4096.0 } else { 1.0 }).collect();
    for store in stores_and_types() {
        let mut run = compared(store, &[("w", values_at.clone())])?;
        for grad in [vec![0.0; 12], back.clone(), back.iter().map(|x| -x).collect()] {
            run.step(DType::F32, &[("w", grad)])?;
            let (got, want) = (&run.gpu.params[0].value, &run.cpu.params[0].value);
            assert_eq!(plain(&gpu().bits(got)), plain(&want.to_bits()), "{store:?}");
            let shown = |all: Vec<Vec<f32>>| format!("{all:?}");
            assert_eq!(shown(values(&run.gpu)?), shown(values(&run.cpu)?), "{store:?}");
        }
    }
    Ok(())
}

/// Codes without those of the last element, a NaN: any is as good as any other.
fn plain(bits: &[u8]) -> &[u8] {
    &bits[..bits.len() - 2]
}

/// Updates of a few units of the least number, of masters around the least normal one and below it.
fn subnormal_masters_are_kept_as_on_the_cpu() -> Result {
    let units = [0, 0x8000_0000, 0x1_0000, 0x8001_0000, 0x7f_0000, 0x80_0000, 0x8081_0000];
    let set = [("w", units.map(f32::from_bits).to_vec())];
    for store in stores_and_types() {
        let mut run = compared(store, &set)?;
        for update in [2, 2, 0x8000_0006, 0x1_0000, 0x8002_0000, 0x80_0002] {
            run.step(DType::F32, &[("w", vec![f32::from_bits(update); units.len()])])?;
            run.assert_same(&format!("{store:?} after {update:#x}"))?;
        }
    }
    Ok(())
}

fn a_parameter_widened_behind_the_optimizers_back_steps_as_on_the_cpu() -> Result {
    let gpu = gpu();
    let set = [("w", noise(8, 40))];
    for store in [MasterStore::Copy, MasterStore::Stochastic { seed: 1 }] {
        let config = OptimizerConfig::new(UpdateRule::sgd(0.5))?.with_store(store);
        let mut run = Compared::new(&gpu, &set, DType::BF16, &config);
        let wide = values(&run.cpu)?.remove(0);
        run.gpu.params[0].value = vector(&gpu, &wide, DType::F32);
        run.cpu.params[0].value = vector(&Cpu, &wide, DType::F32);
        run.step(DType::F32, &[("w", noise(9, 40))])?;
        let (got, want) = (&run.gpu.params[0].value, &run.cpu.params[0].value);
        assert_eq!(gpu.bits(got), want.to_bits(), "{store:?}");
    }
    Ok(())
}

fn the_other_half_of_another_type_is_refused() -> Result {
    let gpu = gpu();
    for store in [MasterStore::Remainder, MasterStore::Kahan] {
        let config = OptimizerConfig::new(UpdateRule::sgd(0.5))?.with_store(store);
        let mut run = optimizer(&gpu, &[("w", vec![1.0; 3])], DType::BF16, config);
        run.params[0].value = vector(&gpu, &[1.0; 3], DType::F16);
        let refused = step(&gpu, &mut run, &[("w", vec![1.0; 3])]);
        let text = refused.unwrap_err().message().unwrap_or_default().to_owned();
        assert!(text.contains("another type than when its optimizer was made"), "{text}");
    }
    Ok(())
}

fn a_store_that_keeps_no_masters_of_a_type_is_refused() -> Result {
    let remainder = OptimizerConfig::new(UpdateRule::sgd(0.1))?.with_store(MasterStore::Remainder);
    let param = vec![Named::new("w", vector(&gpu(), &[1.0], DType::F16))];
    assert_eq!(kind(MasterOptimizer::new(gpu(), param, remainder)), ErrorKind::Mismatch);
    Ok(())
}

fn state_of_lamb_in_bf16_is_refused_by_name() -> Result {
    let config = OptimizerConfig::new(UpdateRule::lamb(0.1))?.with_bf16_state(["exp_avg"]);
    let params = vec![Named::new("w", vector(&gpu(), &[1.0], DType::F32))];
    let error = MasterOptimizer::new(gpu(), params, config).map(|_| ()).unwrap_err();
    assert!(
        error.to_string().contains(
            "keeps state of `lamb` in f32, and the configuration keeps `exp_avg` in bf16"
        ),
        "{error}"
    );
    assert_eq!(kind(Err::<(), _>(error)), ErrorKind::Unsupported);
    Ok(())
}
