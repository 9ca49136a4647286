//! Gradients that are told while backward goes on.

use crate::common::{Grads, loss, named, params, plain, tensor};
use binade_autocast::Region;
use binade_core::{DType, Named, Op, OpClass};
use binade_cpu::{Cpu, Tensor};
use binade_tape::{Tape, TapeError, Var};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Returns `x`, and counts in `seen` when backward passes it.
fn mark(x: &Var<Cpu>, seen: &Arc<AtomicUsize>) -> Var<Cpu> {
    let (seen, op) = (seen.clone(), Op::custom("mark", OpClass::Pointwise));
    let output = x.tape().custom(
        op,
        &[x],
        |call| Ok(call.operands[0].clone()),
        move |_, grad| {
            seen.fetch_add(1, Relaxed);
            Ok(vec![Some(grad.clone())])
        },
    );
    output.unwrap()
}

/// Returns the gradients in the order in which they are told.
fn told(loss: &Var<Cpu>) -> Grads {
    let mut told = Vec::new();
    let outcome = loss.backward_each(|gradient| {
        told.push(gradient);
        Ok(())
    });
    outcome.unwrap();
    told
}

fn names(grads: &Grads) -> Vec<&str> {
    grads.iter().map(|grad| &*grad.name).collect()
}

/// Asserts that a loss tells the gradients that `backward` returns.
fn assert_alike(loss: &Var<Cpu>, mut told: Grads) {
    let whole: Grads = loss.backward().unwrap();
    told.sort_by_key(|grad| whole.iter().position(|other| other.name == grad.name));
    let bits = |grad: &Named<Option<Tensor>>| {
        let value = grad.value.as_ref().map(|it| (it.dtype(), it.shape().to_vec(), it.to_bits()));
        (grad.name.clone(), value)
    };
    assert!(told.iter().map(bits).eq(whole.iter().map(bits)));
}

#[test]
fn a_gradient_is_told_once_its_last_use_has_passed_it_on() {
    for (region, dtype) in [(Region::bf16().off(), DType::F16), (Region::bf16(), DType::F32)] {
        let tape = Tape::new(Cpu, &region);
        let params =
            ["a", "b", "c"].map(|name| Named::new(name, tensor(&[4, 4], 1).cast(dtype).unwrap()));
        let p = tape.parameters(&params);
        let seen = Arc::new(AtomicUsize::new(0));
        let mut x = tape.variable(tensor(&[2, 4], 2).cast(dtype).unwrap());
        // The first weight is used by two layers, the first of which backward passes last.
        for weight in [&p[0], &p[0], &p[1], &p[2]] {
            x = mark(&x.linear(weight, None).unwrap(), &seen);
        }
        let loss = x.sum().unwrap();
        let (mut order, mut grads) = (Vec::new(), Grads::new());
        let outcome = loss.backward_each(|gradient| {
            order.push((gradient.name.to_string(), seen.load(Relaxed)));
            grads.push(gradient);
            Ok(())
        });
        outcome.unwrap();
        let order: Vec<_> = order.iter().map(|(name, passed)| (&**name, *passed)).collect();
        assert_eq!(order, [("c", 1), ("b", 2), ("a", 4)]);
        assert!(grads.iter().all(|grad| grad.value.as_ref().unwrap().dtype() == dtype));
        assert_alike(&loss, grads);
    }
}

#[test]
fn the_last_layer_is_told_first_at_every_type() {
    let regions = [Region::bf16().off(), Region::bf16(), Region::f16()];
    for (region, dtype) in regions.iter().zip([DType::BF16, DType::F32, DType::F16]) {
        let batch = tensor(&[4, 8], 7).cast(dtype).unwrap();
        let loss = loss(&Tape::new(Cpu, region), &params(dtype), &batch).unwrap();
        let grads = told(&loss);
        // Of a layer's own, the order is that in which their casts were recorded.
        assert_eq!(names(&grads)[0], "1.weight");
        assert_alike(&loss, grads);
    }
}

#[test]
fn parameters_without_a_gradient_are_told_last_in_order_of_registration() {
    let tape = plain();
    let unused = tape.parameters(&["u", "v"].map(|name| named(name, &[3], 1)));
    let used = tape.parameter(&named("used", &[3], 2));
    let cut = tape.parameter(&named("cut", &[3], 3));
    let fixed = tape.no_grad().parameter(&named("fixed", &[3], 4));
    let without = fixed.exp().unwrap();
    // One whose rule gives no gradient has none.
    let op = Op::custom("constant", OpClass::Pointwise);
    let stopped = tape
        .custom(op, &[&unused[1]], |call| Ok(call.operands[0].clone()), |_, _| Ok(vec![None]))
        .unwrap();
    let sum = used.mul(&cut.detach()).unwrap().add(&stopped).unwrap();
    let loss = sum.mul(&without).unwrap().sum().unwrap();
    tape.parameter(&named("later", &[3], 5));
    let grads = told(&loss);
    let has = |grad: &Named<Option<Tensor>>| grad.value.is_some();
    assert_eq!(names(&grads), ["used", "u", "v", "cut", "fixed", "later"]);
    assert_eq!(
        grads.iter().map(has).collect::<Vec<_>>(),
        [true, false, false, false, false, false]
    );
    assert_alike(&loss, grads);
}

#[test]
fn a_use_that_does_not_lead_to_the_loss_delays_nothing() {
    let tape = plain();
    let p = tape.parameters(&["first", "second"].map(|name| named(name, &[4, 4], 1)));
    // Recorded before all others, it would come last in backward.
    p[1].exp().unwrap();
    let x = tape.constant(tensor(&[2, 4], 2));
    let loss = x.linear(&p[0], None).unwrap().linear(&p[1], None).unwrap().sum().unwrap();
    assert_eq!(names(&told(&loss)), ["second", "first"]);
}

#[test]
fn a_loss_that_is_a_parameter_has_a_gradient_of_one() {
    let tape = plain();
    let x = tape.parameter(&Named::new("x", Tensor::new(vec![3.0_f32], &[]).unwrap()));
    let grads = told(&x);
    assert_eq!(grads[0].value.as_ref().unwrap().to_f32()[..], [1.0]);
    assert_alike(&x, grads);
}

#[test]
fn an_error_of_the_callback_ends_backward() {
    let loss = loss(&plain(), &params(DType::F32), &tensor(&[4, 8], 7)).unwrap();
    let mut calls = 0;
    let outcome = loss.backward_each(|_| {
        calls += 1;
        if calls == 2 { Err(TapeError::NoOperands { op: "told" }) } else { Ok(()) }
    });
    assert!(matches!(outcome, Err(TapeError::NoOperands { op: "told" })));
    assert_eq!(calls, 2);
}

#[test]
fn no_gradient_that_was_told_is_kept() {
    let tape = plain();
    let p = tape.parameters(&["a", "b"].map(|name| named(name, &[4, 4], 1)));
    let x = tape.constant(tensor(&[2, 4], 2));
    let seen = Arc::new(AtomicUsize::new(0));
    let hidden = mark(&x.linear(&p[0], None).unwrap(), &seen);
    let loss = hidden.linear(&p[1], None).unwrap().sum().unwrap();
    let mut first: Option<Tensor> = None;
    let outcome = loss.backward_each(|gradient| {
        match &mut first {
            None => first = gradient.value,
            // Its elements are writable in place, which those of a shared tensor are not without a copy.
            Some(first) => {
                let before = first.as_slice::<f32>().unwrap().as_ptr();
                assert_eq!(first.as_mut_slice::<f32>().unwrap().as_ptr(), before);
            }
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(first.is_some());
}
