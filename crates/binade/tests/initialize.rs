//! Models after setup: their form, and that they train as their level says.

use binade::OptLevel::{self, O0, O1, O2, O3};
use binade::core::DType::{self, BF16, F16, F32};
use binade::core::{ErrorKind, NamedGrads};
use binade::{Properties, prelude::*};
use binade_cpu::{Cpu, Tensor};

/// Number between two of f16, and of bf16.
const THIRD: f32 = 1.0 / 3.0;

fn tensor(values: &[f32]) -> Tensor {
    Tensor::new(values.to_vec(), &[values.len()]).unwrap()
}

fn model() -> Model<Vec<Named<Tensor>>> {
    let params = [("weight", [THIRD, 1.0]), ("norm.gain", [THIRD, 1.0])];
    let params = params.map(|(name, values)| Named::new(name, tensor(&values)));
    Model::new(params.into()).with_norm(["norm.gain"])
}

fn at(level: OptLevel, dtype: DType) -> Amp<Cpu> {
    initialize(Cpu, model(), UpdateRule::sgd(1.0), level.with(dtype)).unwrap()
}

fn stored(amp: &Amp<Cpu>) -> [DType; 2] {
    [0, 1].map(|place| amp.optimizer.params[place].value.dtype())
}

fn values(amp: &Amp<Cpu>, place: usize) -> Vec<f32> {
    amp.optimizer.params[place].value.to_f32().into_owned()
}

fn master(amp: &Amp<Cpu>, name: &str) -> Option<Vec<f32>> {
    amp.optimizer.masters().get(name).unwrap().master.copy().cloned()
}

/// Text of the report of a good step.
fn reported(amp: &mut Amp<Cpu>) -> String {
    step(amp, 0.25).into_applied().unwrap().to_string()
}

#[test]
fn on_host_tensors_a_parameter_that_a_set_leaves_out_is_reported_as_missing() {
    let device = HostDevice::<HostTensor>::new();
    let params = ["a", "b"].map(|name| Named::new(name, HostTensor::from(vec![1.0_f32])));
    let model = Model::new(params.into());
    let mut amp = initialize(device, model, UpdateRule::sgd(1.0), O0.with(F32)).unwrap();
    for (listed, missing) in [(&["a"][..], &["b"][..]), (&["b", "a"], &[]), (&["b"], &["a"])] {
        let grads =
            listed.iter().map(|name| Named::new(*name, Some(HostTensor::from(vec![0.5_f32]))));
        let grads = amp.scaler.check_unscaled(grads.collect()).unwrap();
        let mut window = amp.scaler.accumulate(BadMicroBatch::Drop);
        window.add(grads).unwrap();
        let step = window.finish().unwrap().unwrap().step(&mut amp.optimizer).unwrap();
        let step = amp.scaler.update(step).unwrap().resolve().unwrap();
        assert!(step.is_applied(), "{step:?}");
        assert!(
            step.report().missing().map(|name| &**name).eq(missing.iter().copied()),
            "{step:?}"
        );
    }
    let grads = vec![Named::new("a", Some(HostTensor::from(vec![0.5_f32])))];
    let step = amp.scaler.check_unscaled(grads).unwrap().step(&mut amp.optimizer).unwrap();
    let report = amp.scaler.update(step).unwrap().resolve().unwrap().into_applied().unwrap();
    assert!(report.to_string().contains("no gradient for b"), "{report}");
}

#[test]
fn a_group_of_the_model_is_moved_by_a_rule_of_another_kind_at_every_level() {
    for (level, dtype) in [(O0, F32), (O1, F16), (O2, F16), (O2, BF16), (O3, BF16)] {
        let model = model().with_group(["norm.gain"], UpdateRule::adam(0.5));
        let mut amp = initialize(Cpu, model, UpdateRule::sgd(1.0), level.with(dtype)).unwrap();
        let before = [0, 1].map(|place| values(&amp, place)[1]);
        let step = step(&mut amp, 0.25);
        assert!(step.is_applied(), "{step:?}");
        let moved = [0, 1].map(|place| before[place] - values(&amp, place)[1]);
        let is_adams = (moved[1] - 0.5).abs() < 1e-3; // its first step is its rate
        assert!(moved[0] == 0.25 && is_adams, "{level:?} {dtype:?}: {moved:?}");
    }
    let model = || model().with_group(["norm.gian"], UpdateRule::adam(0.5));
    let refused = initialize(Cpu, model(), UpdateRule::sgd(1.0), O1.with(F16)).unwrap_err();
    assert!(refused.to_string().contains("names `norm.gian`, and no parameter has"), "{refused}");
    let rule = UpdateRule::adam(f64::NAN);
    let model = self::model().with_group(["norm.gain"], rule);
    let refused = initialize(Cpu, model, UpdateRule::sgd(1.0), O1.with(F16)).unwrap_err();
    assert!(matches!(refused, binade::InitError::Rule(_)), "{refused}");
}

#[test]
fn o1_says_at_its_first_step_that_no_operation_asked_its_region() {
    let mut amp = at(O1, F16);
    let told = reported(&mut amp);
    let start = "step 1 applied; scale 65536. No operation has asked O1's region, so that all ran in the types";
    assert!(told.starts_with(start), "{told}");
    assert!(reported(&mut amp).contains("No operation has asked"), "until one does");
    // A region made of the model's own counts as that.
    let derived = amp.region.with_policy(OpTable::torch_cuda()).unwrap();
    derived.open(&Cpu).cast(Op::MATMUL, "", [&tensor(&[1.0])]).unwrap();
    assert_eq!(reported(&mut amp), "step 3 applied; scale 65536");
    for level in [O0, O2, O3] {
        let told = reported(&mut at(level, BF16));
        assert!(!told.contains("region"), "{level} has none: {told}");
    }
}

#[test]
fn a_batch_is_brought_to_the_type_that_parameters_are_stored_in() {
    let brought = |level: OptLevel, from| {
        let setup = Setup::new(Cpu, level.with(F16)).unwrap();
        setup.input(&tensor(&[1.0]).cast(from).unwrap()).unwrap().dtype()
    };
    assert_eq!([O0, O1, O2, O3].map(|level| brought(level, F32)), [F32, F32, F16, F16]);
    assert_eq!([O0, O1, O2, O3].map(|level| brought(level, BF16)), [F32, BF16, F16, F16]);
    let labels = Tensor::new(vec![1_i64], &[1]).unwrap();
    let setup = Setup::new(Cpu, O2.with(F16)).unwrap();
    assert_eq!(setup.input(&labels).unwrap().dtype(), DType::I64);
}

/// Takes one step in which both parameters have gradients of `gradient`, in the type they are stored in.
fn step(amp: &mut Amp<Cpu>, gradient: f32) -> Step {
    let loss = Tensor::scalar(gradient);
    let params = &amp.optimizer.params;
    let spread = |scaled: &Tensor| {
        let scaled = scaled.to_f32()[0];
        let grad = |p: &Named<Tensor>| {
            let grad = tensor(&[scaled, scaled]).cast(p.value.dtype())?;
            Ok(Named::new(p.name.clone(), Some(grad)))
        };
        let grads: Result<NamedGrads<Tensor>, binade_cpu::Error> =
            params.iter().map(grad).collect();
        Ok(grads?.into())
    };
    let grads = amp.scaler.scale(&loss).unwrap().backward(spread).unwrap();
    let pending = grads.unscale().unwrap().step(&mut amp.optimizer).unwrap();
    amp.scaler.update(pending).unwrap().resolve().unwrap()
}

#[test]
fn o0_and_o1_leave_every_parameter_in_f32_and_make_no_masters() {
    for level in [O0, O1] {
        for dtype in [BF16, F16] {
            let amp = at(level, dtype);
            assert_eq!(stored(&amp), [F32, F32], "{level}");
            assert_eq!(values(&amp, 0), [THIRD, 1.0], "{level}");
            assert_eq!((master(&amp, "weight"), master(&amp, "norm.gain")), (None, None));
            assert_eq!(amp.region.enabled, level == O1);
        }
    }
}

#[test]
fn o2_stores_sixteen_bits_but_for_norm_with_masters_of_the_values_given() {
    for dtype in [BF16, F16] {
        let amp = at(O2, dtype);
        assert_eq!(stored(&amp), [dtype, F32]);
        assert_ne!(values(&amp, 0)[0], THIRD, "{dtype} cannot hold it");
        assert_eq!(master(&amp, "weight"), Some(vec![THIRD, 1.0]), "{dtype}");
        assert_eq!((values(&amp, 1), master(&amp, "norm.gain")), (vec![THIRD, 1.0], None));
    }
}

#[test]
fn o2_remembers_the_small_updates_that_o3_forgets() {
    for (dtype, update) in [(BF16, 2.0_f32.powi(-10)), (F16, 2.0_f32.powi(-13))] {
        let (mut kept, mut lost) = (at(O2, dtype), at(O3, dtype));
        for _ in 0..8 {
            assert!(step(&mut kept, update).is_applied());
            assert!(step(&mut lost, update).is_applied());
        }
        assert_eq!(values(&kept, 0)[1], 1.0 - 8.0 * update, "{dtype}");
        assert_eq!(
            values(&lost, 0)[1],
            1.0,
            "{dtype}: a quarter of the gap below 1, lost each time"
        );
    }
}

#[test]
fn f16_starts_at_torchs_scale_and_halves_it_at_an_overflow() {
    for level in [O1, O2] {
        let mut amp = at(level, F16);
        assert_eq!(amp.scaler.state().unwrap().factor(), 65536.0);
        let Step::Skipped(report) = step(&mut amp, f32::MAX) else { panic!("an overflow") };
        assert_eq!(report.scale.factor(), 32768.0);
        assert_eq!(values(&amp, 0)[1], 1.0, "{level}: nothing moved");
    }
}

#[test]
fn bf16_is_not_scaled_and_an_injected_nan_is_reported_all_the_same() {
    for level in [O1, O2, O3] {
        let mut amp = at(level, BF16);
        let before = [values(&amp, 0), values(&amp, 1)];
        let Step::Skipped(report) = step(&mut amp, f32::NAN) else { panic!("{level}: a NaN") };
        let overflow = report.overflow().unwrap();
        assert_eq!((&*overflow.parameter, overflow.index, overflow.what()), ("weight", 0, "NaN"));
        assert_eq!([report.scale.factor_before(), report.scale.factor()], [1.0, 1.0]);
        assert_eq!([values(&amp, 0), values(&amp, 1)], before, "{level}: nothing moved");
        assert!(step(&mut amp, 0.5).is_applied());
    }
}

#[test]
fn a_name_that_no_parameter_has_is_refused_where_norms_are_kept() {
    let typo = || model().with_norm(["norm.gian"]);
    let refused = initialize(Cpu, typo(), UpdateRule::sgd(0.1), O2.with(F16)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the configuration names `norm.gian`, and no parameter has that name; look for a typing error"
    );
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    assert!(initialize(Cpu, typo(), UpdateRule::sgd(0.1), O1.with(F16)).is_ok());
}

#[test]
fn a_rule_out_of_range_is_refused_by_value() {
    for rule in [UpdateRule::sgd(-0.1), UpdateRule::adamw(-0.1)] {
        let refused = initialize(Cpu, model(), rule, O2.with(F16)).unwrap_err();
        assert_eq!(refused.to_string(), "`lr` is -0.1, and has to be a finite number, 0 or above");
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn what_the_device_cannot_store_is_the_devices_to_refuse() {
    let params = vec![Named::new("table", Tensor::new(vec![1_i64, 2], &[2]).unwrap())];
    let refused = initialize(Cpu, Model::new(params), UpdateRule::sgd(0.1), O1.with(F16));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn what_is_switched_off_leaves_everything_as_it_is() {
    for level in OptLevel::ALL {
        let off = Properties { loss_scale: LossScale::fixed(128.0).unwrap(), ..level.with(F16) }
            .with_enabled(false);
        assert_eq!(off.to_string(), format!("{level}, switched off: everything as it is"));
        let amp = initialize(Cpu, model(), UpdateRule::sgd(1.0), off.clone()).unwrap();
        assert_eq!(stored(&amp), [F32, F32], "{level}");
        assert_eq!((amp.scaler.rule(), amp.region.enabled), (&LossScale::none(), false));
        let output = tensor(&[1.0]).cast(F16).unwrap();
        assert_eq!(Setup::new(Cpu, off).unwrap().output(&output).unwrap().dtype(), F16);
        let by_field = Properties { enabled: false, ..level.with(F16) };
        let amp = initialize(Cpu, model(), UpdateRule::sgd(1.0), by_field).unwrap();
        assert_eq!(
            (stored(&amp), amp.region.enabled),
            ([F32, F32], false),
            "{level}, by its field"
        );
    }
}

#[test]
fn outputs_are_f32_where_parameters_are_not_unless_asked_otherwise() {
    let output = |level: OptLevel, asked: Option<DType>| {
        let properties = level.with(F16);
        let properties = Properties { outputs: asked.or(properties.outputs), ..properties };
        let output = tensor(&[THIRD]).cast(F16).unwrap();
        Setup::new(Cpu, properties).unwrap().output(&output).unwrap().dtype()
    };
    assert_eq!([O0, O1, O2, O3].map(|level| output(level, None)), [F16, F16, F32, F32]);
    assert_eq!([F32, BF16].map(|asked| output(O1, Some(asked))), [F32, BF16]);
    let labels = Tensor::new(vec![3_i64], &[1]).unwrap();
    let setup = Setup::new(Cpu, O2.with(F16)).unwrap();
    assert_eq!(setup.output(&labels).unwrap().dtype(), DType::I64);
}
