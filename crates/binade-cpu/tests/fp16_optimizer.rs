//! Masters for an update rule of the user's own on the CPU.

use binade_core::ops::{Mul, Sub};
use binade_core::{
    DType, Error as _, ErrorKind, FoundInf, MultiTensor, Named, NamedGrads, Optimizer,
};
use binade_cpu::{Cpu, Error, Gradients, Tensor};
use binade_master_weights::{
    Fp16Optimizer, MasterOptimizer, MasterSet, MasterStep, OptimizerConfig, UpdateRule,
};

type Next = Result<MasterSet<Tensor>, Error>;

fn named(name: &str, values: &[f32]) -> Named<Tensor> {
    Named::new(name, Tensor::new(values.to_vec(), &[values.len()]).unwrap())
}

fn params() -> Vec<Named<Tensor>> {
    vec![named("weight", &[0.1, -1.7, 3.3]), named("norm", &[1.0])]
}

fn grads(weight: [f32; 3]) -> Gradients {
    let present = |param: Named<Tensor>| Named::new(param.name, Some(param.value));
    let grads: NamedGrads<_> =
        [named("weight", &weight), named("norm", &[0.3])].map(present).into();
    grads.into()
}

/// Steps by SGD at a rate of 1/8, by operations on tensors.
#[expect(clippy::needless_pass_by_value, reason = "an optimizer passes it so")]
fn sgd(step: MasterStep<'_, Tensor>) -> Next {
    let mut masters = Vec::new();
    for (master, grad) in step.masters.iter().zip(step.present()) {
        let rates = Tensor::new(vec![0.125_f32; master.value.len()], master.value.shape())?;
        let change = Cpu.mul(&rates, &grad.value)?;
        masters.push(Named::new(master.name.clone(), Cpu.sub(&master.value, &change)?));
    }
    Ok(MasterSet { masters, state: step.state.to_vec() })
}

fn raised() -> FoundInf {
    let mut found = FoundInf::default();
    found.check(&"weight".into(), 0, f32::INFINITY, f32::INFINITY);
    found
}

fn bits<'t>(tensors: impl IntoIterator<Item = &'t Named<Tensor>>) -> Vec<Vec<u8>> {
    tensors.into_iter().map(|tensor| tensor.value.to_bits()).collect()
}

#[test]
fn sgd_by_operations_on_masters_is_the_built_in_step_bit_for_bit() {
    let mut mine = Fp16Optimizer::new(Cpu, params(), DType::F16, sgd).unwrap();
    mine = mine.keep_f32(["norm"]).unwrap();
    let config = OptimizerConfig::new(UpdateRule::sgd(0.125)).unwrap();
    let config = config.with_storage(DType::F16).keep(["norm"]);
    let mut fused = MasterOptimizer::new(Cpu, params(), config).unwrap();
    assert_eq!(bits(&mine.params), bits(&fused.params));
    for number in 0_u8..20 {
        let weight = [0.7, -0.01, 3e-5].map(|x| x * f32::from(number));
        let found = if number % 5 == 3 { raised() } else { FoundInf::default() };
        mine.step(grads(weight), &found).unwrap();
        fused.step(grads(weight), &found).unwrap();
        assert_eq!(bits(&mine.params), bits(&fused.params), "{number}");
    }
    assert_eq!(
        [mine.params[0].value.dtype(), mine.params[1].value.dtype()],
        [DType::F16, DType::F32]
    );
}

#[test]
fn a_step_that_overflows_keeps_every_bit() {
    let count = [named("count", &[0.0])];
    let counted = |step: MasterStep<'_, Tensor>| -> Next {
        let (state, _) = Cpu.axpby((1.0, step.state), (1.0, &[named("count", &[1.0])]))?;
        Ok(MasterSet { state, ..sgd(step)? })
    };
    let mut run = Fp16Optimizer::new(Cpu, params(), DType::BF16, counted).unwrap();
    run = run.with_state(&count).unwrap();
    let mut seen = Vec::new();
    for found in [FoundInf::default(), raised(), raised(), FoundInf::default()] {
        run.step(grads([1.0, f32::NAN, 2.0]), &found).unwrap();
        seen.push([bits(run.masters()), bits(run.state()), bits(&run.params)]);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
    assert_ne!(seen[2], seen[3]);
    assert_eq!(run.state()[0].value.to_f32()[..], [2.0]);
}

#[test]
fn masters_and_state_come_back_to_the_bit_and_others_are_refused_by_name() {
    let begin = || {
        let run = Fp16Optimizer::new(Cpu, params(), DType::F16, sgd).unwrap();
        run.with_state(&[named("momentum", &[0.5, f32::from_bits(1)])]).unwrap()
    };
    let (mut run, mut resumed) = (begin(), begin());
    run.step(grads([0.1, 0.2, 0.3]), &FoundInf::default()).unwrap();
    let saved = run.save().unwrap();
    resumed.load(&saved).unwrap();
    assert_eq!(bits(resumed.masters()), bits(run.masters()));
    assert_eq!(bits(resumed.state()), bits(run.state()));
    assert_eq!(bits(&resumed.params), bits(&run.params));

    let mut less = saved.clone();
    less.state.clear();
    let refused = resumed.load(&less).unwrap_err().to_string();
    assert!(refused.contains("the state of `momentum`: found none"), "{refused}");
    let mut renamed = saved;
    renamed.masters[1].name = "other".into();
    let refused = resumed.load(&renamed).unwrap_err().to_string();
    assert!(refused.contains("the master of `norm`"), "{refused}");
    assert_eq!(bits(resumed.masters()), bits(run.masters()));
}

#[test]
fn a_rule_that_gives_other_masters_and_sets_without_gradients_are_refused() {
    let fewer = |step: MasterStep<'_, Tensor>| -> Next {
        Ok(MasterSet { masters: step.masters[..1].to_vec(), state: Vec::new() })
    };
    let mut run = Fp16Optimizer::new(Cpu, params(), DType::F16, fewer).unwrap();
    let before = bits(run.masters());
    let refused = run.step(grads([1.0; 3]), &FoundInf::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    assert!(refused.to_string().contains("`norm`"), "{refused}");
    let none =
        || -> Gradients { vec![Named::new("weight", None), Named::new("norm", None)].into() };
    let refused = run.step(none(), &FoundInf::default()).unwrap_err();
    assert!(refused.to_string().contains("no gradient came for any of 2"), "{refused}");
    run.step(none(), &raised()).unwrap();
    let other: Gradients = vec![Named::new("weight", None)].into();
    assert_eq!(run.step(other, &raised()).unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(bits(run.masters()), before);
    let unknown = run.keep_f32(["gain"]).unwrap_err().to_string();
    assert!(unknown.contains("`gain`: no parameter has this name"), "{unknown}");
}
