//! Small tensors of fixed values, and a check of gradients against differences, shared by the tests.

use approx::relative_eq;
use binade_autocast::Region;
use binade_core::{DType, Named};
use binade_cpu::{Cpu, Error, Tensor};
use binade_tape::{Tape, TapeError, Var};

pub(crate) type Outcome = Result<Var<Cpu>, TapeError<Error>>;
pub(crate) type Grads = Vec<Named<Option<Tensor>>>;
pub(crate) type Params = Vec<Named<Tensor>>;

/// Returns a tape that casts nothing.
pub(crate) fn plain() -> Tape<Cpu> {
    Tape::new(Cpu, &Region::bf16().off())
}

/// Returns values in ±1 without pattern, the same for the same seed, by Knuth's multiplicative hash (2^32 over the golden ratio),
/// in which no two neighbours are close.
pub(crate) fn values(count: usize, seed: u32) -> Vec<f32> {
    let hash = |i: u32| (i.wrapping_add(seed.wrapping_mul(977))).wrapping_mul(2_654_435_769) >> 16;
    let signed = |i: u32| f32::from(u16::try_from(hash(i)).unwrap_or(0)) / 32768.0 - 1.0;
    (0_u32..).take(count).map(signed).collect()
}

pub(crate) fn tensor(shape: &[usize], seed: u32) -> Tensor {
    Tensor::new(values(shape.iter().product(), seed), shape).unwrap()
}

pub(crate) fn named(name: &str, shape: &[usize], seed: u32) -> Named<Tensor> {
    Named::new(name, tensor(shape, seed))
}

/// Returns the parameters of a net of two layers, stored in `dtype`.
pub(crate) fn params(dtype: DType) -> Params {
    let shapes: [(&str, &[usize]); 3] =
        [("0.weight", &[16, 8]), ("0.bias", &[16]), ("1.weight", &[4, 16])];
    let low = |(seed, (name, shape))| {
        let Named { name, value } = named(name, shape, seed);
        Named { name, value: value.cast(dtype).unwrap() }
    };
    (0..).zip(shapes).map(low).collect()
}

/// Returns the loss of that net on a batch, with labels of its own.
pub(crate) fn loss(tape: &Tape<Cpu>, params: &Params, batch: &Tensor) -> Outcome {
    let p = tape.parameters(params);
    let hidden = tape.constant(batch.clone()).linear(&p[0], Some(&p[1]))?.relu()?;
    hidden.linear(&p[2], None)?.cross_entropy(&Tensor::new(vec![3_i64, 1, 0, 2], &[4])?)
}

pub(crate) fn f32s(tensor: &Tensor) -> Vec<f32> {
    tensor.to_f32().into_owned()
}

pub(crate) fn dtype_of(grads: &Grads, place: usize) -> DType {
    grads[place].value.as_ref().expect("a gradient").dtype()
}

/// Compares the gradients of `f` with central differences, for every element of every input.
///
/// The output is summed with weights of its own, so that no gradient is uniform. With steps of 2^-8 the difference is
/// good to about 2^-17·f‴ + 2^-14·f: under a thousandth for these values.
pub(crate) fn check(inputs: &[Tensor], f: impl Fn(&[Var<Cpu>]) -> Outcome) {
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
            let step = 2.0_f32.powi(-8);
            let expected = (moved(step) - moved(-step)) / (2.0 * step);
            let close = relative_eq!(found, expected, epsilon = 0.001, max_relative = 0.001);
            assert!(
                close,
                "input {which}[{index}]: {found} by the tape, {expected} by differences"
            );
        }
    }
}
