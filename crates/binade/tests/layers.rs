//! Policies of Keras's by name and by layer train a model, whose normalisations are found by their operations.

use binade::core::DType::{BF16, F16, F32};
use binade::core::ops::Upload;
use binade::interchange::DTypePolicy;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_tape::{Tape, Var};

fn keras(name: &str) -> DTypePolicy {
    DTypePolicy::keras(name).unwrap()
}

fn tensor(shape: &[usize], seed: u8) -> Tensor {
    let count: usize = shape.iter().product();
    let values =
        (0_u8..).take(count).map(|i| f32::from(i.wrapping_mul(89).wrapping_add(seed) % 64));
    Cpu.upload(&values.map(|x| x / 64.0 - 0.5).collect::<Vec<_>>(), shape, F32).unwrap()
}

fn params() -> Vec<Named<Tensor>> {
    let shapes: [(&str, &[usize]); 4] = [
        ("body.weight", &[8, 4]),
        ("norm.gain", &[8]),
        ("norm.offset", &[8]),
        ("head.weight", &[1, 8]),
    ];
    shapes
        .iter()
        .zip(3..)
        .map(|((name, shape), seed)| Named::new(*name, tensor(shape, seed)))
        .collect()
}

/// Types of the results of the layers, and the last.
fn forward(tape: &Tape<Cpu>, params: &[Named<Tensor>]) -> ([DType; 3], Var<Cpu>) {
    let p = tape.parameters(params);
    let x = tape.constant(tensor(&[4, 4], 7));
    let body = x.at("body").linear(&p[0], None).unwrap().relu().unwrap();
    let norm = body.at("norm").layer_norm(&p[1], &p[2], 1e-5).unwrap();
    let head = norm.at("head").linear(&p[3], None).unwrap();
    ([&body, &norm, &head].map(Var::dtype), head)
}

/// Trains, and returns the first loss and the last, the types of the layers' results and those of the parameters.
fn train(
    setup: &Setup<Cpu>,
    model: Model<Vec<Named<Tensor>>>,
) -> ([f32; 2], [DType; 3], Vec<DType>) {
    let mut optimizer = setup.optimizer(model, UpdateRule::adam(1e-2)).unwrap();
    let (mut scaler, mut losses, mut types) = (setup.scaler().unwrap(), Vec::new(), [F32; 3]);
    for _ in 0..100 {
        let tape = Tape::new(Cpu, &setup.region);
        let (seen, head) = forward(&tape, &optimizer.params);
        let loss = head.cast(F32).unwrap().mse_loss(&tape.constant(tensor(&[4, 1], 20))).unwrap();
        losses.push(loss.tensor().as_slice::<f32>().unwrap()[0]);
        let grads = scaler.scale(&loss).unwrap().backward(Var::backward).unwrap();
        let step = grads.unscale().unwrap().step(&mut optimizer).unwrap();
        scaler.update(step).unwrap().resolve().unwrap().unless_diverged().unwrap();
        types = seen;
    }
    let stored = optimizer.params.iter().map(|param| param.value.dtype()).collect();
    ([losses[0], losses[99]], types, stored)
}

#[test]
fn mixed_float16_trains_a_model_whose_head_has_a_policy_of_its_own() {
    let mixed = Properties::try_from(keras("mixed_float16")).unwrap();
    for (properties, head) in
        [(mixed.clone(), F16), (mixed.with_layer("head", keras("float32")), F32)]
    {
        let setup = Setup::new(Cpu, properties).unwrap();
        let ([first, last], types, stored) = train(&setup, Model::new(params()));
        assert!(last < first / 10.0, "{first} {last}");
        assert_eq!(
            (types, stored),
            ([F16, F32, head], vec![F32; 4]),
            "Apex's lists normalise in f32"
        );
        let result = tensor(&[1], 0);
        assert_eq!(setup.output(&result).unwrap().dtype(), F16, "the model's policy");
        assert_eq!(setup.output_at("head", &result).unwrap().dtype(), head);
    }
}

#[test]
fn float16_casts_the_models_input_and_keeps_norms_that_a_pass_found_and_layers_that_say_so() {
    let tape = Tape::new(Cpu, &Region::bf16().off());
    forward(&tape, &params());
    let found = tape.norms().unwrap();
    assert_eq!(found, ["norm.gain", "norm.offset"]);

    let float16 = Properties::try_from(keras("float16")).unwrap();
    let setup = Setup::new(Cpu, float16.clone()).unwrap();
    let ([first, last], types, stored) =
        train(&setup, Model::new(params()).with_norm(found.clone()));
    assert!(last < first / 10.0, "{first} {last}");
    assert_eq!((types, stored), ([F16; 3], vec![F16, F32, F32, F16]));

    let head = float16.with_layer("head", keras("float32"));
    let setup = Setup::new(Cpu, head).unwrap();
    let ([first, last], types, stored) = train(&setup, Model::named(params()).with_norm(found));
    assert!(last < first / 10.0, "{first} {last}");
    assert_eq!((types, stored), ([F16, F16, F32], vec![F16, F32, F32, F32]));
}

#[test]
fn a_layers_policy_comes_before_the_norms_and_the_last_that_covers_a_path_wins() {
    let properties = OptLevel::O2
        .with(BF16)
        .with_layer("**", keras("float32"))
        .with_layer("norm", keras("bfloat16"));
    assert_eq!(properties.layer("norm"), Some(keras("bfloat16")));
    let setup = Setup::new(Cpu, properties).unwrap();
    let model = Model::named(params()).with_norm(["norm.gain"]);
    let stored = setup.optimizer(model, UpdateRule::sgd(0.1)).unwrap().params;
    let stored: Vec<_> = stored.iter().map(|param| param.value.dtype()).collect();
    assert_eq!(stored, [F32, BF16, BF16, F32]);
}

#[test]
fn at_o2_and_o3_layers_run_in_the_type_of_their_weight_and_nothing_else_is_cast() {
    for level in [OptLevel::O2, OptLevel::O3] {
        let region = Setup::new(Cpu, level.with(F16)).unwrap().region;
        let decided =
            |op, types: &[DType]| region.decide(&OpCall::new(op, types)).unwrap().operands;
        assert_eq!(decided(Op::LINEAR, &[F32, F16, F16]), Some(F16));
        assert_eq!(decided(Op::CONV2D, &[F16, F32]), Some(F32), "a weight that is kept in f32");
        assert_eq!(decided(Op::LINEAR, &[F16, F16]), None);
        assert_eq!(decided(Op::LINEAR, &[F32, DType::E4M3]), None);
        assert_eq!(decided(Op::LINEAR_RELU, &[F32, F16]), Some(F16));
        for product in [Op::MATMUL, Op::BMM, Op::SCALED_DOT_PRODUCT_ATTENTION] {
            assert_eq!(decided(product, &[F16, F32]), None, "the second operand is no weight");
        }
        assert_eq!(decided(Op::LAYER_NORM, &[F16, F32, F32]), None);
        assert_eq!(decided(Op::MSE_LOSS, &[F16, F32]), None);
    }
}

#[test]
fn a_policy_that_cannot_hold_is_refused_with_the_pattern() {
    let nameless =
        Setup::new(Cpu, OptLevel::O2.with(F16).with_layer("head", keras("float32"))).unwrap();
    let refused =
        nameless.optimizer(Model::new(params()), UpdateRule::sgd(0.1)).unwrap_err().to_string();
    assert!(refused.contains("`Model::named`"), "{refused}");

    let typo = OptLevel::O1.with(F16).with_layer("hed.**", keras("mixed_float16"));
    let set_up = |properties: Properties| {
        let amp = initialize(Cpu, Model::named(params()), UpdateRule::sgd(0.1), properties);
        amp.map(|_| ()).map_err(|error| error.to_string())
    };
    let refused = set_up(typo.clone()).unwrap_err();
    let told = "the properties name the layers `hed.**`, and no parameter's layer has that path; look for a typing error";
    assert!(refused.starts_with(told), "{refused}");
    assert_eq!(set_up(typo.clone().with_enabled(false)), Ok(()), "layers are switched off too");
    assert_eq!(
        set_up(OptLevel::O1.with(F16).with_layer("head.**", keras("mixed_float16"))),
        Ok(())
    );
    assert!(Setup::new(Cpu, typo).is_ok(), "of models that are to come");

    let o1 = OptLevel::O1.with(BF16);
    for (properties, why) in [
        (
            o1.clone().with_layer("head", keras("bfloat16")),
            "its parameters are in f32, as the level says",
        ),
        (o1.clone().with_layer("head", keras("float64")), "computes in bf16, f16 or f32"),
        (o1.with_layer("head", keras("mixed_float16")), "without loss scaling"),
    ] {
        let refused = properties.check().unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    let off = OptLevel::O2.with(F16).with_layer("head", keras("float32")).with_enabled(false);
    assert!(!Setup::new(Cpu, off).unwrap().region.enabled);
}
