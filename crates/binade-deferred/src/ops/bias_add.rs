//! Vector added along the channel axis.

use super::operands;
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{BiasAdd, shape};

impl BiasAdd for Deferred {
    fn bias_add(&self, input: &Tensor, bias: &Tensor) -> Result<Tensor, Error> {
        shape::bias_add(input.shape(), bias.shape())?;
        operands::float(Op::BIAS_ADD, &[input, bias])?;
        Ok(self.tensor(&[input, bias], input.like(), |t| Cpu.bias_add(t[0], t[1])))
    }

    fn bias_add_backward(&self, grad: &Tensor) -> Result<[Tensor; 2], Error> {
        let dtype = operands::float(Op::BIAS_ADD, &[grad])?;
        shape::softmax(Op::BIAS_ADD, grad.shape())?;
        let channels = shape::channels(grad.shape()).unwrap_or_default();
        let bias = Like { shape: vec![grad.shape()[channels]], dtype };
        let bias = self.tensor(&[grad], bias, |t| {
            let [_, bias] = Cpu.bias_add_backward(t[0])?;
            Ok(bias)
        });
        Ok([grad.clone(), bias])
    }
}
