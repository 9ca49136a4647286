//! Update rules of a program's own with a kernel of its own, against the CPU's.

#[path = "../../../../tests/rule/idle.rs"]
mod idle;

use crate::shared::support::Compared;
use crate::support::{Result, own};
use binade_core::{DType, Error as _, ErrorKind};
use binade_cuda::add_rule;
use binade_master_weights::{
    Correction, CustomRule, ElementState, MasterOptimizer, OptimizerConfig, UpdateRule,
};
use idle::idle_rule;

crate::tests![
    a_rule_with_a_kernel_of_its_own_has_the_bits_of_the_cpu,
    a_kernel_that_is_no_step_is_refused_by_name,
    a_rule_that_counts_otherwise_than_a_device_is_refused_by_name,
];

/// PTX of Adagrad's kernel under another name.
fn ptx(name: &str) -> String {
    let bundle = include_bytes!("../../ptx/kernels.ptx.lzma");
    binade_gpu::unpack_kernels(bundle)["adagrad"].replace("adagrad", name)
}

/// Adagrad's arithmetic, as a program writes it.
struct Own;

impl CustomRule for Own {
    const NAME: &'static str = "own_adagrad";
    const HYPER_PARAMETERS: &'static [&'static str] = &["lr", "lr_decay", "weight_decay"];
    const MOMENTS: &'static [&'static str] = &["sum"];

    fn initial(_: &[f64]) -> [f32; 3] {
        [0.5, 0.0, 0.0]
    }

    fn correction(hyper: &[f64]) -> Option<Correction> {
        Some(Correction::LrDecay(hyper[1]))
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounding is the point")]
    fn constants(hyper: &[f64], applied: u64) -> [f32; 9] {
        let rate = -hyper[0] / Correction::LrDecay(hyper[1]).at(applied).divisor;
        [0.0, rate as f32, hyper[2] as f32, 1e-8, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    fn element(
        &[_, rate, decay, eps, ..]: &[f32; 9],
        grad: f32,
        ElementState { param, moments: [sum, ..] }: &mut ElementState,
    ) -> bool {
        let grad = if decay == 0.0 { grad } else { param.mul_add(decay, grad) };
        *sum = grad.mul_add(grad, *sum);
        let change = rate * grad;
        *param += change / (sum.sqrt() + eps);
        change != 0.0
    }
}

/// Returns constants that depend on the number of steps by a warm-up.
fn warm(applied: u64) -> [f32; 9] {
    let mut row = [0.0; 9];
    row[3] = if applied < 10 { 1.0 } else { 2.0 };
    row
}

idle_rule!(Warm, "own_warm", ["sum"], warm);

fn a_rule_with_a_kernel_of_its_own_has_the_bits_of_the_cpu() -> Result {
    let rule = Own::rule([0.1, 0.25, 0.01]);
    add_rule(&rule, &ptx("own_adagrad"))?;
    add_rule(&rule, &ptx("own_adagrad"))?;
    let error = add_rule(&rule, &format!("{}\n", ptx("own_adagrad"))).unwrap_err();
    assert!(error.to_string().contains("`own_adagrad` cannot have this kernel: a rule"), "{error}");
    let values = |seed: u64, len| crate::support::noise(seed, len);
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let start = [("a", values(1, 4103)), ("b", values(2, 5)), ("c", Vec::new())];
        let config = OptimizerConfig::new(rule)?.with_lost_updates(dtype == DType::BF16);
        let mut run = Compared::new(&own(), &start, dtype, &config);
        for seed in 10..14 {
            let grads =
                [("a", values(seed, 4103)), ("b", values(seed + 100, 5)), ("c", Vec::new())];
            run.step(DType::F32, &grads)?;
        }
        run.assert_same(&format!("{dtype}"))?;
    }
    Ok(())
}

fn a_kernel_that_is_no_step_is_refused_by_name() -> Result {
    idle_rule!(Cast, "cast", [], |_| [0.0; 9]);
    idle_rule!(Ranks, "ranks", [], |_| [0.0; 9]);
    let merge = binade_gpu::unpack_kernels(include_bytes!("../../ptx/kernels.ptx.lzma"))["merge"];
    for (rule, ptx, told) in [
        (
            Cast::rule([0.1]),
            ptx("cast"),
            "`cast` cannot have this kernel: the name is that of a kernel",
        ),
        (
            Ranks::rule([0.1]),
            ptx("ranks"),
            "`ranks` cannot have this kernel: the name is that of a kernel",
        ),
        (
            UpdateRule::sgd(0.1),
            ptx("sgd"),
            "`sgd` cannot have this kernel: the name is that of a kernel",
        ),
        (
            Warm::rule([0.1]),
            ptx("other"),
            "`own_warm` cannot have this kernel: the PTX has no entry",
        ),
        (Warm::rule([0.1]), merge.replace("merge", "own_warm"), "the PTX has no entry"),
    ] {
        let error = add_rule(&rule, &ptx).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    Ok(())
}

fn a_rule_that_counts_otherwise_than_a_device_is_refused_by_name() -> Result {
    idle_rule!(Late, "own_late", ["sum"], warm);
    let rule = Late::rule([0.1]);
    add_rule(&rule, &ptx("own_late"))?;
    let params = Vec::new();
    let error = MasterOptimizer::new(own(), params, OptimizerConfig::new(rule)?).unwrap_err();
    assert!(
        error.to_string().contains("the constants of `own_late` depend on the count otherwise"),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    Ok(())
}
