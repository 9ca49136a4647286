//! burn's tensors on ranks, with burn's own optimizer.

use crate::common::{device, floats};
use crate::frameworks::{Failed, Framework, LIMIT, Rank, Shard, framework_tests};
use binade_burn::{
    Burn, BurnOptimizer, BurnTensor, Error, Views, parameters, require_dtype, with_parameters,
};
use binade_core::{DType, Error as _, ErrorKind, Named};
use binade_grad_scaler::{Scaler, Step};
use binade_ranks::RankOptimizer;
use burn::module::{Module, Param};
use burn::optim::SgdConfig;
use burn::tensor::{FloatDType, Tensor};

/// Weights and bias.
#[derive(Module, Debug)]
struct Affine {
    w: Param<Tensor<1>>,
    b: Param<Tensor<1>>,
}

impl Affine {
    fn loss(&self, shard: &Shard) -> Tensor<1> {
        let weights = self.w.val();
        let slopes = Tensor::from_floats(shard.slopes.as_slice(), &weights.device());
        let product = weights.clone() * slopes.cast(weights.dtype());
        let loss = product.cast(FloatDType::F32).sum();
        if shard.has_bias {
            loss + self.b.val().cast(FloatDType::F32).sum().mul_scalar(2.0)
        } else {
            loss
        }
    }
}

struct Trained {
    trained: BurnOptimizer<Affine>,
}

impl Framework for Trained {
    type Device = Burn;

    fn device() -> Burn {
        Burn
    }

    fn new(weights: &[f32], bias: f32, dtype: DType) -> Self {
        let param = |values: &[f32]| Param::from_tensor(Tensor::from_floats(values, &device()));
        let module = Affine { w: param(weights), b: param(&[bias]) };
        let module = Views::lower(dtype).attach(module).unwrap();
        Self { trained: BurnOptimizer::new(module, SgdConfig::new().init(), 1.0) }
    }

    fn broadcast(&mut self, rank: &Rank<Self>) -> Result<(), Failed<Self>> {
        let mut params = parameters(&self.trained.module);
        rank.broadcast(&mut params)?;
        self.trained.module = with_parameters(self.trained.module.clone(), params)?;
        Ok(())
    }

    fn check_equal(&self, rank: &Rank<Self>) -> Result<(), Failed<Self>> {
        rank.check_equal(&parameters(&self.trained.module))
    }

    fn step(
        &mut self,
        scaler: &mut Scaler<Rank<Self>>,
        shards: &[Shard],
    ) -> Result<Step, Failed<Self>> {
        let Self { trained } = self;
        let losses = shards.iter().map(|shard| trained.module.loss(shard).into());
        let grads = scaler.scale(&losses.collect::<Vec<BurnTensor>>())?.backward(|losses| {
            losses.iter().map(|loss| Ok(loss.backward(&trained.module)?)).collect()
        })?;
        let step = grads.unscale()?.clip_norm(LIMIT)?.step(&mut RankOptimizer(trained))?;
        scaler.update(step)?.resolve()
    }

    fn values(&self) -> Vec<f32> {
        let Affine { w, b } = &self.trained.module;
        [floats(w.base()), floats(b.base())].concat()
    }
}

framework_tests!(Trained);

#[test]
fn parameters_that_are_put_back_keep_views_and_gradients_and_misfits_are_refused() {
    let module = Trained::new(&[1.0, 2.0], 3.0, DType::F16).trained.module;
    let dtype = require_dtype(&device(), DType::F32).unwrap();
    let value = |values: &[f32]| {
        BurnTensor::from(Tensor::<1>::from_floats(values, &device().inner()).cast(dtype))
    };
    let given = vec![Named::new("w", value(&[5.0, 6.0]))];
    let module = with_parameters(module, given).unwrap();
    assert_eq!((floats(module.w.base()), floats(module.b.base())), (vec![5.0, 6.0], vec![3.0]));
    assert_eq!(module.w.val().dtype(), burn::tensor::DType::F16);
    let shard = Shard { slopes: vec![1.0, 1.0], has_bias: true };
    let grads = BurnTensor::from(module.loss(&shard)).backward(&module).unwrap();
    assert!(grads.iter().all(|grad| grad.value.is_some()));

    let names: Vec<_> = parameters(&module).iter().map(|param| param.name.to_string()).collect();
    assert_eq!(names, ["w", "b"]);
    let refused = |given| -> Error { with_parameters(module.clone(), given).unwrap_err() };
    for (given, told) in [
        (vec![Named::new("c", value(&[1.0]))], "`c`: a value came for it"),
        (vec![Named::new("w", value(&[1.0]))], "`w`: a value of shape [1] in f32 came for it"),
    ] {
        let error = refused(given);
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().starts_with(told), "{error}");
    }
}
