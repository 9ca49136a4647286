//! Views of parameters: by type, by path and by policy, and what burn's own layers take.

mod common;

use binade_burn::{BurnOptimizer, Views, require_dtype};
use binade_cast_policy::{CastRule, OpTable, Overrides};
use binade_core::{DType, Error, ErrorKind};
use binade_grad_scaler::Step;
use burn::module::{Lora, Module};
use burn::nn::{BatchNormConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::optim::SgdConfig;
use burn::store::ModuleRecord;
use burn::tensor::{DType as BurnDType, FloatDType, Tensor};
use common::{Mlp, Result, Weights, device, fixed, step};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A layer, and its output normalised.
#[derive(Module, Debug)]
struct Normed {
    linear: Linear,
    norm: LayerNorm,
}

impl Normed {
    fn new() -> Self {
        let (linear, norm) = (LinearConfig::new(4, 4), LayerNormConfig::new(4));
        Self { linear: linear.init(&device()), norm: norm.init(&device()) }
    }

    /// What the weights of the layer and of the normalisation are seen in.
    fn seen(&self) -> [BurnDType; 2] {
        [self.linear.weight.val().dtype(), self.norm.gamma.val().dtype()]
    }
}

#[test]
fn a_policy_lowers_what_multiplies_matrices_and_leaves_norms() -> Result {
    let model = Views::by_policy(OpTable::torch_cuda(), DType::BF16).attach(Normed::new())?;
    assert_eq!(model.seen(), [BurnDType::BF16, BurnDType::F32]);
    let all = Views::lower(DType::BF16).attach(Normed::new())?;
    assert_eq!(all.seen(), [BurnDType::BF16, BurnDType::BF16]);
    let kept = Views::lower(DType::BF16).keep("norm.*").attach(Normed::new())?;
    assert_eq!(kept.seen(), [BurnDType::BF16, BurnDType::F32]);
    Ok(())
}

#[test]
fn a_pattern_that_keeps_nothing_is_refused_by_what_it_says() {
    let views = Views::lower(DType::BF16).keep("norm.*").keep("norms.*");
    let refused = views.attach(Normed::new()).expect_err("what it was meant for would be lowered");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert!(refused.to_string().starts_with("`norms.*` is to be kept, and covers no"), "{refused}");
    assert!(refused.to_string().contains("the first is `linear.weight`"), "{refused}");
}

#[test]
fn a_policy_is_asked_at_the_layers_path_and_may_refuse() -> Result {
    let policy = Overrides::over(OpTable::torch_cuda()).path("lin*", CastRule::To(DType::F16));
    let model = Views::by_policy(policy, DType::BF16).attach(Normed::new())?;
    assert_eq!(model.seen(), [BurnDType::F16, BurnDType::F32]);

    let strict = OpTable::torch_cuda().strict();
    let refused = Views::by_policy(strict, DType::BF16).attach(Weights::new(&[1.0]));
    let refused = refused.expect_err("nobody said what a weight of one's own needs");
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.to_string().contains("`parameter`"), "{refused}");
    Ok(())
}

/// One step of a layer seen in `dtype` and a normalisation held in `f32`, which is given its input in `normed`.
fn normed(dtype: DType, normed: DType) -> Result<Step> {
    let model = Views::by_policy(OpTable::torch_cuda(), dtype).attach(Normed::new())?;
    let mut trained = BurnOptimizer::new(model, SgdConfig::new().init(), 0.1);
    let x = Tensor::<2>::from_floats([[1.0, 2.0, 3.0, 4.0]], &device());
    let hidden = trained.module.linear.forward(x.cast(require_dtype(&device(), dtype)?));
    let hidden = hidden.cast(require_dtype(&device(), normed)?);
    let out = trained.module.norm.forward(hidden).cast(FloatDType::F32);
    Ok(step(&mut fixed(0)?, &mut trained, out.powi_scalar(3).sum())?)
}

#[test]
fn a_normalisation_in_f32_takes_its_input_in_f32_or_in_f16() -> Result {
    for (dtype, input) in
        [(DType::BF16, DType::F32), (DType::F16, DType::F32), (DType::F16, DType::F16)]
    {
        assert_eq!(normed(dtype, input)?.into_applied()?.missing().count(), 0, "{dtype}, {input}");
    }
    Ok(())
}

/// burn's own limit: its `LayerNorm` widens f16, and panics where bf16 meets parameters in `f32`.
#[test]
fn a_normalisation_in_f32_does_not_take_bf16() {
    let mixed = catch_unwind(|| normed(DType::BF16, DType::BF16).is_ok());
    assert!(mixed.is_err(), "burn takes it now: say so in the README");
}

/// burn's own limit: running statistics are `f32`, and a batch's are what it computes in.
#[test]
fn a_batch_normalisation_trains_in_f32_alone() -> Result {
    let seen = Views::lower(DType::F16).attach(BatchNormConfig::new(2).init(&device()))?;
    let x = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 5.0]], &device());
    let half = x.clone().cast(FloatDType::F16);
    let mixed = catch_unwind(AssertUnwindSafe(|| seen.forward(half)));
    assert!(mixed.is_err(), "burn takes it now: say so in the README");
    let kept =
        Views::lower(DType::F16).keep("**").attach(BatchNormConfig::new(2).init(&device()))?;
    assert_eq!(kept.forward(x).dtype(), BurnDType::F32);
    Ok(())
}

#[test]
fn a_second_reparameterisation_is_refused_by_name() -> Result {
    let once = Views::lower(DType::F16).attach(Mlp::new())?;
    let refused = Views::lower(DType::F16).attach(once).expect_err("burn allows one");
    assert!(refused.to_string().starts_with("`fc1.weight`: it has a reparam"), "{refused}");
    let lora = Mlp::new().apply_lora(Lora::new(2, 1.0));
    assert!(Views::lower(DType::F16).attach(lora).is_err());
    Ok(())
}

#[test]
fn a_view_saves_its_f32_parameter_and_is_undone_by_materialize() -> Result {
    let plain = Mlp::new();
    let viewed = Views::lower(DType::F16).attach(plain.clone())?;
    assert_eq!(viewed.bits(), plain.bits());
    let bytes = viewed.clone().into_record().into_bytes()?;
    let read = Mlp::new().load_record(ModuleRecord::from_bytes(bytes)?);
    assert_eq!(read.bits(), plain.bits());
    assert_eq!(viewed.materialize().fc1.weight.base().dtype(), BurnDType::F16);
    Ok(())
}
