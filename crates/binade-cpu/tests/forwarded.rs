//! A wrapper whose operations are made by `forward_ops!`, with operands, values and results of every kind.

use crate::calls::{rows, run};
use binade_core::ops::{Download, Invoke, Mul, OpInvocation as Call, Shaped, Upload, forward_ops};
use binade_core::{DType, Handle};
use binade_cpu::{Cpu, Error, Tensor};

/// CPU that drops the last result of every call beyond a number of results.
struct Wrapper {
    results: usize,
}

impl Handle for Wrapper {
    type Tensor = Tensor;
    type Error = Error;
}

impl Upload for Wrapper {
    fn upload(&self, values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        Cpu.upload(values, shape, dtype)
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Tensor, Error> {
        Cpu.upload_i64(values, shape)
    }
}

impl Download for Wrapper {
    fn download(&self, tensor: &Tensor) -> Result<Vec<f32>, Error> {
        Cpu.download(tensor)
    }
}

impl Shaped for Wrapper {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        tensor.shape().to_vec()
    }
}

impl Invoke for Wrapper {
    fn invoke(&self, call: &Call, operands: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let mut results = call.run(&Cpu, operands).unwrap()?;
        results.truncate(self.results);
        Ok(results)
    }
}

forward_ops!([] Wrapper);

#[test]
fn a_wrapper_has_the_results_of_its_device() {
    let whole = Wrapper { results: usize::MAX };
    let without_bias = |(call, operands)| match call {
        Call::LinearBackward { .. } => Some((Call::LinearBackward { bias: false }, operands)),
        Call::LinearBackwardOfWeight { .. } => {
            Some((Call::LinearBackwardOfWeight { bias: false }, operands))
        }
        _ => None,
    };
    let all = rows(5, DType::F32);
    for row in all.iter().cloned().chain(all.clone().into_iter().filter_map(without_bias)) {
        let bits = |results: Vec<Tensor>| -> Vec<_> {
            results.iter().map(|it| (it.dtype(), it.shape().to_vec(), it.to_bits())).collect()
        };
        let [ours, cpu] = [run(&whole, &row), run(&Cpu, &row)].map(|it| bits(it.unwrap()));
        assert_eq!(ours, cpu, "{:?}", row.0);
    }
}

#[test]
#[should_panic(expected = "`invoke` returned 1 results for `mul_backward`")]
fn another_number_of_results_is_told_with_the_method() {
    let x = Cpu.upload(&[1.0, 2.0], &[2], DType::F32).unwrap();
    let _ = Wrapper { results: 1 }.mul_backward(&x, &x, &x);
}
