//! Cases 1 and 3: the uses of `f32` masters and optimizer state.

use crate::common::{MODES, Result, Weights, fixed, step, trained};
use burn::module::{Module, ModuleMapper, Param};
use burn::optim::{AdamWConfig, SgdConfig};
use burn::tensor::{FloatDType, Tensor};

/// Case 1: optax#1754, and candle's own optimizer. burn alone turns the weight into NaN.
#[test]
fn a_gradient_of_zero_with_an_epsilon_below_f16_leaves_the_weight_where_it_is() -> Result {
    for dtype in MODES {
        let adam = AdamWConfig::new().with_epsilon(1e-8).with_weight_decay(0.0).init();
        let mut trained = trained(Weights::new(&[1.0, -2.0]), dtype, adam, 1e-3)?;
        let mut scaler = fixed(10)?;
        for _ in 0..3 {
            let loss = trained.module.loss(&[0.0, 0.0]);
            assert!(step(&mut scaler, &mut trained, loss)?.is_applied());
        }
        assert_eq!(trained.module.values(), [1.0, -2.0], "{dtype}");
    }
    Ok(())
}

/// Case 3: steps below half an ulp of the weight's type, which do not change the weight in burn alone.
#[test]
fn a_hundred_steps_of_a_ten_thousandth_add_up_to_a_hundredth() -> Result {
    for dtype in MODES {
        let mut trained = trained(Weights::new(&[1.0]), dtype, SgdConfig::new().init(), 1e-4)?;
        let mut scaler = fixed(10)?;
        for _ in 0..100 {
            let loss = trained.module.loss(&[1.0]);
            assert!(step(&mut scaler, &mut trained, loss)?.is_applied());
        }
        assert!((trained.module.values()[0] - 0.99).abs() < 1e-5, "{dtype}");
    }
    Ok(())
}

/// Stores the parameters themselves in sixteen bits, as burn alone does.
struct ToF16;

impl ModuleMapper for ToF16 {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| tensor.cast(FloatDType::F16).detach().require_grad())
    }
}

/// A step in mixed types is refused; burn would panic.
#[test]
fn a_weight_that_is_held_in_f16_is_refused_by_name() -> Result {
    let module = Weights::new(&[1.0]).map(&mut ToF16);
    let mut trained = binade_burn::BurnOptimizer::new(module, SgdConfig::new().init(), 1e-4);
    let loss = trained.module.loss(&[1.0]);
    let refused = step(&mut fixed(0)?, &mut trained, loss).expect_err("no master").to_string();
    assert!(refused.starts_with("`w`: it is held in f16"), "{refused}");
    assert_eq!(trained.module.w.base().dtype(), burn::tensor::DType::F16);
    Ok(())
}
