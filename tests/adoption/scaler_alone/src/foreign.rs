//! A library of tensors as bindings have it: handles without `Clone`, shared storage, casts to the own kind that are aliases,
//! and a graph inside. Nothing here knows of Binade.

use half::f16;
use std::cell::RefCell;
use std::rc::Rc;

/// The kind of the elements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// `f16`.
    Half,
    /// `f32`.
    Float,
}

type Pull = Box<dyn Fn(&[f32]) -> Vec<f32>>;

struct Node {
    kind: Kind,
    data: Vec<f32>,
    grad: Option<Vec<f32>>,
    parent: Option<(Tensor, Pull)>,
}

/// A handle.
pub struct Tensor(Rc<RefCell<Node>>);

impl Tensor {
    /// A leaf.
    pub fn of(values: &[f32]) -> Self {
        Self::made(Kind::Float, values.to_vec(), None)
    }

    fn made(kind: Kind, values: Vec<f32>, parent: Option<(Self, Pull)>) -> Self {
        let data = values.into_iter().map(|x| rounded(x, kind)).collect();
        Self(Rc::new(RefCell::new(Node { kind, data, grad: None, parent })))
    }

    /// Another handle to the same storage.
    pub fn shallow_clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// A leaf with storage of its own.
    pub fn copy(&self) -> Self {
        Self::made(self.kind(), self.values(), None)
    }

    /// The kind of the elements.
    pub fn kind(&self) -> Kind {
        self.0.borrow().kind
    }

    /// The elements.
    pub fn values(&self) -> Vec<f32> {
        self.0.borrow().data.clone()
    }

    /// Overwrites the elements in place; the graph does not see it.
    pub fn set_values(&self, values: &[f32]) {
        let mut node = self.0.borrow_mut();
        let kind = node.kind;
        node.data = values.iter().map(|x| rounded(*x, kind)).collect();
    }

    /// In another kind, recorded; in its own kind the same storage.
    pub fn to_kind(&self, kind: Kind) -> Self {
        if kind == self.kind() {
            return self.shallow_clone();
        }
        let pull: Pull = Box::new(<[f32]>::to_vec);
        Self::made(kind, self.values(), Some((self.shallow_clone(), pull)))
    }

    /// Times a number, recorded.
    pub fn multiplied(&self, factor: f32) -> Self {
        let pull: Pull = Box::new(move |grad| grad.iter().map(|g| g * factor).collect());
        let values = self.values().iter().map(|x| x * factor).collect();
        Self::made(self.kind(), values, Some((self.shallow_clone(), pull)))
    }

    /// The model's loss in `f32` at these weights, recorded.
    pub fn loss(&self) -> Self {
        let weights = self.values();
        let loss = vec![crate::loss(&weights)];
        let pull: Pull = Box::new(move |grad| crate::gradient(&weights, grad[0]));
        Self::made(Kind::Float, loss, Some((self.shallow_clone(), pull)))
    }

    /// Adds the gradient of this scalar to every tensor that it was made of.
    pub fn backward(&self) {
        self.receive(vec![1.0]);
    }

    fn receive(&self, grad: Vec<f32>) {
        let kind = self.kind();
        let grad: Vec<_> = grad.into_iter().map(|x| rounded(x, kind)).collect();
        let mut node = self.0.borrow_mut();
        let sum = node.grad.get_or_insert_with(|| vec![0.0; grad.len()]);
        sum.iter_mut().zip(&grad).for_each(|(sum, grad)| *sum += grad);
        if let Some((parent, pull)) = &node.parent {
            parent.receive(pull(&grad));
        }
    }

    /// Takes the gradient away.
    pub fn take_grad(&self) -> Option<Self> {
        self.0.borrow_mut().grad.take().map(|grad| Self::of(&grad))
    }
}

fn rounded(x: f32, kind: Kind) -> f32 {
    if kind == Kind::Half { f16::from_f32(x).to_f32() } else { x }
}
