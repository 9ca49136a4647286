//! Operations of one or two operands, with a result of their shape and type.

use super::operands;
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::shape;

type Value = binade_cpu::Tensor;
type Computed = Result<Value, binade_cpu::Error>;

pub(super) fn unary(
    device: &Deferred,
    op: Op,
    x: &Tensor,
    work: fn(&Cpu, &Value) -> Computed,
) -> Result<Tensor, Error> {
    operands::float(op, &[x])?;
    Ok(device.tensor(&[x], x.like(), move |t| work(&Cpu, t[0])))
}

pub(super) fn binary(
    device: &Deferred,
    op: Op,
    a: &Tensor,
    b: &Tensor,
    work: fn(&Cpu, &Value, &Value) -> Computed,
) -> Result<Tensor, Error> {
    shape::same(op, a.shape(), b.shape())?;
    operands::float(op, &[a, b])?;
    Ok(device.tensor(&[a, b], a.like(), move |t| work(&Cpu, t[0], t[1])))
}
