//! Sizes of an operation that follow from the shapes of its operands, for a policy to go by.

use crate::OpCall;
use binade_core::Op;

/// Elements that are summed into one result.
#[derive(Clone, Copy)]
enum Summed {
    LastAxis,
    /// Products of a query and a key, or keys, whichever are more.
    WidthOrKeys,
    Kernel,
    Channel,
    All,
}

impl Summed {
    fn of(op: &str) -> Option<Self> {
        match op {
            "matmul" | "bmm" | "linear" | "linear_relu" | "softmax" | "log_softmax"
            | "layer_norm" | "rms_norm" | "cross_entropy" => Some(Self::LastAxis),
            "scaled_dot_product_attention" => Some(Self::WidthOrKeys),
            "conv1d" | "conv2d" => Some(Self::Kernel),
            "batch_norm" => Some(Self::Channel),
            "sum" | "mean" | "mse_loss" => Some(Self::All),
            _ => None,
        }
    }

    /// Returns their number; `None` if a shape that it follows from is unknown or does not fit the operation.
    fn length(self, first: Option<&[usize]>, second: Option<&[usize]>) -> Option<u64> {
        match self {
            Self::LastAxis => extent(*first?.last()?),
            Self::WidthOrKeys => second?.iter().rev().take(2).map(|it| extent(*it)).max()?,
            Self::Kernel => count(second?.get(1..)?),
            Self::Channel => Some(extent(*first?.first()?)?.checked_mul(count(first?.get(2..)?)?)?),
            Self::All => count(first?),
        }
    }
}

/// Returns true for an operation of Binade that sums no elements, or whose shapes do not tell how many. Any other operation may have a
/// reduction length.
pub(crate) fn has_no_length(op: &str) -> bool {
    Summed::of(op).is_none() && Op::ALL.iter().any(|known| known.name() == op)
}

impl OpCall<'_> {
    /// Returns the call with the sizes that it does not state itself and that follow from the shapes of its operands, in order;
    /// `None` is an unknown shape. Allocates nothing.
    ///
    /// | operation | [`reduction`](Self::reduction) | [`extents`](Self::extents) |
    /// |---|---|---|
    /// | `matmul`, `bmm`, `linear`, `linear_relu` | K, the last axis of the first operand | M, N and K, of one product of a batch |
    /// | `conv1d`, `conv2d` | the elements of one kernel | |
    /// | `softmax`, `log_softmax`, `layer_norm`, `rms_norm` | the last axis | |
    /// | `scaled_dot_product_attention` | the elements of a query, or the keys, whichever are more | |
    /// | `cross_entropy` | the classes, whose exponentials are summed for each row | |
    /// | `batch_norm` | the elements of one channel | |
    /// | `sum`, `mean`, `mse_loss` | all elements of the first operand | |
    ///
    /// All other operations have neither. A call that sums along another axis than the last states its length itself.
    ///
    /// ```
    /// use binade_cast_policy::OpCall;
    /// use binade_core::{DType, Op};
    ///
    /// let call = OpCall::new(Op::LINEAR, &[DType::F32; 2]);
    /// let call = call.with_shapes(&[Some([32, 784]), Some([10, 784])]);
    /// assert_eq!((call.reduction, call.extents), (Some(784), Some([32, 10, 784])));
    /// ```
    #[must_use]
    pub fn with_shapes<S: AsRef<[usize]>>(self, shapes: &[Option<S>]) -> Self {
        let shape = |operand: usize| shapes.get(operand)?.as_ref().map(AsRef::as_ref);
        let (op, first, second) = (self.op.name(), shape(0), shape(1));
        let reduction = || Summed::of(op)?.length(first, second);
        Self {
            reduction: self.reduction.or_else(reduction),
            extents: self.extents.or_else(|| extents(op, first?, second?)),
            ..self
        }
    }
}

/// Returns M, N and K of a matrix product.
fn extents(op: &str, left: &[usize], right: &[usize]) -> Option<[u64; 3]> {
    let (inner, rows) = left.split_last()?;
    let (m, n) = match op {
        "matmul" | "bmm" => (extent(*rows.last()?)?, extent(*right.last()?)?),
        "linear" | "linear_relu" => (count(rows)?, extent(*right.first()?)?),
        _ => return None,
    };
    Some([m, n, extent(*inner)?])
}

/// Returns the number of elements of a shape; `None` beyond `u64`.
fn count(shape: &[usize]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |product, len| product.checked_mul(extent(*len)?))
}

fn extent(len: usize) -> Option<u64> {
    u64::try_from(len).ok()
}
