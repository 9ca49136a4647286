//! A step on a stranger's tensor is the step on plain slices.

use crate::common::{
    ALL, Host, bits, config, fine, grads, of_one, optimizer, params, round, rules, values,
};
use binade_core::Error as _;
use binade_core::{DType, ErrorKind, Named, Optimizer as _};
use binade_master_weights::step::{Factor, Params, Slices, step};
use binade_master_weights::{StepConstants, UpdateRule};

/// A parameter that is stepped by hand.
struct Mirror {
    values: Vec<f32>,
    moments: [Vec<f32>; 3],
    applied: u64,
}

impl Mirror {
    fn new(rule: &UpdateRule, values: Vec<f32>) -> Self {
        let initial = rule.initial();
        let moment = |i| vec![initial[i]; if i < rule.moments() { values.len() } else { 0 }];
        Self { moments: [0, 1, 2].map(moment), values, applied: 0 }
    }

    fn step(&mut self, rule: &UpdateRule, grad: &[f32]) {
        let slices = Slices::<f32, f32> {
            grads: grad,
            params: Params::Own(&mut self.values),
            moments: self.moments.each_mut().map(Vec::as_mut_slice),
        };
        step(&StepConstants::at(rule, self.applied), Factor::ONE, slices).unwrap();
        self.applied += 1;
    }
}

#[test]
fn a_step_is_that_of_plain_slices_bit_for_bit() {
    for rule in rules() {
        for (stored, made) in ALL.into_iter().flat_map(|stored| ALL.map(|made| (stored, made))) {
            let start = Host::new(stored, &values(50, 1)).data;
            let mut optimizer = of_one(stored, &start, config(rule));
            let mut mirror = Mirror::new(&rule, start);
            for seed in 0..5 {
                let grads = grads(made, [("w", &values(50, 100 + seed)[..])]);
                mirror.step(&rule, &grads[0].value.as_ref().unwrap().data);
                optimizer.step(grads, &fine()).unwrap();
            }
            let slot = optimizer.masters().get("w").unwrap();
            let rounded: Vec<f32> = mirror.values.iter().map(|x| round(stored, *x)).collect();
            assert_eq!(optimizer.params[0].value.data, rounded, "{rule:?} {stored} {made}");
            assert_eq!(slot.moments, mirror.moments, "{rule:?} {stored} {made}");
            if stored != DType::F32 {
                assert_eq!(slot.master.copy(), Some(&mirror.values), "{rule:?} {stored} {made}");
            }
        }
    }
}

#[test]
fn a_gradient_that_does_not_fit_is_refused_by_name_and_nothing_has_moved() {
    let set: [(&str, &[f32]); 2] = [("a", &[1.0, 2.0]), ("b", &[3.0])];
    let mut optimizer = optimizer(params(DType::F16, set), config(UpdateRule::adamw(0.1)));
    let before = bits(&optimizer);
    let good: (&str, &[f32]) = ("a", &[1.0, 1.0]);
    let strange: [(&str, &[f32], &str); 3] = [
        (
            "c",
            &[1.0],
            "a gradient came for it, and no parameter of the optimizer has that name; correct the name, or give one optimizer all parameters and move some by another rule, as a group",
        ),
        ("b", &[1.0, 1.0], "its gradient has another length than the parameter"),
        ("a", &[2.0, 2.0], "two gradients came for it; give it one, such as their sum"),
    ];
    for (name, values, why) in strange {
        let bad = (name, values);
        let error = optimizer.step(grads(DType::F32, [good, bad]), &fine()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        assert_eq!(error.to_string(), format!("`{name}`: {why}"));
        assert_eq!(bits(&optimizer), before, "{bad:?}");
    }
    let missing = vec![Named::new("nobody", None)];
    assert_eq!(optimizer.step(missing, &fine()).unwrap_err().kind(), ErrorKind::Mismatch);
}

#[test]
fn two_parameters_of_one_name_are_refused() {
    let twins: [(&str, &[f32]); 2] = [("a", &[1.0]), ("a", &[3.0, 4.0])];
    let mut params = params(DType::F32, twins);
    let device = binade_core::HostDevice::<Host>::new();
    let config = config(UpdateRule::sgd(0.1)).with_storage(DType::F16);
    let error = binade_master_weights::MasterWeights::masters(&device, &mut params, &config);
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("two parameters are called `a`"), "{text}");
    assert_eq!(params[1].value.dtype, DType::F32, "nothing was lowered");
}

#[test]
fn steps_are_counted_by_parameter_and_start_at_the_first_gradient() {
    let set: [(&str, &[f32]); 2] = [("a", &[1.0]), ("late", &[1.0])];
    for rule in rules() {
        let mut optimizer = optimizer(params(DType::F32, set), config(rule));
        let mut mirror = Mirror::new(&rule, vec![1.0]);
        for (n, grad) in [0.5, -0.25, 2.0].into_iter().enumerate() {
            let late = if n == 0 { None } else { Some(Host::new(DType::F32, &[grad])) };
            if late.is_some() {
                mirror.step(&rule, &[grad]);
            }
            let mut grads = grads(DType::F32, [("a", &[grad][..])]);
            grads.push(Named::new("late", late));
            optimizer.step(grads, &fine()).unwrap();
        }
        let applied = ["a", "late"].map(|name| optimizer.masters().get(name).unwrap().applied);
        assert_eq!(applied, [3, 2]);
        assert_eq!(optimizer.params[1].value.data, mirror.values, "{rule:?}");
    }
}

#[test]
fn a_set_without_elements_or_without_parameters_is_stepped_by_nothing() {
    let mut empty = of_one(DType::F16, &[], config(UpdateRule::adam(0.1)));
    empty.step(grads(DType::F16, [("w", &[][..])]), &fine()).unwrap();
    assert_eq!(empty.masters().get("w").unwrap().applied, 1);
    optimizer(Vec::new(), config(UpdateRule::adam(0.1))).step(Vec::new(), &fine()).unwrap();
}
