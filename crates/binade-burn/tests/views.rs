//! Views of parameters: by type, by path and by policy, and what burn's own layers take.

use crate::common::{Mlp, Result, Weights, device, fixed, floats, step};
use binade_burn::{BurnOptimizer, Views};
use binade_cast_policy::{CastRule, OpTable, Overrides};
use binade_core::{DType, Error, ErrorKind};
use burn::module::{Lora, Module};
use burn::nn::{BatchNorm, BatchNormConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::optim::SgdConfig;
use burn::store::ModuleRecord;
use burn::tensor::{DType as BurnDType, FloatDType, Tensor};

/// Layer, and a normalisation of its output.
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

    /// Returns the types of the views of the layer's and the normalisation's weights.
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

/// Two batch normalisations, one of them in a layer below.
#[derive(Module, Debug)]
struct BatchNormed {
    linear: Linear,
    bn: BatchNorm,
    block: Block,
}

#[derive(Module, Debug)]
struct Block {
    bn: BatchNorm,
}

impl BatchNormed {
    fn new() -> Self {
        let bn = || BatchNormConfig::new(4).init(&device());
        Self {
            linear: LinearConfig::new(4, 4).init(&device()),
            bn: bn(),
            block: Block { bn: bn() },
        }
    }

    /// Casts around the layers, as the refusal advises.
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let dtype = self.linear.weight.val().dtype();
        let hidden = self.linear.forward(x.cast(dtype)).cast(FloatDType::F32);
        let hidden = self.bn.forward(hidden).cast(dtype);
        self.block.bn.forward(self.linear.forward(hidden).cast(FloatDType::F32))
    }
}

/// Limit of burn: running statistics are `f32`, and a batch's statistics have the type of the computation.
#[test]
fn a_batch_normalisation_that_would_be_lowered_is_refused_with_what_to_keep() -> Result {
    for dtype in [DType::BF16, DType::F16] {
        let refused = Views::lower(dtype).attach(BatchNormed::new()).expect_err("burn would panic");
        assert_eq!(refused.kind(), ErrorKind::Mismatch);
        let text = refused.to_string();
        assert!(text.starts_with("`bn.gamma`: it is a `BatchNorm`'s"), "{text}");
        assert!(text.contains("add `.keep(\"block.bn.*\").keep(\"bn.*\")` to these"), "{text}");
        let lowering = OpTable::torch_cuda().register("batch_norm", CastRule::To(dtype));
        assert!(Views::by_policy(lowering, dtype).attach(BatchNormed::new()).is_err());
        let alone = Views::lower(dtype).attach(BatchNormConfig::new(2).init(&device()));
        let alone = alone.expect_err("burn would panic").to_string();
        assert!(alone.contains("add `.keep(\"*\")` to these"), "{alone}");

        // As the refusal advises.
        let views = Views::lower(dtype).keep("block.bn.*").keep("bn.*");
        let by_policy = Views::by_policy(OpTable::torch_cuda(), dtype);
        for views in [views, by_policy] {
            let model = views.attach(BatchNormed::new())?;
            let mut trained = BurnOptimizer::new(model, SgdConfig::new().init(), 0.1);
            let x = Tensor::<2>::from_floats(
                [[1.0, 2.0, 3.0, 4.0], [-1.0, 0.5, 2.0, 8.0], [0.0, 1.0, 7.0, 2.0]],
                &device(),
            );
            let before = trained.module.bn.running_mean.value_sync();
            let loss = trained.module.forward(x).powi_scalar(3).sum();
            let report = step(&mut fixed(0)?, &mut trained, loss)?.into_applied()?;
            assert_eq!(report.missing().count(), 0, "{report}");
            let moved = trained.module.bn.running_mean.value_sync() - before;
            let moved = floats(moved);
            // The linear layer starts at random values, so one mean of a few bf16 values may be 0.
            assert!(moved.iter().all(|x| x.is_finite()), "{moved:?}");
            assert!(moved.iter().filter(|x| **x == 0.0).count() <= 1, "{moved:?}");
        }
    }
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
