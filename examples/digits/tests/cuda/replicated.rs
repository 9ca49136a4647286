//! Training on two replicas, each with half of every batch. It is near one device that has the whole, with the same steps applied
//! and the same scales, across an overflow on one of the two; and both have the same bits.

use crate::training::{Takes, Training, assert_near};
use binade::core::DType;
use binade_cuda::{Cuda, Parts, Replicas, Tensor, cudarc::driver::CudaContext};
use binade_example_digits::data::Images;
use binade_example_shared::agree::Line;

/// Levels, each with the relative bound on a step's loss from the one device's.
pub(crate) const RUNS: [Line; 3] = [
    ("--level O0", 1e-4),
    ("--level O1 --dtype f16 --growth-interval 3", 2e-2),
    ("--level O2 --dtype f16 --optimizer sgd --growth-interval 3", 2e-2),
];

impl Takes for Replicas {
    fn give(&self, batch: &Images) -> [Parts<Tensor>; 2] {
        let pixels = self.shard(&batch.pixels, &[batch.len(), batch.area()], DType::F32).unwrap();
        [pixels, self.shard_i64(&batch.labels, &[batch.len()]).unwrap()]
    }

    fn loss(&self, loss: &Parts<Tensor>) -> f32 {
        let [first, second] = self.download_each(loss).unwrap().try_into().unwrap();
        f32::midpoint(first[0], second[0])
    }
}

pub(crate) fn agree(cuda: &Cuda, line: &str, share: f32) {
    let second = usize::from(CudaContext::device_count().is_ok_and(|count| count > 1));
    let replicas = Replicas::open(&[0, second]).unwrap();
    let mut training = Training::new(&replicas, line);
    assert_near(&Training::new(cuda, line).train(), &training.train(), share);
    for param in &training.amp.optimizer.params {
        let bits = replicas.devices().iter().zip(&param.value.0);
        let bits: Vec<_> = bits.map(|(cuda, part)| cuda.to_bits(part).unwrap()).collect();
        assert_eq!(bits[0], bits[1], "{}", param.name);
    }
}
