//! Parameters of normalisations are found by the operations that use them.

use crate::common::{named, tensor};
use binade_autocast::Region;
use binade_core::{DType, Named};
use binade_cpu::{Cpu, Tensor};
use binade_tape::{Tape, TapeError};

fn vector(name: &str) -> Named<Tensor> {
    named(name, &[4], 1)
}

#[test]
fn gains_and_offsets_are_found_whatever_they_are_called_and_cast_to() {
    for region in [Region::bf16().off(), Region::f16()] {
        let tape = Tape::new(Cpu, &region);
        let names = ["product", "a", "b", "unused", "c"];
        let [product, a, b, _, c] = names.map(|name| match name {
            "product" => tape.parameter(&named(name, &[4, 4], 2)),
            _ => tape.parameter(&vector(name)),
        });
        let batch = tape.constant(tensor(&[2, 4], 3)).linear(&product, None).unwrap();
        let normed = batch.layer_norm(&a, &b, 1e-5).unwrap();
        normed.rms_norm(&c.cast(DType::BF16).unwrap().cast(DType::F32).unwrap(), 1e-5).unwrap();
        assert_eq!(tape.norms().unwrap(), ["a", "b", "c"]);
    }
}

#[test]
fn a_parameter_that_is_normalised_itself_is_no_gain() {
    let tape = Tape::new(Cpu, &Region::bf16().off());
    let (direction, gain) = (tape.parameter(&vector("direction")), tape.parameter(&vector("gain")));
    direction.rms_norm(&gain, 1e-5).unwrap();
    assert_eq!(tape.norms().unwrap(), ["gain"]);
    tape.parameter(&vector("gain"));
    assert!(matches!(tape.norms(), Err(TapeError::Duplicate { .. })));
}
