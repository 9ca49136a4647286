//! Weight that changes between two forward passes of one region: the second pass casts it anew.

use binade::autocast::CastStats;
use binade::prelude::*;
use binade_example_digits::model::Trains;
use binade_tape::{Tape, Var};
use std::sync::Arc;

/// Tape in a region of a type, its casts counted, with a batch of one row.
pub(crate) struct Open<D: Trains> {
    pub(crate) tape: Tape<D>,
    stats: Arc<CastStats>,
    batch: Var<D>,
}

impl<D: Trains> Open<D> {
    pub(crate) fn new(device: &D, dtype: &str) -> Self {
        let region = if dtype == "bf16" { Region::bf16() } else { Region::f16() };
        let stats = Arc::new(CastStats::default());
        let tape = Tape::new(device.clone(), &region).with_stats(stats.clone());
        let batch = tape.constant(device.upload(&[1.0, 0.5], &[1, 2], DType::F32).unwrap());
        Self { tape, stats, batch }
    }

    /// Returns the product of the batch and a weight of one row.
    pub(crate) fn pass(&self, weight: &Var<D>) -> f32 {
        let product = self.batch.linear(weight, None).unwrap();
        assert_ne!(product.dtype(), DType::F32, "the region is on");
        self.tape.device().download(product.tensor()).unwrap()[0]
    }

    /// Returns the number of uses of a kept cast.
    pub(crate) fn reused(&self) -> u64 {
        self.stats.total().reused
    }
}

pub(crate) fn weight<D: Trains>(device: &D) -> Named<D::Tensor> {
    Named::new("weight", device.upload(&[1.0, 2.0], &[1, 2], DType::F32).unwrap())
}

/// Asserts that a step between two passes is seen by the second, and that the leaf from before the step keeps its value.
pub(crate) fn stepped<D: Trains>(device: &D, dtype: &str, _: f32) {
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0)).unwrap();
    let mut optimizer = MasterOptimizer::new(device.clone(), vec![weight(device)], config).unwrap();
    let mut scaler = Scaler::new(device.clone(), LossScale::none()).unwrap();
    let open = Open::new(device, dtype);
    let before = open.tape.parameter(&optimizer.params[0]);
    assert_eq!((open.pass(&before), open.pass(&before), open.reused()), (2.0, 2.0, 1));

    let grad = device.upload(&[1.0, 0.5], &[1, 2], DType::F32).unwrap();
    let grads: NamedGrads<D::Tensor> = vec![Named::new("weight", Some(grad))];
    let loss = open.tape.constant(device.upload(&[0.0], &[], DType::F32).unwrap());
    let grads = scaler.scale(&loss).unwrap().backward(|_| Ok(grads.into())).unwrap();
    let step = grads.unscale().unwrap().step(&mut optimizer).unwrap();
    assert!(scaler.update(step).unwrap().resolve().unwrap().is_applied());

    let after = open.tape.parameter(&optimizer.params[0]);
    assert_eq!((open.pass(&after), open.pass(&before), open.reused()), (0.75, 2.0, 2));
}
