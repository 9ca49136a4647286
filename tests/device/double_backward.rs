//! Double backward: a gradient penalty of a small perceptron, beside the CPU's.

use crate::support::{Result, gpu, noise, told};
use binade_autocast::Region;
use binade_core::ops::Ops;
use binade_core::{DType, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{LossScale, Scaler};
use binade_tape::{ScalingDevice, Tape, TapeError};

crate::tests![a_penaltys_gradients_are_those_of_the_cpu];

/// Returns the gradients of a loss and the norm of its gradients, by the recipe of torch.amp.
fn penalized<D: ScalingDevice + Ops>(
    device: &D,
    region: &Region,
) -> Result<Vec<Vec<f32>>, TapeError<D::Error>> {
    let tape = Tape::new(device.clone(), region);
    let tensor = |seed, shape: &[usize]| {
        device.upload(&noise(seed, shape.iter().product()), shape, DType::F32)
    };
    let shapes: [(&str, &[usize]); 5] =
        [("up", &[16, 8]), ("bias", &[16]), ("gain", &[16]), ("offset", &[16]), ("down", &[4, 16])];
    let named =
        |(seed, (name, shape)): (u64, (&str, &[usize]))| Ok(Named::new(name, tensor(seed, shape)?));
    let params: Vec<_> = (1..).zip(shapes).map(named).collect::<Result<_, D::Error>>()?;
    let p = tape.parameters(&params);
    let hidden = tape.constant(tensor(9, &[6, 8])?).linear(&p[0], Some(&p[1]))?;
    let hidden = hidden.layer_norm(&p[2], &p[3], 1e-5)?.gelu()?;
    let labels = device.upload_i64(&[0, 3, 1, 2, 2, 0], &[6])?;
    let loss = hidden.linear(&p[4], None)?.cross_entropy(&labels)?;

    let scaler = Scaler::new(device.clone(), LossScale::fixed(256.0).unwrap())?;
    let inputs: Vec<_> = p.iter().collect();
    let grads = scaler.scale(&loss)?.grads(|loss| Ok(loss.grad(&inputs)?.into_iter().flatten()))?;
    let mut squares = grads[0].mul(&grads[0])?.sum()?;
    for grad in &grads[1..] {
        squares = squares.add(&grad.mul(grad)?.sum()?)?;
    }
    let penalized = loss.add(&squares.sqrt()?)?;
    let found: Vec<Named<Option<D::Tensor>>> = penalized.backward()?;
    let first = grads.iter().map(|grad| device.download(grad.tensor()));
    let second = found.iter().map(|grad| device.download(grad.value.as_ref().expect("a path")));
    Ok(first.chain(second).collect::<Result<_, D::Error>>()?)
}

fn a_penaltys_gradients_are_those_of_the_cpu() -> Result {
    for (region, bound) in [(Region::f16().off(), 1e-5), (Region::f16(), 2e-2)] {
        let got = penalized(&gpu(), &region).map_err(told)?;
        let want = penalized(&Cpu, &region).map_err(told)?;
        assert_eq!((got.len(), want.len()), (10, 10));
        for (number, (got, want)) in got.iter().zip(&want).enumerate() {
            let largest = want.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            assert!(largest > 0.0, "{number}");
            for (got, want) in got.iter().zip(want) {
                assert!((got - want).abs() <= bound * largest, "{number}: {got}, {want}");
            }
        }
    }
    Ok(())
}
