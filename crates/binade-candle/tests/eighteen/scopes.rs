//! Cases 10 to 12: regions, and what happens inside them.

use super::{Result, values, var};
use binade::prelude::*;
use binade_candle::{Candle, backward, ops};
use candle_core::{DType as Type, Device, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn weight() -> Result<Named<Tensor>> {
    let Named { name, value } = var("w", &[0.1, 0.2, 0.3, 0.4], Type::F32)?;
    let w = candle_core::Var::from_tensor(&value.reshape((2, 2))?)?;
    Ok(Named::new(name, w.into_inner()))
}

#[test]
fn a_pass_without_gradients_leaves_those_of_the_next_pass_in_the_same_scope() -> Result {
    let params = [weight()?];
    let x = Tensor::ones((3, 2), Type::F32, &Device::Cpu)?;
    let scope = Region::f16().open(&Candle);
    let seen = ops::matmul(&scope, "", &x, &params[0].value.detach())?;
    let trained = ops::matmul(&scope, "", &x, &params[0].value)?;
    assert_eq!((seen.dtype(), values(&seen)?), (Type::F16, values(&trained)?));

    let grads = backward(&ops::sum(&scope, "", &trained)?, &params)?;
    let grad = grads[0].value.as_ref().ok_or("the evaluation took the gradient")?;
    assert_eq!((grad.dtype(), values(grad)?), (Type::F32, vec![3.0; 4]));
    Ok(())
}

#[test]
fn a_step_between_two_passes_of_one_scope_is_seen_by_the_second() -> Result {
    let w = weight()?.value;
    let x = Tensor::ones((1, 2), Type::F32, &Device::Cpu)?;
    let scope = Region::f16().open(&Candle);
    ops::matmul(&scope, "", &x, &w)?;
    candle_core::Var::from_tensor(&w)?.set(&Tensor::ones((2, 2), Type::F32, &Device::Cpu)?)?;
    assert_eq!(values(&ops::matmul(&scope, "", &x, &w)?)?, [2.0, 2.0]);
    Ok(())
}

#[test]
fn a_panic_inside_a_scope_leaves_the_thread_as_it_was() {
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _region = Region::f16().enter_for::<Candle>();
        assert!(Region::ambient_for::<Candle>().is_some());
        panic!("in the forward pass");
    }));
    assert!(panicked.is_err());
    assert!(Region::ambient_for::<Candle>().is_none());
}

#[test]
fn backward_on_another_thread_runs_in_the_types_of_the_forward_pass() -> Result {
    let params = vec![weight()?];
    let x = Tensor::new(&[[1.0_f32, 1.0 / 3.0]], &Device::Cpu)?;
    let scope = Region::f16().open(&Candle);
    let product = ops::matmul(&scope, "", &x, &params[0].value)?;
    let loss = (ops::sum(&scope, "", &product)? * 0.3)?;
    let here = backward(&loss, &params)?;
    let there = std::thread::scope(|threads| {
        let thread = threads.spawn(|| {
            // A region of the other thread's own changes nothing.
            let _region = Region::bf16().enter();
            backward(&loss, &params)
        });
        thread.join().map_err(|_| "the thread panicked")
    })??;
    let [here, there] = [&here, &there].map(|grads| grads[0].value.as_ref().ok_or("none"));
    let (here, there) = (values(here?)?, values(there?)?);
    assert_eq!(here, there);
    let in_f16: Vec<f32> = here.iter().map(|x| half::f16::from_f32(*x).to_f32()).collect();
    assert_eq!(here, in_f16, "a product's gradient has the product's type");
    Ok(())
}
