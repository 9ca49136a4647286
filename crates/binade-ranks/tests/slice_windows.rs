//! Windows of ranks that keep slices, saved between micro-batches and opened again on other numbers of ranks.

use crate::common::{each, set, tensor};
use binade_core::{DType, GradSet, Named};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{BadMicroBatch, GradOps, LossScale, SavedWindow, Scaler};
use binade_ranks::{
    Partition::{self, Slices, Whole},
    Ranks,
};
use std::ops::Range;

fn params() -> Vec<Named<Tensor>> {
    vec![
        Named::new("w", tensor(&[0.0; 7], DType::F32)),
        Named::new("b", tensor(&[0.0; 2], DType::F32)),
    ]
}

/// Adds micro-batches to a window on every rank. Returns each rank's saved window, and the sum's bits.
fn go_on(
    (ranks, partition): (usize, Partition),
    from: Option<&SavedWindow>,
    micro_batches: Range<u8>,
) -> (SavedWindow, Vec<Vec<u8>>) {
    let run = |group| {
        let device = Ranks::new(Cpu, group).with_partition(partition);
        let scaler = Scaler::new(device.clone(), LossScale::preset("torch").unwrap()).unwrap();
        let mut window = match from {
            None => scaler.accumulate(BadMicroBatch::Drop),
            Some(saved) => scaler.reopen(&params(), saved).unwrap(),
        };
        for micro_batch in micro_batches.clone() {
            // The second micro-batch overflows.
            let spoilt = if micro_batch == 1 { f32::INFINITY } else { 0.1 };
            let values = [f32::from(micro_batch), 0.3, 0.7, -1.9, 1e-9, 5.0, spoilt];
            let grads = set(&[("w", &values), ("b", &values[..2])], DType::F32);
            window.add(scaler.check_unscaled(grads.into()).unwrap()).unwrap();
        }
        let saved = window.save().unwrap();
        let grads = device.load_grads(&params(), saved.grads.as_ref().unwrap()).unwrap();
        let bits = |grad: Named<Option<Tensor>>| grad.value.unwrap().to_bits();
        (saved, device.materialise(grads).unwrap().into_iter().map(bits).collect())
    };
    let mut all = each(ranks, run);
    let last = all.pop().unwrap();
    for other in all {
        assert_eq!(told(&other.0), told(&last.0));
        assert_eq!(other.1, last.1);
    }
    last
}

fn told(saved: &SavedWindow) -> String {
    format!("{saved:?}")
}

#[test]
fn a_window_that_is_saved_is_opened_again_on_any_number_of_ranks() {
    let (whole, bits) = go_on((1, Whole), None, 0..4);
    assert_eq!(whole.len, 4);
    let (first, _) = go_on((4, Slices), None, 0..2);
    let (second, _) = go_on((2, Slices), Some(&first), 2..3);
    for group in [(1, Slices), (3, Slices), (2, Whole)] {
        let (last, sum) = go_on(group, Some(&second), 3..4);
        assert_eq!((last.grads, sum, last.len), (whole.grads.clone(), bits.clone(), 4));
        let overflow = last.parts[1].finding.overflow.clone().unwrap();
        assert_eq!((&*overflow.parameter, overflow.index), ("w", 6));
    }
}
