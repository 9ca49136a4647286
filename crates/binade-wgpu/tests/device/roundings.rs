//! Arithmetic of fused steps against the CPU's: bit by bit if nothing is rounded, within two units in the last place if products
//! and sums may be fused or not.

use crate::{
    shared::steps::{NAMES, grads, params},
    stepping::{adams, rules},
    support::{
        Result, TYPES, assert_near, coarse, exact, here, mixed, optimizer, step, step_in, there,
        values, vector, wgpu,
    },
};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_master_weights::{Adam, OptimizerConfig, Sgd, UpdateRule};

crate::tests![
    every_rule_and_type_steps_within_two_units_of_the_cpu,
    steps_that_round_nothing_are_the_cpus_bit_for_bit,
    subnormal_steps_that_round_nothing_are_too,
    a_low_parameter_is_its_master_to_nearest_even,
    the_size_of_each_step_of_adam_is_the_hosts_bit_for_bit,
    what_cancels_is_off_by_a_rounding_of_its_terms,
];

fn every_rule_and_type_steps_within_two_units_of_the_cpu() -> Result {
    let wgpu = wgpu();
    for rule in rules() {
        for (param, grad) in TYPES.into_iter().flat_map(|param| TYPES.map(|grad| (param, grad))) {
            let mut got = optimizer(&wgpu, &params(1), param, OptimizerConfig::new(rule)?);
            let mut want = optimizer(&Cpu, &params(1), param, OptimizerConfig::new(rule)?);
            for seed in 2..5 {
                step_in(grad, &wgpu, &mut got, &grads(seed))?;
                step_in(grad, &Cpu, &mut want, &grads(seed))?;
            }
            for (place, (got_values, want_values)) in
                values(&got)?.iter().zip(values(&want)?).enumerate()
            {
                let name = NAMES[place].0;
                let what = format!("{rule:?} {param} {grad} `{name}`");
                assert_near(got_values, &want_values, 2, &what);
            }
            let what = format!("{rule:?} {param} {grad}");
            let (slot, host) = (there(&got, "bias")?, here(want.masters(), "bias"));
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
    exact_steps_are_the_cpus(1.0, 4)
}

fn subnormal_steps_that_round_nothing_are_too() -> Result {
    // 2^-129, and so multiples of 2^-135: three steps cost 14 bits at most, and leave multiples of 2^-149.
    exact_steps_are_the_cpus(f32::from_bits(1 << 20), 3)
}

/// Takes this number of steps of coarse values times `size`.
fn exact_steps_are_the_cpus(size: f32, steps: u64) -> Result {
    let wgpu = wgpu();
    let coarse = |seed, len| coarse(seed, len).iter().map(|x| x * size).collect::<Vec<_>>();
    let start = NAMES.map(|(name, len)| (name, coarse(len as u64, len)));
    for (rule, dtype) in short().into_iter().flat_map(|rule| TYPES.map(|dtype| (rule, dtype))) {
        let mut got = optimizer(&wgpu, &start, dtype, OptimizerConfig::new(rule)?);
        let mut want = optimizer(&Cpu, &start, dtype, OptimizerConfig::new(rule)?);
        for seed in 0..steps {
            let grads = NAMES.map(|(name, len)| (name, coarse(seed + 50, len)));
            step_in(dtype, &wgpu, &mut got, &grads)?;
            step_in(dtype, &Cpu, &mut want, &grads)?;
            assert_eq!(got.save()?, want.save()?, "{rule:?} {dtype} {seed}");
        }
    }
    Ok(())
}

fn a_low_parameter_is_its_master_to_nearest_even() -> Result {
    let wgpu = wgpu();
    for low in [DType::BF16, DType::F16] {
        let config = OptimizerConfig::new(UpdateRule::adamw(1e-2))?;
        let mut run = optimizer(&wgpu, &params(1), low, config);
        for seed in 2..5 {
            step(&wgpu, &mut run, &grads(seed))?;
        }
        for (param, master) in run.params.iter().zip(values(&run)?) {
            let want = vector(&wgpu, &master, low);
            assert_eq!(wgpu.to_bits(&param.value)?, wgpu.to_bits(&want)?, "`{}`", param.name);
        }
    }
    Ok(())
}

/// Zeros, each with a gradient in one step alone, so that nothing is divided: each becomes the step's size, rounded once more.
fn the_size_of_each_step_of_adam_is_the_hosts_bit_for_bit() -> Result {
    const STEPS: usize = 40;
    let wgpu = wgpu();
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
        let rule = Adam { lr, betas, eps: 1.0, ..adams()[0] };
        let config = OptimizerConfig::new(UpdateRule::Adam(rule))?;
        let start = [("w", vec![0.0; STEPS])];
        let mut got = optimizer(&wgpu, &start, DType::F32, config.clone());
        let mut want = optimizer(&Cpu, &start, DType::F32, config);
        for number in 0..STEPS {
            let mut grad = vec![0.0; STEPS];
            grad[number] = 2.0_f32.powi(-50);
            step(&wgpu, &mut got, &[("w", grad.clone())])?;
            step(&Cpu, &mut want, &[("w", grad)])?;
            let [now, host] = [values(&got)?, values(&want)?].map(|all| all[0][number]);
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
