//! Scaled dot-product attention.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{
    AttentionConfig, AttentionGrads, AttentionOutput, ScaledDotProductAttention,
};

impl<D: Device + ScaledDotProductAttention> Var<D> {
    /// Returns the values weighted by how well queries `self` match keys, of shape [.., L, V]: see [`ScaledDotProductAttention`].
    ///
    /// The policy does not cast the mask, which has no gradient: an f32 mask fits queries of any element type.
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn scaled_dot_product_attention(
        &self,
        key: &Self,
        value: &Self,
        mask: Option<&D::Tensor>,
        config: AttentionConfig,
    ) -> Outcome<D> {
        let operands = self.operands(Op::SCALED_DOT_PRODUCT_ATTENTION, [self, key, value])?;
        let [query, key, value] = operands.each_ref().map(|operand| operand.tensor.clone());
        let mask = mask.cloned();
        let device = self.tape().device();
        let results =
            device.scaled_dot_product_attention(&query, &key, &value, mask.as_ref(), config)?;
        let AttentionOutput { output, statistics } = results;
        let kept = output.clone();
        let rule = move |device: &D, grad: &D::Tensor| {
            let AttentionGrads { query, key, value } = device
                .scaled_dot_product_attention_backward(
                    grad,
                    &query,
                    &key,
                    &value,
                    &kept,
                    &statistics,
                    mask.as_ref(),
                    config,
                )?;
            Ok(all([query, key, value]))
        };
        let inputs = operands.each_ref();
        let saves = Saves::InputsAndOutput(&inputs);
        Ok(self.push(Op::SCALED_DOT_PRODUCT_ATTENTION, &inputs, &saves, output, rule))
    }
}
