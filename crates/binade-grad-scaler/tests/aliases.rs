//! A tensor whose `cast` to its own type shares its elements, as `to_kind` of a library's handle does.

use binade_core::{AmpTensor, DType, Error, ErrorKind, HostDevice, HostTensor};
use binade_grad_scaler::{LossScale, Scaler};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// Elements in `f32` that all clones share.
#[derive(Clone)]
struct Shared(Rc<RefCell<Vec<f32>>>);

/// A [`Shared`] whose `cast` copies, and the number of writes to it.
#[derive(Clone)]
struct Copied(Shared, Rc<Cell<usize>>);

impl AmpTensor for Copied {
    type Error = NoSuchType;

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn cast(&self, to: DType) -> Result<Self, NoSuchType> {
        let copy = Rc::new(RefCell::new(self.0.cast(to)?.0.borrow().clone()));
        Ok(Self(Shared(copy), Rc::default()))
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        self.1.set(self.1.get() + 1);
        self.0.map_f32(f);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("elements are f32, and not {0}")]
struct NoSuchType(DType);

impl Error for NoSuchType {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

impl AmpTensor for Shared {
    type Error = NoSuchType;

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn cast(&self, to: DType) -> Result<Self, NoSuchType> {
        if to == DType::F32 { Ok(self.clone()) } else { Err(NoSuchType(to)) }
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        for (index, x) in self.0.borrow_mut().iter_mut().enumerate() {
            *x = f(index, *x);
        }
    }
}

#[test]
fn a_loss_that_scaling_has_changed_is_an_error() {
    let scaler = Scaler::new(HostDevice::<Shared>::new(), LossScale::dynamic()).unwrap();
    let loss = Shared(Rc::new(RefCell::new(vec![0.25])));
    let error = scaler.scale(&loss).expect_err("a loss of 16384 is 0.25 no longer");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let text = error.to_string();
    assert!(text.contains("`AmpTensor::cast` to its own type shares elements with it"), "{text}");
}

#[test]
fn a_loss_that_is_no_number_and_keeps_its_bits_is_scaled() {
    let scaler = Scaler::new(HostDevice::<HostTensor>::new(), LossScale::dynamic()).unwrap();
    assert!(scaler.scale(&HostTensor::from(vec![f32::NAN])).is_ok());
}

#[test]
fn a_loss_whose_clones_share_its_elements_is_not_written_to() {
    let scaler = Scaler::new(HostDevice::<Copied>::new(), LossScale::dynamic()).unwrap();
    let loss = Copied(Shared(Rc::new(RefCell::new(vec![0.25]))), Rc::default());
    assert!(scaler.scale(&loss).is_ok());
    assert_eq!(loss.1.get(), 0);
}
