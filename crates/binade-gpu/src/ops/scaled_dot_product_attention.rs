//! Scaled dot-product attention.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::ops::{
    AttentionConfig, AttentionGrads, AttentionOutput, OpInvocation, shape::MaskLayout,
};
use binade_core::{DType, TensorSpec};

/// Operands of attention, and their dimensions.
#[derive(Debug)]
pub struct Attention<'a, D: Driver> {
    /// Queries, `[places, rows, width]`.
    pub query: &'a Tensor<D>,
    /// Keys, `[places, keys, width]`.
    pub key: &'a Tensor<D>,
    /// Values, `[places, keys, columns]`.
    pub value: &'a Tensor<D>,
    /// Mask that is added to the scores.
    pub mask: Option<&'a Tensor<D>>,
    /// Place of each matrix of scores in the mask; that of one matrix for all without a mask.
    pub mask_layout: MaskLayout,
    /// Factor of each product of a query and a key.
    pub scale: f32,
    /// True if query `i` attends only to keys `0..=i`.
    pub causal: bool,
    /// Product of the leading extents.
    pub places: usize,
    /// Queries of a place.
    pub rows: usize,
    /// Keys of a place.
    pub keys: usize,
    /// Elements of a query.
    pub width: usize,
    /// Elements of a value.
    pub columns: usize,
}

impl<'a, D: Driver> Attention<'a, D> {
    /// Describes operands that have been checked.
    fn new(
        [query, key, value]: [&'a Tensor<D>; 3],
        mask: Option<&'a Tensor<D>>,
        config: AttentionConfig,
    ) -> Self {
        let last = |of: &Tensor<D>, axis: usize| of.shape().iter().rev().nth(axis).copied();
        let [rows, keys] = [query, key].map(|of| last(of, 1).unwrap_or_default());
        let [width, columns] = [query, value].map(|of| last(of, 0).unwrap_or_default());
        let shared = MaskLayout { repeats: 1, count: 1, has_rows: false };
        let layout = mask.and_then(|mask| MaskLayout::of(query.shape(), mask.shape()));
        Self {
            query,
            key,
            value,
            mask,
            mask_layout: layout.unwrap_or(shared),
            scale: config.scale_for(width),
            causal: config.causal,
            places: query.shape().iter().rev().skip(2).product(),
            rows,
            keys,
            width,
            columns,
        }
    }
}

/// Driver with kernels of attention.
pub trait AttentionKernels: Driver {
    /// Computes the output and each query's statistics. The memory grows only with the number of queries.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_attention(
        &self,
        of: &Attention<'_, Self>,
        results: &AttentionOutput<Tensor<Self>>,
    ) -> Result<(), Self>;

    /// Computes the gradients of query, key and value from the output's gradient and both results of the forward pass.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_attention_backward(
        &self,
        of: &Attention<'_, Self>,
        grad: &Tensor<Self>,
        results: [&Tensor<Self>; 2],
        grads: &AttentionGrads<Tensor<Self>>,
    ) -> Result<(), Self>;
}

impl<D: AttentionKernels> binade_core::ops::ScaledDotProductAttention for Gpu<'_, D> {
    fn scaled_dot_product_attention(
        &self,
        query: &Tensor<D>,
        key: &Tensor<D>,
        value: &Tensor<D>,
        mask: Option<&Tensor<D>>,
        config: AttentionConfig,
    ) -> Result<AttentionOutput<Tensor<D>>, D> {
        let call = OpInvocation::ScaledDotProductAttention { config };
        let operands: Vec<_> = [query, key, value].into_iter().chain(mask).collect();
        let TensorSpec { dtype, shape } = check(self.0, &call, &operands)?;
        let results = AttentionOutput {
            output: self.0.unset(dtype, &shape)?,
            statistics: self.0.unset(DType::F32, &[&shape[..shape.len() - 1], &[2]].concat())?,
        };
        let of = Attention::new([query, key, value], mask, config);
        self.0.launch_attention(&of, &results)?;
        Ok(results)
    }

    fn scaled_dot_product_attention_backward(
        &self,
        grad: &Tensor<D>,
        query: &Tensor<D>,
        key: &Tensor<D>,
        value: &Tensor<D>,
        output: &Tensor<D>,
        statistics: &Tensor<D>,
        mask: Option<&Tensor<D>>,
        config: AttentionConfig,
    ) -> Result<AttentionGrads<Tensor<D>>, D> {
        let call = OpInvocation::ScaledDotProductAttentionBackward { config };
        let operands = [grad, query, key, value, output, statistics].into_iter().chain(mask);
        check(self.0, &call, &operands.collect::<Vec<_>>())?;
        let like = |of: &Tensor<D>| self.0.unset(of.dtype(), of.shape());
        let grads = AttentionGrads { query: like(query)?, key: like(key)?, value: like(value)? };
        let of = Attention::new([query, key, value], mask, config);
        self.0.launch_attention_backward(&of, grad, [output, statistics], &grads)?;
        Ok(grads)
    }
}
