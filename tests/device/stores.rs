//! Every store, against the CPU bit by bit: what is stored, and what is kept beside it. Steps are by powers of
//! two, so that every arithmetic brings the stores the same values.

use crate::support::{
    Device as _, Result, STORES, gpu, here, kind, noise, optimizer, step, there, values, vector,
};
use binade_core::{DType, ErrorKind, Named};
use binade_cpu::Cpu;
use binade_master_weights::{MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule};

crate::tests![
    what_is_kept_beside_lowered_parameters_is_the_cpus,
    what_sixteen_bits_cannot_hold_is_kept_as_on_the_cpu,
    subnormal_masters_are_kept_as_on_the_cpu,
    exported_values_are_the_cpus,
    a_parameter_widened_behind_the_optimizers_back_steps_as_on_the_cpu,
    the_other_half_of_another_type_is_refused,
    a_store_that_keeps_no_masters_of_a_type_is_refused,
];

/// Every store with each low type that it takes.
fn stores_and_types() -> impl Iterator<Item = (MasterStore, DType)> {
    let pairs =
        STORES.into_iter().flat_map(|store| [DType::BF16, DType::F16].map(|low| (store, low)));
    pairs.filter(|(store, low)| store.takes(*low))
}

fn what_is_kept_beside_lowered_parameters_is_the_cpus() -> Result {
    let gpu = gpu();
    let set = [("a", noise(1, 4099)), ("b", noise(2, 33)), ("c", vec![1.0 + 2.0_f32.powi(-8); 7])];
    for (store, low) in stores_and_types() {
        let config =
            OptimizerConfig::new(UpdateRule::sgd(0.25))?.with_store(store).with_storage(low);
        let mut run = optimizer(&gpu, &set, DType::F32, config.clone());
        let mut cpu = optimizer(&Cpu, &set, DType::F32, config);
        for seed in 0..4 {
            for (index, (name, _)) in set.iter().enumerate() {
                let what = format!("{store:?} {low} `{name}` before {seed}");
                assert_eq!(there(&run, name)?, here(cpu.masters(), name), "{what}");
                let bits = gpu.bits(&run.params[index].value);
                assert_eq!(bits, cpu.params[index].value.to_bits(), "{what}");
            }
            let mut grads: Vec<_> =
                set.iter().map(|(name, values)| (*name, noise(90 + seed, values.len()))).collect();
            if seed == 2 {
                grads[1].1[3] = f32::NAN;
            }
            step(&gpu, &mut run, &grads)?;
            step(&Cpu, &mut cpu, &grads)?;
        }
        assert_eq!(run.masters().bytes(), cpu.masters().bytes(), "{store:?} {low}");
    }
    Ok(())
}

fn what_sixteen_bits_cannot_hold_is_kept_as_on_the_cpu() -> Result {
    let gpu = gpu();
    let top = [f32::MAX, -f32::MAX, 65504.0, -65504.0, 65520.0, 1e38, 2e-30];
    let odd =
        [f32::from_bits(0x7f7f_7fff), f32::from_bits(0x7f7f_8000), f32::INFINITY, -0.0, f32::NAN];
    let values_at = [&top[..], &odd].concat();
    let back: Vec<f32> =
        values_at.iter().map(|x| if x.is_finite() { x / 4096.0 } else { 1.0 }).collect();
    for (store, low) in stores_and_types() {
        let config =
            OptimizerConfig::new(UpdateRule::sgd(0.5))?.with_store(store).with_storage(low);
        let set = [("w", values_at.clone())];
        let mut run = optimizer(&gpu, &set, DType::F32, config.clone());
        let mut cpu = optimizer(&Cpu, &set, DType::F32, config);
        for grad in [vec![0.0; 12], back.clone(), back.iter().map(|x| -x).collect()] {
            step(&gpu, &mut run, &[("w", grad.clone())])?;
            step(&Cpu, &mut cpu, &[("w", grad)])?;
            let (got, want) = (&run.params[0].value, &cpu.params[0].value);
            let what = format!("{store:?} {low}");
            assert_eq!(plain(&gpu.bits(got)), plain(&want.to_bits()), "{what}");
            let shown = |all: Vec<Vec<f32>>| format!("{all:?}");
            assert_eq!(shown(values(&run)?), shown(values(&cpu)?), "{what}");
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
    let gpu = gpu();
    let units = [0, 0x8000_0000, 0x1_0000, 0x8001_0000, 0x7f_0000, 0x80_0000, 0x8081_0000];
    let set = [("w", units.map(f32::from_bits).to_vec())];
    for (store, low) in stores_and_types() {
        let config =
            OptimizerConfig::new(UpdateRule::sgd(0.5))?.with_store(store).with_storage(low);
        let mut run = optimizer(&gpu, &set, DType::F32, config.clone());
        let mut cpu = optimizer(&Cpu, &set, DType::F32, config);
        for update in [2, 2, 0x8000_0006, 0x1_0000, 0x8002_0000, 0x80_0002] {
            let grads = [("w", vec![f32::from_bits(update); units.len()])];
            step(&gpu, &mut run, &grads)?;
            step(&Cpu, &mut cpu, &grads)?;
            let what = format!("{store:?} {low} after {update:#x}");
            assert_eq!(there(&run, "w")?, here(cpu.masters(), "w"), "{what}");
            assert_eq!(gpu.bits(&run.params[0].value), cpu.params[0].value.to_bits(), "{what}");
        }
    }
    Ok(())
}

fn exported_values_are_the_cpus() -> Result {
    let gpu = gpu();
    let set = [("a", noise(5, 300)), ("b", noise(6, 5))];
    for store in STORES {
        let config = OptimizerConfig::new(UpdateRule::sgd(0.5))?.with_store(store);
        let config = config.with_storage(DType::BF16).keep(["b"]);
        let mut run = optimizer(&gpu, &set, DType::F32, config.clone());
        let mut cpu = optimizer(&Cpu, &set, DType::F32, config);
        for _ in 0..2 {
            assert_eq!(values(&run)?, values(&cpu)?, "{store:?}");
            let grads = set.clone().map(|(name, values)| (name, noise(7, values.len())));
            step(&gpu, &mut run, &grads)?;
            step(&Cpu, &mut cpu, &grads)?;
        }
    }
    Ok(())
}

fn a_parameter_widened_behind_the_optimizers_back_steps_as_on_the_cpu() -> Result {
    let gpu = gpu();
    let set = [("w", noise(8, 40))];
    for store in [MasterStore::Copy, MasterStore::Stochastic { seed: 1 }] {
        let config = OptimizerConfig::new(UpdateRule::sgd(0.5))?.with_store(store);
        let mut run = optimizer(&gpu, &set, DType::BF16, config.clone());
        let mut cpu = optimizer(&Cpu, &set, DType::BF16, config);
        let wide = values(&cpu)?.remove(0);
        run.params[0].value = vector(&gpu, &wide, DType::F32);
        cpu.params[0].value = vector(&Cpu, &wide, DType::F32);
        let grads = [("w", noise(9, 40))];
        step(&gpu, &mut run, &grads)?;
        step(&Cpu, &mut cpu, &grads)?;
        assert_eq!(gpu.bits(&run.params[0].value), cpu.params[0].value.to_bits(), "{store:?}");
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
