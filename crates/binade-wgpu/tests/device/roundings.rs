//! Arithmetic of fused steps against the CPU's: bit by bit if nothing is rounded, within two units in the last place if products
//! and sums may be fused or not.

use crate::{
    shared::{
        counted::rules,
        steps::{NAMES, grads, params},
    },
    support::{
        Compared, Result, TYPES, assert_near, coarse, exact, here, mixed, optimizer, step, there,
        values, wgpu,
    },
};
use binade_core::DType;
use binade_master_weights::{Adam, OptimizerConfig, Sgd, UpdateRule};

crate::tests![
    every_rule_and_type_steps_within_two_units_of_the_cpu,
    steps_that_round_nothing_are_the_cpus_bit_for_bit,
    the_size_of_each_step_of_adam_is_the_hosts_bit_for_bit,
    what_cancels_is_off_by_a_rounding_of_its_terms,
];

fn every_rule_and_type_steps_within_two_units_of_the_cpu() -> Result {
    let damped =
        Sgd { lr: 0.1, momentum: 0.9, dampening: 0.3, weight_decay: 0.05, nesterov: false };
    for rule in rules().into_iter().chain([UpdateRule::Sgd(damped)]) {
        for (param, grad) in TYPES.into_iter().flat_map(|param| TYPES.map(|grad| (param, grad))) {
            let config = OptimizerConfig::new(rule.with_lr(0.1))?;
            let mut run = Compared::new(&wgpu(), &params(1), param, &config);
            for seed in 2..5 {
                run.step(grad, &grads(seed))?;
            }
            let what = format!("{rule:?} {param} {grad}");
            for (got, want) in values(&run.gpu)?.iter().zip(values(&run.cpu)?) {
                assert_near(got, &want, 2, &what);
            }
            let (slot, host) = (there(&run.gpu, "bias")?, here(run.cpu.masters(), "bias"));
            assert_eq!((slot.applied, slot.len), (host.applied, host.len), "{what}");
            for (got, want) in slot.moments.iter().zip(&host.moments) {
                // These are three steps of two roundings each; the CPU rounds once.
                assert_near(got, want, 3, &what);
            }
        }
    }
    Ok(())
}

/// Rules whose constants, and products with coarse values, are short.
fn short() -> Vec<UpdateRule> {
    let all = exact();
    [
        Sgd { momentum: 0.0, weight_decay: 0.0, dampening: 0.0, ..all },
        Sgd { momentum: 0.0, dampening: 0.0, ..all },
        Sgd { weight_decay: 0.0, ..all },
        all,
        Sgd { dampening: 0.0, nesterov: true, ..all },
    ]
    .map(UpdateRule::Sgd)
    .into()
}

fn steps_that_round_nothing_are_the_cpus_bit_for_bit() -> Result {
    // Coarse values, and 2^-129 of them, and so multiples of 2^-135: three steps cost 14 bits at most, and leave multiples of 2^-149.
    for (size, steps) in [(1.0, 4), (f32::from_bits(1 << 20), 3)] {
        let coarse = |seed, len| coarse(seed, len).iter().map(|x| x * size).collect::<Vec<_>>();
        let start = NAMES.map(|(name, len)| (name, coarse(len as u64, len)));
        for (rule, dtype) in short().into_iter().flat_map(|rule| TYPES.map(|dtype| (rule, dtype))) {
            let config = OptimizerConfig::new(rule)?;
            let mut run = Compared::new(&wgpu(), &start, dtype, &config);
            for seed in 0..steps {
                run.step(dtype, &NAMES.map(|(name, len)| (name, coarse(seed + 50, len))))?;
                run.assert_same(&format!("{rule:?} {dtype} {seed}"))?;
            }
        }
    }
    Ok(())
}

/// Zeros, each with a gradient in one step alone, so that nothing is divided: each becomes the step's size, rounded once more.
fn the_size_of_each_step_of_adam_is_the_hosts_bit_for_bit() -> Result {
    const STEPS: usize = 40;
    let rates = [1e-3, 0.1, 7.0, 3e-5, 1.0 / 3.0, 0.0];
    let betas = [[0.5, 0.9], [0.9, 0.999], [0.3, 0.6], [0.0, 0.5], [0.99, 0.9], [0.9, 0.99]];
    // At some step the quotient of each lies just beside the middle of two f32.
    let close = [
        (1.316_758_978_646_248_1e-4, [0.9, 0.999]),
        (1.548_403_000_924_736e-4, [0.9, 0.999]),
        (8.565_479_713_071_731e-5, [0.99, 0.9]),
        (9.773_118_110_166_5e-4, [0.9, 0.99]),
    ];
    for (lr, betas) in rates.into_iter().zip(betas).chain(close) {
        let (weight_decay, decoupled, amsgrad) = (0.0, false, false);
        let rule = Adam { lr, betas, eps: 1.0, weight_decay, decoupled, amsgrad, sparse: false };
        let config = OptimizerConfig::new(UpdateRule::Adam(rule))?;
        let mut run = Compared::new(&wgpu(), &[("w", vec![0.0; STEPS])], DType::F32, &config);
        for number in 0..STEPS {
            let mut grad = vec![0.0; STEPS];
            grad[number] = 2.0_f32.powi(-50);
            run.step(DType::F32, &[("w", grad)])?;
            let [now, host] = [values(&run.gpu)?, values(&run.cpu)?].map(|all| all[0][number]);
            assert_eq!(now.to_bits(), host.to_bits(), "{rule:?} {number}");
            assert_eq!(now == 0.0, lr == 0.0, "{rule:?} {number}");
        }
    }
    Ok(())
}

/// Terms of any size and sign: only the product may be rounded before it is added.
fn what_cancels_is_off_by_a_rounding_of_its_terms() -> Result {
    let wgpu = wgpu();
    let lr = 0.1_f32;
    let finite = |seed| -> Vec<f32> {
        let tamed = |x: f32| if x.is_finite() && x.abs() < 1e30 { x } else { 1.0 };
        mixed(seed, 2000).into_iter().map(tamed).collect()
    };
    let start = finite(1);
    // Half of the gradients all but undo the parameter.
    let undoes = |(place, (x, g)): (usize, (&f32, f32))| if place % 2 == 0 { x * 9.999 } else { g };
    let grad: Vec<f32> = start.iter().zip(finite(2)).enumerate().map(undoes).collect();
    let config = OptimizerConfig::new(UpdateRule::sgd(f64::from(lr)))?;
    let mut run = optimizer(&wgpu, &[("w", start.clone())], DType::F32, config);
    step(&wgpu, &mut run, &[("w", grad.clone())])?;
    for ((now, x), g) in values(&run)?[0].iter().zip(&start).zip(&grad) {
        let product = f64::from(lr) * f64::from(*g);
        let want = f64::from(*x) - product;
        let room = (product.abs() + want.abs()) * 2.0_f64.powi(-24) * 1.000_001;
        assert!((f64::from(*now) - want).abs() <= room, "{now} for {want}: {x} less {product}");
    }
    Ok(())
}
