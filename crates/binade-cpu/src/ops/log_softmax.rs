//! Logarithm of softmax.

use super::softmax::{by_row, by_row2, normaliser};
use crate::{
    Cpu, Error, Tensor,
    elementary::exponentials,
    reduce::{round, run},
};
use binade_core::ops::{LogSoftmax, OpInvocation};

impl LogSoftmax for Cpu {
    fn log_softmax(&self, input: &Tensor) -> Result<Tensor, Error> {
        by_row(&OpInvocation::LogSoftmax, input, |x, out| {
            let (max, sum) = normaliser(x);
            let log = round(sum.ln());
            out.iter_mut().zip(x).for_each(|(out, x)| *out = (x - max) - log);
        })
    }

    fn log_softmax_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        by_row2(&OpInvocation::LogSoftmaxBackward, grad, output, |g, y, out| {
            let sum = round(run(g, f64::from));
            out.copy_from_slice(y);
            exponentials(out, 0.0);
            out.iter_mut().zip(g).for_each(|(out, g)| *out = g - *out * sum);
        })
    }
}
