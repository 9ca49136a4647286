//! The results of operations as lists of tensors.

use crate::ops::{
    AffineGrads, AttentionGrads, AttentionOutput, BatchNormOutput, NormGrads, OpInvocation,
    RunningStats, WeightGrads,
};

/// Results of an operation, in the order of their struct's fields.
///
/// It is public because it is a bound of [`exactly`]; other crates do not name it.
pub trait Results<T>: Sized {
    /// Returns the tensors as a list.
    fn into_vec(self) -> Vec<T>;

    /// Returns the results that consist of these tensors, or `None` where they are too few or too many.
    fn from_vec(tensors: Vec<T>) -> Option<Self>;
}

impl<T, const N: usize> Results<T> for [T; N] {
    fn into_vec(self) -> Vec<T> {
        self.into()
    }

    fn from_vec(tensors: Vec<T>) -> Option<Self> {
        tensors.try_into().ok()
    }
}

impl<T> Results<T> for NormGrads<T> {
    fn into_vec(self) -> Vec<T> {
        vec![self.input, self.weight, self.bias]
    }

    fn from_vec(tensors: Vec<T>) -> Option<Self> {
        let [input, weight, bias] = Results::from_vec(tensors)?;
        Some(Self { input, weight, bias })
    }
}

impl<T> Results<T> for AttentionOutput<T> {
    fn into_vec(self) -> Vec<T> {
        vec![self.output, self.statistics]
    }

    fn from_vec(tensors: Vec<T>) -> Option<Self> {
        let [output, statistics] = Results::from_vec(tensors)?;
        Some(Self { output, statistics })
    }
}

impl<T> Results<T> for AttentionGrads<T> {
    fn into_vec(self) -> Vec<T> {
        vec![self.query, self.key, self.value]
    }

    fn from_vec(tensors: Vec<T>) -> Option<Self> {
        let [query, key, value] = Results::from_vec(tensors)?;
        Some(Self { query, key, value })
    }
}

impl<T> Results<T> for AffineGrads<T> {
    fn into_vec(self) -> Vec<T> {
        [self.input, self.weight].into_iter().chain(self.bias).collect()
    }

    fn from_vec(mut tensors: Vec<T>) -> Option<Self> {
        let bias = if tensors.len() == 3 { tensors.pop() } else { None };
        let [input, weight] = Results::from_vec(tensors)?;
        Some(Self { input, weight, bias })
    }
}

impl<T> Results<T> for WeightGrads<T> {
    fn into_vec(self) -> Vec<T> {
        [self.weight].into_iter().chain(self.bias).collect()
    }

    fn from_vec(mut tensors: Vec<T>) -> Option<Self> {
        let bias = if tensors.len() == 2 { tensors.pop() } else { None };
        let [weight] = Results::from_vec(tensors)?;
        Some(Self { weight, bias })
    }
}

impl<T> Results<T> for RunningStats<T> {
    fn into_vec(self) -> Vec<T> {
        vec![self.mean, self.var]
    }

    fn from_vec(tensors: Vec<T>) -> Option<Self> {
        let [mean, var] = Results::from_vec(tensors)?;
        Some(Self { mean, var })
    }
}

impl<T> Results<T> for BatchNormOutput<T> {
    fn into_vec(self) -> Vec<T> {
        vec![self.output, self.running.mean, self.running.var]
    }

    fn from_vec(tensors: Vec<T>) -> Option<Self> {
        let [output, mean, var] = Results::from_vec(tensors)?;
        Some(Self { output, running: RunningStats { mean, var } })
    }
}

/// Returns the results that consist of these tensors.
///
/// # Panics
///
/// If `call` has another number of results.
pub fn exactly<T, R: Results<T>>(call: &OpInvocation, tensors: Vec<T>) -> R {
    let count = tensors.len();
    let Some(results) = R::from_vec(tensors) else {
        panic!("`invoke` returned {count} results for `{}`", call.method())
    };
    results
}
