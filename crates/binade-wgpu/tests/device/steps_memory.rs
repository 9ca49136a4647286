//! Fused steps with values in shared memory, at odd places, and in parts.

use crate::support::{
    Result, TYPES, calm, coarse, exact, narrow, optimizer, set, shifted, step_in, step_with, wgpu,
};
use binade_core::{DType, Error as _, ErrorKind, Named};
use binade_cpu::Cpu;
use binade_master_weights::{MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule};

crate::tests![
    parameters_and_gradients_may_begin_anywhere,
    steps_in_parts_are_those_of_the_whole,
    state_in_bf16_is_refused_by_name,
];

fn parameters_and_gradients_may_begin_anywhere() -> Result {
    let wgpu = wgpu();
    let (start, grad) = (coarse(1, 21), coarse(2, 21));
    for (dtype, offset) in TYPES.into_iter().flat_map(|dtype| [1, 2, 63, 130].map(|o| (dtype, o))) {
        for store in [MasterStore::Copy, MasterStore::NoMaster, MasterStore::Kahan] {
            let config = OptimizerConfig::new(UpdateRule::Sgd(exact()))?.with_store(store);
            let params = vec![Named::new("w", shifted(&wgpu, &start, dtype, offset))];
            let mut got = MasterOptimizer::new(wgpu.clone(), params, config.clone())?;
            let mut want = optimizer(&Cpu, &[("w", start.clone())], dtype, config);
            for _ in 0..2 {
                let one = vec![Named::new("w", Some(shifted(&wgpu, &grad, dtype, offset + 1)))];
                step_with(&wgpu, &mut got, one.into(), 0)?;
                let one = [("w", Some(grad.clone()))];
                step_with(&Cpu, &mut want, set(&Cpu, &one, dtype), 0)?;
            }
            assert_eq!(got.save()?, want.save()?, "{dtype} {offset} {store:?}");
        }
    }
    Ok(())
}

fn steps_in_parts_are_those_of_the_whole() -> Result {
    let (whole, narrow) = (wgpu(), narrow());
    let start = [("w", calm(1, 5003, 1.0))];
    let rules = [UpdateRule::Sgd(exact()), UpdateRule::adamw(1e-2)];
    let stores = [
        MasterStore::Copy,
        MasterStore::Remainder,
        MasterStore::Stochastic { seed: 5 },
        MasterStore::ScaledF16,
    ];
    let pairs = rules.into_iter().flat_map(|rule| stores.map(|store| (rule, store)));
    for (rule, store) in pairs.chain([(UpdateRule::lamb(1e-2), MasterStore::ScaledF16)]) {
        let config = OptimizerConfig::new(rule)?.with_store(store).with_lost_updates(true);
        let mut got = optimizer(&narrow, &start, DType::BF16, config.clone());
        let mut want = optimizer(&whole, &start, DType::BF16, config);
        for seed in 2..4 {
            let grads = [("w", calm(seed, 5003, -0.01))];
            step_in(DType::F16, &narrow, &mut got, &grads)?;
            step_in(DType::F16, &whole, &mut want, &grads)?;
        }
        assert_eq!(got.save()?, want.save()?, "{rule:?} {store:?}");
        let counts = [got.masters().lost_updates(&narrow)?, want.masters().lost_updates(&whole)?];
        assert_eq!(counts[0], counts[1], "{rule:?} {store:?}");
    }
    Ok(())
}

fn state_in_bf16_is_refused_by_name() -> Result {
    let wgpu = wgpu();
    let config = OptimizerConfig::new(UpdateRule::adam(0.1))?.with_bf16_state(["exp_avg_sq"]);
    let params = vec![Named::new("w", shifted(&wgpu, &[1.0], DType::F32, 0))];
    let error = MasterOptimizer::new(wgpu, params, config).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let expected = "state of `adam` in f32, and the configuration keeps `exp_avg_sq` in bf16";
    assert!(error.to_string().contains(expected), "{error}");
    Ok(())
}
