//! Moves between devices, alone and on a tape.

use binade_autocast::Region;
use binade_conformance::counting::Counting;
use binade_core::ops::{Download, Fill, Shaped, ToDevice, Upload};
use binade_core::{DType, Error, ErrorKind, Named};
use binade_cpu::{Cpu, Tensor};
use binade_model_parallel::{DeviceTensor, ModelParallel, ModelParallelError};
use binade_tape::{Tape, Var};

type Model = ModelParallel<Cpu>;

fn model() -> Model {
    ModelParallel::new(vec![Cpu; 2]).unwrap()
}

#[test]
fn a_tensor_is_created_on_the_current_device_and_moved_to_another() {
    let model = model();
    let second = model.on(1).unwrap();
    let x = second.upload(&[1.0, 2.0], &[2], DType::F16).unwrap();
    assert_eq!((model.device_of(&x), model.fill(1.0, &[], DType::F32).unwrap().device()), (1, 0));
    assert_eq!(second.upload_i64(&[3], &[1]).unwrap().device(), 1);
    let near = model.beside(&x).unwrap().fill(1.0, &[], DType::F32).unwrap();
    assert_eq!(near.device(), 1);
    let moved = model.to_device(&x, 0).unwrap();
    assert_eq!((moved.device(), moved.tensor().dtype(), x.device()), (0, DType::F16, 1));
    assert_eq!(model.download(&moved).unwrap(), [1.0, 2.0]);
    assert_eq!(model.to_device(&x, 1).unwrap().device(), 1);
}

/// Moves cause no downloads, as the wrapper shows; the CPU itself never waits.
#[test]
fn a_move_is_counted_as_a_call_and_reads_nothing() {
    let device = Counting::strict(model());
    let x = device.upload(&[1.0], &[1], DType::F32).unwrap();
    let moved = device.to_device(&x, 1).unwrap();
    let near = device.beside(&moved).unwrap().fill(1.0, &[], DType::F32).unwrap();
    assert_eq!((device.device_of(&moved), device.device_of(&near)), (1, 1));
    let methods: Vec<_> = device.calls().iter().map(|calls| calls.method).collect();
    assert!(methods.contains(&"to_device") && methods.contains(&"fill"), "{methods:?}");
    assert_eq!(device.reads(), 0);
}

#[test]
fn a_change_of_the_copy_leaves_the_original_as_it_was() {
    let model = model();
    let x = model.upload(&[1.0, 2.0], &[2], DType::F32).unwrap();
    let moved = model.to_device(&x, 1).unwrap();
    let mut changed: Tensor = moved.tensor().clone();
    changed.as_mut_slice::<f32>().unwrap()[0] = 9.0;
    assert_eq!((x.tensor().to_f32()[0], moved.tensor().to_f32()[0]), (1.0, 1.0));
}

#[test]
fn there_is_no_device_beyond_the_last() {
    let model = model();
    let x = model.upload(&[1.0], &[1], DType::F32).unwrap();
    let told = "there is no device 2: the model has 2, numbered from 0";
    for error in
        [model.on(2).err(), model.to_device(&x, 2).err(), model.tensor(x.tensor().clone(), 2).err()]
    {
        let error: ModelParallelError<binade_cpu::Error> = error.unwrap();
        assert_eq!((error.to_string().as_str(), error.kind()), (told, ErrorKind::InvalidArgument));
    }
    assert!(ModelParallel::<Cpu>::new(Vec::new()).is_err());
}

/// Gradients of `x` and `w` of `sum(x · w)`, where x is moved to the device of w and may be cast by a region.
fn gradients(
    region: &Region,
    moves: impl Fn(&Var<Model>) -> Var<Model>,
) -> Vec<DeviceTensor<Tensor>> {
    let model = model();
    let x = model.upload(&[1.0, -2.0], &[1, 2], DType::F32).unwrap();
    let w = model.on(1).unwrap().upload(&[0.5, 3.0], &[1, 2], DType::F32).unwrap();
    let tape = Tape::new(model, region);
    let p = tape.parameters(&[Named::new("x", x), Named::new("w", w)]);
    let y = moves(&p[0]).linear(&p[1], None).unwrap().cast(DType::F32).unwrap();
    let grads: Vec<Named<Option<_>>> = y.sum().unwrap().scaled_by(2.0).unwrap().backward().unwrap();
    grads.into_iter().map(|grad| grad.value.unwrap()).collect()
}

#[test]
fn a_gradient_is_moved_back_to_the_device_of_its_value_in_its_type() {
    for region in [Region::bf16().off(), Region::bf16()] {
        let grads = gradients(&region, |x| {
            let moved = x.to_device(1).unwrap();
            assert_eq!((moved.tensor().device(), moved.dtype()), (1, DType::F32));
            moved
        });
        let [x, w] = &grads[..] else { panic!("{grads:?}") };
        assert_eq!((x.device(), w.device()), (0, 1));
        assert_eq!((x.tensor().dtype(), w.tensor().dtype()), (DType::F32, DType::F32));
        assert_eq!(x.tensor().to_f32().to_vec(), [1.0, 6.0]);
        assert_eq!(w.tensor().to_f32().to_vec(), [2.0, -4.0]);
    }
}

#[test]
fn a_value_may_go_there_and_back_and_stay_where_it_is() {
    let there_and_back = |x: &Var<Model>| {
        let home = x.to_device(1).unwrap().to_device(0).unwrap();
        assert_eq!(home.to_device(0).unwrap().tensor().device(), 0);
        home.to_device(1).unwrap()
    };
    let grads = gradients(&Region::bf16().off(), there_and_back);
    assert_eq!((grads[0].device(), grads[0].tensor().to_f32().to_vec()), (0, vec![1.0, 6.0]));
}

#[test]
fn without_gradients_a_move_is_a_constant() {
    let model = model();
    let x = model.upload(&[1.0], &[1], DType::F32).unwrap();
    let tape = Tape::new(model, &Region::bf16().off());
    let x = tape.parameter(&Named::new("x", x)).on(&tape.no_grad()).unwrap();
    let moved = x.to_device(1).unwrap();
    assert!(moved.sum().unwrap().backward::<Vec<_>>().is_err());
}

#[test]
fn a_part_that_is_computed_again_moves_again() {
    let model = model();
    let x = model.upload(&[1.0, -2.0], &[1, 2], DType::F32).unwrap();
    let w = model.on(1).unwrap().upload(&[0.5, 3.0], &[1, 2], DType::F32).unwrap();
    let tape = Tape::new(model, &Region::bf16().off());
    let p = tape.parameters(&[Named::new("x", x), Named::new("w", w)]);
    let y = tape.recompute(&[&p[0], &p[1]], |of| of[0].to_device(1)?.linear(&of[1], None)).unwrap();
    let grads: Vec<Named<Option<DeviceTensor<Tensor>>>> = y.sum().unwrap().backward().unwrap();
    let x = grads[0].value.as_ref().unwrap();
    assert_eq!((x.device(), x.tensor().to_f32().to_vec()), (0, vec![0.5, 3.0]));
}
