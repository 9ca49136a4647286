//! Every store that has a kernel, against the CPU bit by bit: what is stored, and what is kept beside it.

use crate::support::{Device as _, Result, cuda, here, kind, noise, optimizer, step, vector};
use binade_core::{DType, ErrorKind, Named};
use binade_cpu::Cpu;
use binade_master_weights::{MasterOptimizer, MasterStore, Plan, Snapshot, UpdateRule};
use binade_ops::Download as _;

crate::tests![
    what_is_kept_beside_lowered_parameters_is_the_cpus,
    what_sixteen_bits_cannot_hold_is_kept_as_on_the_cpu,
    nans_infinities_and_subnormals_anywhere_are_those_of_the_cpu,
    exported_values_are_the_cpus,
    a_parameter_widened_behind_the_optimizers_back_steps_as_on_the_cpu,
    the_other_half_of_another_type_is_refused,
    a_store_that_keeps_no_masters_of_a_type_is_refused,
];

const STORES: [MasterStore; 5] = [
    MasterStore::Copy,
    MasterStore::Remainder,
    MasterStore::Stochastic { seed: 0xfedc_ba98_7654_3210 },
    MasterStore::Kahan,
    MasterStore::ScaledF16,
];

/// Every store with each low type that it takes.
fn stores_and_types() -> impl Iterator<Item = (MasterStore, DType)> {
    let pairs =
        STORES.into_iter().flat_map(|store| [DType::BF16, DType::F16].map(|low| (store, low)));
    pairs.filter(|(store, low)| store.takes(*low))
}

fn what_is_kept_beside_lowered_parameters_is_the_cpus() -> Result {
    let cuda = cuda();
    let set = [("a", noise(1, 4099)), ("b", noise(2, 33)), ("c", vec![1.0 + 2.0_f32.powi(-8); 7])];
    for ((store, low), rule) in stores_and_types()
        .flat_map(|pair| [UpdateRule::sgd(0.3), UpdateRule::adamw(1e-2)].map(|rule| (pair, rule)))
    {
        let plan = Plan::new(rule)?.with_store(store).with_storage(low);
        let mut there = optimizer(&cuda, &set, DType::F32, plan.clone());
        let mut cpu = optimizer(&Cpu, &set, DType::F32, plan);
        for seed in 0..4 {
            for (index, (name, values)) in set.iter().enumerate() {
                let slot = there.masters().read(&cuda, name)?.ok_or("a slot")?;
                assert_eq!(
                    slot,
                    here(cpu.masters(), name),
                    "{store:?} {low} `{name}` before {seed}"
                );
                let bits = cuda.bits(&there.params[index].value);
                assert_eq!(
                    bits,
                    cpu.params[index].value.to_bits(),
                    "{store:?} {low} {}",
                    values.len()
                );
            }
            let mut grads: Vec<_> =
                set.iter().map(|(name, values)| (*name, noise(90 + seed, values.len()))).collect();
            if seed == 2 {
                grads[1].1[3] = f32::NAN;
            }
            step(&cuda, &mut there, &grads)?;
            step(&Cpu, &mut cpu, &grads)?;
        }
        assert_eq!(there.masters().bytes(), cpu.masters().bytes(), "{store:?} {low}");
    }
    Ok(())
}

fn what_sixteen_bits_cannot_hold_is_kept_as_on_the_cpu() -> Result {
    let cuda = cuda();
    let top = [f32::MAX, -f32::MAX, 65504.0, -65504.0, 65520.0, 1e38, 2e-38, -1e-40];
    let odd =
        [f32::from_bits(0x7f7f_7fff), f32::from_bits(0x7f7f_8000), f32::INFINITY, -0.0, f32::NAN];
    let values = [&top[..], &odd].concat();
    let back: Vec<f32> = values.iter().map(|x| if x.is_finite() { x / 2.0 } else { 1.0 }).collect();
    for (store, low) in stores_and_types() {
        let plan = Plan::new(UpdateRule::sgd(1.0))?.with_store(store).with_storage(low);
        let set = [("w", values.clone())];
        let mut there = optimizer(&cuda, &set, DType::F32, plan.clone());
        let mut cpu = optimizer(&Cpu, &set, DType::F32, plan);
        for grad in [vec![0.0; 13], back.clone(), back.iter().map(|x| -x).collect()] {
            step(&cuda, &mut there, &[("w", grad.clone())])?;
            step(&Cpu, &mut cpu, &[("w", grad)])?;
            let (got, want) = (&there.params[0].value, &cpu.params[0].value);
            assert_eq!(plain(&cuda.bits(got)), plain(&want.to_bits()), "{store:?} {low}");
            let exported = |values: Vec<f32>| -> Vec<String> {
                values.iter().map(|x| format!("{x:e}")).collect()
            };
            let [got, want] =
                [there.export_f32()?, cpu.export_f32()?].map(|mut all| all.remove(0).value);
            assert_eq!(exported(got), exported(want), "{store:?} {low}");
        }
    }
    Ok(())
}

/// Whole groups of each class, so that every lane meets it, and ends that are none.
fn nans_infinities_and_subnormals_anywhere_are_those_of_the_cpu() -> Result {
    let cuda = cuda();
    let classes = [f32::NAN, f32::INFINITY, 1e-39, -3e-40, 1e-45, 3e-6, 0.0].map(|x| [x; 8]);
    let values = [classes.as_flattened(), &[f32::NAN, 1e-39]].concat();
    let tiny = (0..58).map(|i: u16| f32::from(i % 5) * 1.1e-41).collect::<Vec<_>>();
    let stores = stores_and_types().chain([(MasterStore::Copy, DType::F32)]);
    for (store, low) in stores {
        for rule in [UpdateRule::sgd(1.0), UpdateRule::adam(1e-6)] {
            let plan = Plan::new(rule)?.with_store(store).with_storage(low);
            let set = [("w", values.clone())];
            let mut there = optimizer(&cuda, &set, DType::F32, plan.clone());
            let mut cpu = optimizer(&Cpu, &set, DType::F32, plan);
            for _ in 0..3 {
                step(&cuda, &mut there, &[("w", tiny.clone())])?;
                step(&Cpu, &mut cpu, &[("w", tiny.clone())])?;
                assert_eq!(shown(&there)?, shown(&cpu)?, "{rule:?} {store:?} {low}");
                let [got, want] =
                    [cuda.download(&there.params[0].value)?, Cpu.download(&cpu.params[0].value)?];
                assert_eq!(format!("{got:?}"), format!("{want:?}"), "{rule:?} {store:?} {low}");
            }
        }
    }
    Ok(())
}

/// Exported values as text, in which any NaN is any other.
fn shown<D: Snapshot>(optimizer: &MasterOptimizer<D>) -> Result<String> {
    let exported = optimizer.export_f32().map_err(|error| error.to_string())?;
    let values: Vec<_> = exported.into_iter().map(|one| one.value).collect();
    Ok(format!("{values:?}"))
}

/// Codes, of which those of the last element, a NaN, are left out: any is as good as any other.
fn plain(bits: &[u8]) -> &[u8] {
    &bits[..bits.len() - 2]
}

fn exported_values_are_the_cpus() -> Result {
    let cuda = cuda();
    let set = [("a", noise(5, 300)), ("b", noise(6, 5))];
    for store in STORES.into_iter().chain([MasterStore::NoMaster]) {
        let plan = Plan::new(UpdateRule::adam(1e-2))?
            .with_store(store)
            .with_storage(DType::BF16)
            .keep(["b"]);
        let mut there = optimizer(&cuda, &set, DType::F32, plan.clone());
        let mut cpu = optimizer(&Cpu, &set, DType::F32, plan);
        for _ in 0..2 {
            assert_eq!(values(&there)?, values(&cpu)?, "{store:?}");
            let grads = set.clone().map(|(name, values)| (name, noise(7, values.len())));
            step(&cuda, &mut there, &grads)?;
            step(&Cpu, &mut cpu, &grads)?;
        }
    }
    Ok(())
}

fn values<D: Snapshot>(optimizer: &MasterOptimizer<D>) -> Result<Vec<(String, Vec<u32>)>> {
    let exported = optimizer.export_f32().map_err(|error| error.to_string())?;
    let bits = |one: Named<Vec<f32>>| {
        (one.name.to_string(), one.value.into_iter().map(f32::to_bits).collect())
    };
    Ok(exported.into_iter().map(bits).collect())
}

fn a_parameter_widened_behind_the_optimizers_back_steps_as_on_the_cpu() -> Result {
    let cuda = cuda();
    let set = [("w", noise(8, 40))];
    let stores = [MasterStore::Copy, MasterStore::Stochastic { seed: 1 }, MasterStore::ScaledF16];
    for store in stores {
        let plan = Plan::new(UpdateRule::sgd(0.1))?.with_store(store);
        let mut there = optimizer(&cuda, &set, DType::BF16, plan.clone());
        let mut cpu = optimizer(&Cpu, &set, DType::BF16, plan);
        let wide = values(&cpu)?.remove(0).1.into_iter().map(f32::from_bits).collect::<Vec<_>>();
        there.params[0].value = vector(&cuda, &wide, DType::F32);
        cpu.params[0].value = vector(&Cpu, &wide, DType::F32);
        let grads = [("w", noise(9, 40))];
        step(&cuda, &mut there, &grads)?;
        step(&Cpu, &mut cpu, &grads)?;
        assert_eq!(cuda.bits(&there.params[0].value), cpu.params[0].value.to_bits(), "{store:?}");
    }
    Ok(())
}

fn the_other_half_of_another_type_is_refused() -> Result {
    let cuda = cuda();
    for store in [MasterStore::Remainder, MasterStore::Kahan] {
        let plan = Plan::new(UpdateRule::sgd(0.1))?.with_store(store);
        let mut there = optimizer(&cuda, &[("w", vec![1.0; 3])], DType::BF16, plan);
        there.params[0].value = vector(&cuda, &[1.0; 3], DType::F16);
        let refused = step(&cuda, &mut there, &[("w", vec![1.0; 3])]);
        let text = refused.unwrap_err().message().unwrap_or_default().to_owned();
        assert!(text.contains("another type than when its optimizer was made"), "{text}");
    }
    Ok(())
}

fn a_store_that_keeps_no_masters_of_a_type_is_refused() -> Result {
    let cuda = cuda();
    let remainder = Plan::new(UpdateRule::sgd(0.1))?.with_store(MasterStore::Remainder);
    let param = vec![Named::new("w", vector(&cuda, &[1.0], DType::F16))];
    assert_eq!(kind(MasterOptimizer::new(cuda.clone(), param, remainder)), ErrorKind::Mismatch);
    Ok(())
}
