//! Weight that is written where it lies, between two forward passes of one region.

use crate::common::weights::{Open, weight};
use binade_cuda::Cuda;

/// Asserts that the second pass casts the weight anew: its clone on the tape has the values that were written.
pub(crate) fn a_weight_that_was_written_is_cast_anew(cuda: &Cuda, dtype: &str, _: f32) {
    let (open, weight, other) = (Open::new(cuda, dtype), weight(cuda), weight(cuda));
    let on_tape = open.tape.parameter(&weight);
    assert_eq!((open.pass(&on_tape), open.pass(&on_tape), open.reused()), (2.0, 2.0, 1));
    cuda.write(&weight.value, &[4.0, 2.0]).unwrap();
    assert_eq!((open.pass(&on_tape), open.pass(&on_tape), open.reused()), (5.0, 5.0, 2));
    let bits = [8.0_f32, 2.0].map(f32::to_le_bytes).concat();
    cuda.write_bits(&weight.value, &bits).unwrap();
    assert_eq!((open.pass(&on_tape), open.reused()), (9.0, 2));
    cuda.copy_into(&other.value, &weight.value).unwrap();
    assert_eq!((open.pass(&on_tape), open.reused()), (2.0, 2));
}
