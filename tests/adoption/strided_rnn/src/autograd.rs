//! A tape. The gradient of a linear layer's weight is a transposed view, as a matrix library gives it.

use crate::tensor::{NoSuchType, Strided};
use binade::prelude::*;
use std::cell::RefCell;

type Pull = Box<dyn Fn(&Strided) -> Result<Strided, NoSuchType>>;
type Answer<T> = Result<T, NoSuchType>;

/// A value on the tape.
#[derive(Clone, Copy, Debug)]
pub struct Var(usize);

struct Node {
    value: Strided,
    parents: Vec<(Var, Pull)>,
}

/// The operations, in the order in which they were computed.
#[derive(Default)]
pub struct Tape(RefCell<Vec<Node>>);

/// Row after row of `f(i, j)`, rounded to `dtype`.
fn each(shape: [usize; 2], dtype: DType, f: impl Fn(usize, usize) -> f32) -> Answer<Strided> {
    let places = (0..shape[0]).flat_map(|i| (0..shape[1]).map(move |j| (i, j)));
    Strided::rounded(&places.map(|(i, j)| f(i, j)).collect::<Vec<_>>(), shape, dtype)
}

/// `x·w`, summed in `f32`, in the type of `x`.
fn product(x: &Strided, w: &Strided) -> Answer<Strided> {
    let sum = |i, j| (0..x.shape[1]).map(|k| x.at(i, k) * w.at(k, j)).sum();
    each([x.shape[0], w.shape[1]], x.dtype(), sum)
}

impl Tape {
    /// A value that gradients may be asked for.
    pub fn leaf(&self, value: Strided) -> Var {
        self.push(value, Vec::new())
    }

    fn push(&self, value: Strided, parents: Vec<(Var, Pull)>) -> Var {
        self.0.borrow_mut().push(Node { value, parents });
        Var(self.0.borrow().len() - 1)
    }

    /// The value of `var`.
    pub fn value(&self, var: Var) -> Strided {
        self.0.borrow()[var.0].value.clone()
    }

    /// `x·wᵀ`.
    ///
    /// # Errors
    ///
    /// For a type that there are no elements of; so for all operations.
    pub fn linear(&self, x: Var, w: Var) -> Answer<Var> {
        let (a, b) = (self.value(x), self.value(w));
        let value = product(&a, &b.transposed())?;
        let towards_x: Pull = Box::new(move |grad| product(grad, &b));
        let towards_w: Pull =
            Box::new(move |grad| Ok(product(&a.transposed(), grad)?.transposed()));
        Ok(self.push(value, vec![(x, towards_x), (w, towards_w)]))
    }

    /// The sum of two values of one shape.
    ///
    /// # Errors
    ///
    /// As [`linear`](Self::linear).
    pub fn add(&self, x: Var, y: Var) -> Answer<Var> {
        let (a, b) = (self.value(x), self.value(y));
        let value = each(a.shape, a.dtype(), |i, j| a.at(i, j) + b.at(i, j))?;
        let same = || -> Pull { Box::new(|grad| Ok(grad.clone())) };
        Ok(self.push(value, vec![(x, same()), (y, same())]))
    }

    /// The hyperbolic tangent.
    ///
    /// # Errors
    ///
    /// As [`linear`](Self::linear).
    pub fn tanh(&self, x: Var) -> Answer<Var> {
        let a = self.value(x);
        let value = each(a.shape, a.dtype(), |i, j| a.at(i, j).tanh())?;
        let y = value.clone();
        let slope = move |grad: &Strided, i, j| grad.at(i, j) * (1.0 - y.at(i, j).powi(2));
        let pull: Pull =
            Box::new(move |grad| each(grad.shape, grad.dtype(), |i, j| slope(grad, i, j)));
        Ok(self.push(value, vec![(x, pull)]))
    }

    /// The mean squared error in `f32`.
    ///
    /// # Errors
    ///
    /// As [`linear`](Self::linear).
    pub fn squared_error(&self, x: Var, target: Strided) -> Answer<Var> {
        let (a, count) = (self.value(x), target.values().len() as f32);
        let errors = a.values().into_iter().zip(target.values()).map(|(x, y)| x - y);
        let loss = errors.map(|error| error * error).sum::<f32>() / count;
        let pull: Pull = Box::new(move |grad| {
            let times = 2.0 / count * grad.at(0, 0);
            each(a.shape, a.dtype(), |i, j| times * (a.at(i, j) - target.at(i, j)))
        });
        Ok(self.push(Strided::new(vec![loss], [1, 1]), vec![(x, pull)]))
    }

    /// Gradients of `vars`, from `seed` for `of`.
    ///
    /// # Errors
    ///
    /// As [`linear`](Self::linear).
    pub fn backward(&self, of: Var, seed: &Strided, vars: &[Var]) -> Answer<Vec<Option<Strided>>> {
        let nodes = self.0.borrow();
        let mut grads: Vec<Option<Strided>> = vec![None; nodes.len()];
        grads[of.0] = Some(seed.clone());
        for (i, node) in nodes.iter().enumerate().rev() {
            let Some(grad) = grads[i].clone() else { continue };
            for (parent, pull) in &node.parents {
                let more = pull(&grad)?;
                let sum = match &grads[parent.0] {
                    Some(sum) => each(sum.shape, sum.dtype(), |i, j| sum.at(i, j) + more.at(i, j))?,
                    None => more,
                };
                grads[parent.0] = Some(sum);
            }
        }
        Ok(vars.iter().map(|var| grads[var.0].clone()).collect())
    }
}
