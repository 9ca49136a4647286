//! Every operation under one name, for generic code.

use crate::{
    Add, BatchNorm, BiasAdd, Bmm, Conv2d, CrossEntropy, Download, Dropout, Embedding, Fill, Gelu,
    LayerNorm, Linear, LinearRelu, LogSoftmax, MatMul, MaxPool2d, Mean, MseLoss, Mul, Relu,
    Reshape, Shaped, Softmax, Sum, Tanh, Upload,
};

/// A device that has every operation.
///
/// Nobody implements it: a handle with all the traits has it. Code that needs three operations bounds on those three.
#[rustfmt::skip]
pub trait Ops:
    Shaped + Upload + Download + Fill + Reshape
    + MatMul + Bmm + Linear + LinearRelu + Conv2d
    + LayerNorm + BatchNorm + Softmax + LogSoftmax
    + CrossEntropy + MseLoss + Sum + Mean
    + Relu + Gelu + Tanh + Add + Mul + BiasAdd
    + Embedding + MaxPool2d + Dropout
{
}

#[rustfmt::skip]
impl<D: ?Sized> Ops for D where
    D: Shaped + Upload + Download + Fill + Reshape
    + MatMul + Bmm + Linear + LinearRelu + Conv2d
    + LayerNorm + BatchNorm + Softmax + LogSoftmax
    + CrossEntropy + MseLoss + Sum + Mean
    + Relu + Gelu + Tanh + Add + Mul + BiasAdd
    + Embedding + MaxPool2d + Dropout
{
}
