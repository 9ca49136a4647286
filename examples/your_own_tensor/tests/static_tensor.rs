//! Arrays whose element type is a type parameter: the length of their join, and their results.

use binade::core::{StaticCast, StaticSet, TypedModel};
use binade::prelude::*;
use binade_checkpoint::{Checkpoint, Draft};
use binade_example_your_own_tensor::static_mlp::{optimizer, parameters, step, train};
use binade_example_your_own_tensor::{digits, static_join::Mlp};
use half::{bf16, f16};

#[test]
fn the_join_is_under_sixty_lines() {
    let lines = include_str!("../src/static_join.rs").lines().count();
    assert!(lines < 60, "{lines}");
}

#[test]
fn arrays_of_sixteen_bits_train_as_those_of_f32_do() {
    let digits = digits::load().unwrap();
    let dynamic = LossScale::dynamic().with_growth_interval(40).unwrap();
    let single = train::<f32>(LossScale::none(), 3, &digits).unwrap();
    assert!(single.accuracy > 0.9, "{single:?}");
    let rows = [
        train::<bf16>(LossScale::none(), 3, &digits).unwrap(),
        train::<f16>(dynamic, 3, &digits).unwrap(),
    ];
    for low in rows {
        assert!((low.loss - single.loss).abs() < 0.02, "{low:?}, and {single:?}");
        assert!((low.accuracy - single.accuracy).abs() < 0.02, "{low:?}, and {single:?}");
    }
}

#[test]
fn a_resumed_run_ends_in_the_same_bits() {
    let [images, _] = digits::load().unwrap();
    let batches = images.batches(0, 32);
    let mut scaler = Scaler::new(TypedModel::<Mlp<f16>>::new(), LossScale::dynamic()).unwrap();
    let mut trained = optimizer::<f16>().unwrap();
    let (_, outcome) = step(&mut scaler, &mut trained, &batches[0]).unwrap();
    let draft = Draft::after(&outcome).scaler("loss", &scaler).unwrap();
    let bytes = draft.optimizer("mlp", &trained).unwrap().finish().unwrap().to_bytes().unwrap();

    let mut scaler_again = Scaler::new(TypedModel::new(), LossScale::dynamic()).unwrap();
    let mut again = optimizer::<f16>().unwrap();
    let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
    let mut restore = checkpoint.restore();
    restore.scaler("loss", &mut scaler_again).unwrap();
    restore.optimizer("mlp", &mut again).unwrap();
    restore.finish().unwrap();
    for batch in &batches[1..3] {
        let (loss, _) = step(&mut scaler, &mut trained, batch).unwrap();
        let (loss_again, _) = step(&mut scaler_again, &mut again, batch).unwrap();
        assert_eq!(loss.to_bits(), loss_again.to_bits());
    }
    assert_eq!(again.save().unwrap(), trained.save().unwrap());
    assert_ne!(trained.full(), parameters().unwrap());
}

#[test]
fn an_array_that_lies_otherwise_is_cast_row_after_row() {
    let mut model = parameters().unwrap();
    let rows: Vec<f32> = model.hidden.0.iter().copied().collect();
    model.hidden.0 = model.hidden.0.t().as_standard_layout().into_owned().reversed_axes();
    assert!(model.slices()[0].value.is_empty());
    let mut cast: Mlp<f32> = StaticCast::<f32>::cast(&model);
    assert_eq!(cast.slices()[0].value, rows);
}
