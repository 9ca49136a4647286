//! A tensor whose `cast` to its own type shares its elements, as `to_kind` of a library's handle does.

use binade_core::{AmpTensor, DType, Error, ErrorKind, HostDevice, HostTensor};
use binade_grad_scaler::{LossScale, Scaler};
use std::{
    cell::{Cell, RefCell},
    convert::Infallible,
    rc::Rc,
};

/// Elements in `f32` that all clones share, and casts too unless `copies`; and the number of writes to them.
#[derive(Clone, Default)]
struct Shared {
    elements: Rc<RefCell<Vec<f32>>>,
    copies: bool,
    writes: Rc<Cell<usize>>,
}

impl Shared {
    fn of(copies: bool) -> Self {
        Self { elements: Rc::new(RefCell::new(vec![0.25])), copies, ..Self::default() }
    }
}

impl AmpTensor for Shared {
    type Error = Infallible;

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn cast(&self, _: DType) -> Result<Self, Infallible> {
        let copy = || Rc::new(RefCell::new(self.elements.borrow().clone()));
        Ok(if self.copies { Self { elements: copy(), ..Self::of(true) } } else { self.clone() })
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        self.writes.set(self.writes.get() + 1);
        for (index, x) in self.elements.borrow_mut().iter_mut().enumerate() {
            *x = f(index, *x);
        }
    }
}

#[test]
fn a_loss_that_scaling_has_changed_is_an_error() {
    let scaler = Scaler::new(HostDevice::<Shared>::new(), LossScale::dynamic()).unwrap();
    let error = scaler.scale(&Shared::of(false)).expect_err("a loss of 16384 is 0.25 no longer");
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
    let scaler = Scaler::new(HostDevice::<Shared>::new(), LossScale::dynamic()).unwrap();
    let loss = Shared::of(true);
    assert!(scaler.scale(&loss).is_ok());
    assert_eq!(loss.writes.get(), 0);
}
