//! Operations, by name and by the precision they need.

/// Class of operations that need the same precision, for policies by class instead of name.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum OpClass {
    /// Matrix products, linear layers, attention.
    MatMul,
    /// Convolutions.
    Conv,
    /// Layer, batch and group normalisation.
    Norm,
    /// Softmax and its logarithm.
    Softmax,
    /// Losses.
    Loss,
    /// Sums, means, norms.
    Reduce,
    /// Exponentials, logarithms, powers: their results leave a narrow range quickly.
    Exponential,
    /// Elementwise arithmetic on one or several operands.
    Pointwise,
    /// Operations that move, pick or drop elements and compute nothing.
    Shape,
    /// Any other operation.
    Other,
}

/// Operation: the name in policies' lists, and its class.
///
/// Names are torch's without overload suffix, where torch has the operation.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Op {
    name: &'static str,
    class: OpClass,
    /// Place in [`ALL`](Self::ALL); `CUSTOM` for any other operation.
    index: usize,
}

/// Index of an operation that Binade does not name.
const CUSTOM: usize = usize::MAX;

impl Op {
    /// Creates an operation of the caller's own.
    pub const fn custom(name: &'static str, class: OpClass) -> Self {
        let mut index = 0;
        while index < Self::NAMES.len() {
            if equal(Self::NAMES[index].as_bytes(), name.as_bytes()) {
                return Self { name, class, index };
            }
            index += 1;
        }
        Self { name, class, index: CUSTOM }
    }

    /// Returns the operation that Binade itself names `name`.
    pub const fn named(name: &str) -> Option<Self> {
        let mut rest = Self::ALL;
        while let [op, others @ ..] = rest {
            if equal(op.name.as_bytes(), name.as_bytes()) {
                return Some(*op);
            }
            rest = others;
        }
        None
    }

    /// Returns the name in policies' lists.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the place in [`ALL`](Self::ALL) of an operation that Binade itself names: a policy may keep its rule there.
    pub const fn index(&self) -> Option<usize> {
        if self.index == CUSTOM { None } else { Some(self.index) }
    }

    /// Returns the class, from which a policy chooses a precision.
    pub const fn class(&self) -> OpClass {
        self.class
    }
}

/// Compares bytes in constants, where `==` is not yet allowed.
const fn equal(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([first, a_rest @ ..], [other, b_rest @ ..]) = (a, b) {
        if *first != *other {
            return false;
        }
        (a, b) = (a_rest, b_rest);
    }
    a.is_empty() && b.is_empty()
}

macro_rules! ops {
    ($($constant:ident $name:literal $class:ident $doc:literal,)*) => {
        impl Op {
            $(#[doc = $doc] pub const $constant: Self = Self::custom($name, OpClass::$class);)*

            /// Operations that Binade itself names.
            pub const ALL: &'static [Self] = &[$(Self::$constant),*];

            /// Their names.
            const NAMES: &'static [&'static str] = &[$($name),*];
        }
    };
}

ops! {
    MATMUL "matmul" MatMul "Matrix product.",
    BMM "bmm" MatMul "A batch of matrix products.",
    LINEAR "linear" MatMul "Matrix product with a weight stored output by input, plus bias.",
    LINEAR_RELU "linear_relu" MatMul "A linear layer, and the rectified linear unit of its result.",
    CONV2D "conv2d" Conv "Two-dimensional convolution (cross-correlation), plus bias.",
    SCALED_DOT_PRODUCT_ATTENTION "scaled_dot_product_attention" MatMul "Softmax of queries times keys, times values.",
    LAYER_NORM "layer_norm" Norm "Normalisation over the last axis.",
    RMS_NORM "rms_norm" Norm "Division by the root mean square over the last axis.",
    GROUP_NORM "group_norm" Norm "Normalisation over groups of channels.",
    BATCH_NORM "batch_norm" Norm "Normalisation over the batch, by channel.",
    SOFTMAX "softmax" Softmax "Exponentials over the last axis, normalised to sum 1.",
    LOG_SOFTMAX "log_softmax" Softmax "Logarithm of softmax.",
    CROSS_ENTROPY "cross_entropy" Loss "Mean negative log-likelihood of class labels, from logits.",
    MSE_LOSS "mse_loss" Loss "Mean squared error.",
    SUM "sum" Reduce "Sum of all elements.",
    MEAN "mean" Reduce "Mean of all elements.",
    RELU "relu" Pointwise "max(x, 0).",
    GELU "gelu" Pointwise "x times the normal distribution function of x.",
    GELU_TANH "gelu_tanh" Pointwise "The approximation of gelu by a hyperbolic tangent.",
    SILU "silu" Pointwise "x times the logistic function of x.",
    TANH "tanh" Pointwise "Hyperbolic tangent.",
    EXP "exp" Exponential "Exponential.",
    SQRT "sqrt" Pointwise "Square root.",
    ADD "add" Pointwise "Elementwise sum.",
    SUB "sub" Pointwise "Elementwise difference.",
    MUL "mul" Pointwise "Elementwise product.",
    DIV "div" Pointwise "Elementwise quotient.",
    BIAS_ADD "bias_add" Pointwise "Adds a vector along the channel axis.",
    EMBEDDING "embedding" Shape "Rows of a table, by index.",
    CAT "cat" Shape "Tensors joined along an axis.",
    MASKED_FILL "masked_fill" Pointwise "One value in the place of masked elements.",
    MAX_POOL2D "max_pool2d" Shape "The largest element of each window.",
    AVG_POOL2D "avg_pool2d" Other "The mean of each window.",
    ADAPTIVE_AVG_POOL2D "adaptive_avg_pool2d" Other "The mean of each of a given number of windows.",
    ROTARY_EMBEDDING "rotary_embedding" Pointwise "Rotates pairs of elements by angles of their position.",
    DROPOUT "dropout" Pointwise "Zeroes elements at random and scales the rest.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operation_has_a_part_of_a_name_or_more() {
        assert_eq!(["line", "linear_", "linear_relus", ""].map(Op::named), [None; 4]);
    }

    #[test]
    fn an_operation_has_the_name_and_class_it_was_given_and_no_two_share_a_name() {
        let mine = Op::custom("instance_norm", OpClass::Norm);
        assert_eq!((mine.name(), mine.class()), ("instance_norm", OpClass::Norm));
        assert_eq!((Op::LINEAR.name(), Op::LINEAR.class()), ("linear", OpClass::MatMul));
        for (index, op) in Op::ALL.iter().enumerate() {
            let by_name = Op::ALL.iter().position(|other| other.name() == op.name());
            assert_eq!((by_name, Op::named(op.name())), (Some(index), Some(*op)));
            assert_eq!((op.index(), mine.index()), (Some(index), None));
        }
    }
}
