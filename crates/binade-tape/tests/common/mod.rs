//! What the tests share: small tensors of fixed values, and a check of gradients against differences.

#![expect(dead_code, reason = "each test binary uses its part")]

use binade_autocast::Region;
use binade_core::{DType, Named};
use binade_cpu::{Cpu, Error, Tensor};
use binade_tape::{Tape, TapeError, Var};

pub type Outcome = Result<Var<Cpu>, TapeError<Error>>;
pub type Grads = Vec<Named<Option<Tensor>>>;

/// A tape that casts nothing.
pub fn plain() -> Tape<Cpu> {
    Tape::new(Cpu, &Region::bf16().off())
}

/// Values in ±1 without pattern, the same for the same seed: Weyl's sequence of the golden ratio, no two close together.
pub fn values(count: usize, seed: u32) -> Vec<f32> {
    let at = |i: usize| (i as f64 + f64::from(seed) * 0.37) * 0.618_033_988_749_895;
    (0..count).map(|i| (2.0 * at(i).fract() - 1.0) as f32).collect()
}

pub fn tensor(shape: &[usize], seed: u32) -> Tensor {
    Tensor::new(values(shape.iter().product(), seed), shape).unwrap()
}

pub fn named(name: &str, shape: &[usize], seed: u32) -> Named<Tensor> {
    Named::new(name, tensor(shape, seed))
}

pub fn f32s(tensor: &Tensor) -> Vec<f32> {
    tensor.to_f32().into_owned()
}

pub fn dtype_of(grads: &Grads, place: usize) -> DType {
    grads[place].value.as_ref().expect("a gradient").dtype()
}

/// Holds the gradients of `f` to central differences, for every element of every input.
///
/// The output is summed with weights of its own, so that no gradient is uniform. With steps of 2^-6 the difference is
/// good to about 2^-12·f''' + 2^-18·f: well under a hundredth for these values.
pub fn check(inputs: &[Tensor], f: impl Fn(&[Var<Cpu>]) -> Outcome) {
    let loss = |inputs: &[Tensor]| {
        let tape = plain();
        let vars: Vec<_> = inputs.iter().map(|input| tape.variable(input.clone())).collect();
        let output = f(&vars).unwrap();
        let weights = tape.constant(tensor(&output.shape(), 91));
        (vars, output.mul(&weights).unwrap().sum().unwrap())
    };
    let (vars, root) = loss(inputs);
    for (which, input) in inputs.iter().enumerate() {
        let grad = root.gradient(&vars[which]).unwrap().expect("a path");
        assert_eq!(grad.shape(), input.shape());
        for (index, found) in f32s(&grad).into_iter().enumerate() {
            let moved = |by: f32| {
                let mut inputs = inputs.to_vec();
                inputs[which].as_mut_slice::<f32>().unwrap()[index] += by;
                f32s(loss(&inputs).1.tensor())[0]
            };
            let step = 2.0_f32.powi(-6);
            let expected = (moved(step) - moved(-step)) / (2.0 * step);
            let close = (found - expected).abs() <= 0.01 * (1.0 + expected.abs());
            assert!(close, "input {which}[{index}]: {found} by the tape, {expected} by differences");
        }
    }
}
