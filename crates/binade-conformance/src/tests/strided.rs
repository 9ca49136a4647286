//! A user's own tensor with strides, right and with one fault each: the kit finds faults of its `AmpTensor`, and reports them as such.

use super::caught::{failed, fails};
use super::faulty::Faulty;
use super::toy::{Elements, Plain, plain};
use super::wrong_sets::Wrong;
use crate::{Layout, Outcome, Result, Runner, SubjectError};
use binade_core::cast::{OnOverflow::NonFinite, round};
use binade_core::{AmpTensor, DType, HostDevice, HostTypeError};
use std::{cell::RefCell, rc::Rc};

/// A fault of the tensor.
#[derive(Clone, Copy, PartialEq)]
enum Bug {
    None,
    WalksInTheOrderOfMemory,
    CastSharesElements,
    LosesTheFactor,
}
use Bug::{CastSharesElements, LosesTheFactor, WalksInTheOrderOfMemory};

/// Elements as `f32`, whatever type they are rounded to. A clone shares them.
#[derive(Clone)]
struct Strided {
    bug: Bug,
    dtype: DType,
    shape: Vec<usize>,
    layout: Layout,
    buffer: Rc<RefCell<Vec<f32>>>,
}

impl Strided {
    fn values(&self) -> Vec<f32> {
        let buffer = self.buffer.borrow();
        self.layout.places(&self.shape).map(|place| buffer[place]).collect()
    }
}

impl AmpTensor for Strided {
    type Error = HostTypeError;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> Option<Vec<usize>> {
        Some(self.shape.clone())
    }

    /// A cast to its own type keeps the layout, so that a view stays a view.
    fn cast(&self, to: DType) -> Result<Self, HostTypeError> {
        if to == self.dtype && self.bug == CastSharesElements {
            return Ok(self.clone());
        }
        let (layout, values) = if to == self.dtype {
            (self.layout, self.buffer.borrow().clone())
        } else {
            let rounded = self.values().into_iter().map(|x| round(x, to, NonFinite));
            let values = rounded.collect::<Option<_>>().ok_or(HostTypeError(to))?;
            (Layout::Offset(0), values)
        };
        let (shape, buffer) = (self.shape.clone(), Rc::new(RefCell::new(values)));
        Ok(Self { dtype: to, shape, layout, buffer, ..*self })
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        let mut places: Vec<usize> = self.layout.places(&self.shape).collect();
        if self.bug == WalksInTheOrderOfMemory {
            places.sort_unstable();
        }
        let mut buffer = self.buffer.borrow_mut();
        for (index, place) in places.into_iter().enumerate() {
            let x = f(index, buffer[place]);
            buffer[place] = round(x, self.dtype, NonFinite).unwrap_or(x);
        }
    }

    fn scaled(&self, factor: f32) -> Result<Self, HostTypeError> {
        let factor = if self.bug == LosesTheFactor { 1.0 } else { factor };
        let mut product = self.cast(DType::F32)?;
        product.map_f32(&mut |_, x| x * factor);
        Ok(product)
    }
}

struct Subject(Bug);

impl crate::Subject for Subject {
    type Handle = HostDevice<Strided>;

    fn handle(&self) -> Option<&HostDevice<Strided>> {
        Some(const { &HostDevice::new() })
    }

    fn name(&self) -> &'static str {
        "strided"
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Strided> {
        self.view(bits, dtype, shape, Layout::Offset(0))
    }

    fn view(&self, bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Result<Strided> {
        if ![DType::BF16, DType::F16, DType::F32].contains(&dtype) {
            return Err(SubjectError::unsupported(dtype.name()));
        }
        let bytes = layout.buffer(bits, dtype, shape);
        let buffer =
            Rc::new(RefCell::new(plain(&bytes, dtype, &[bytes.len() / dtype.bytes()]).read()));
        Ok(Strided { bug: self.0, dtype, shape: shape.to_vec(), layout, buffer })
    }

    fn to_bits(&self, tensor: &Strided) -> Result<Vec<u8>> {
        Ok(Plain::write(&tensor.values(), tensor.dtype, &tensor.shape).to_bits())
    }

    fn cast(&self, tensor: &Strided, to: DType) -> Result<Strided> {
        Ok(tensor.cast(to)?)
    }
}

#[test]
fn a_tensor_with_strides_passes_and_none_of_its_views_is_skipped() {
    let suites = ["Autocast", "GradScaler", "GradOps", "MasterWeights"];
    let report = suites.into_iter().fold(Runner::new(), Runner::suite).run(&Subject(Bug::None));
    report.assert_success();
    let views = report.records.iter().filter(|record| record.name.contains("views_are_read"));
    let passed = views.filter(|record| record.outcome == Outcome::Passed).count();
    // Casts among three types, five operations on sets and tensors of three each, and six on parameters.
    assert!(passed > 30, "{passed} of {report}");
}

#[test]
fn a_walk_in_the_order_of_memory_is_caught_and_told_to_be_that_of_map_f32() {
    let views = Runner::new().only("views_are_read_in_row_major_order");
    let report = views.run(&Subject(WalksInTheOrderOfMemory));
    let failed = failed(&report);
    for case in ["unscale/f32", "accumulate/f32", "sgd/f32<-f32", "adam/f32<-f32", "kahan/bf16"] {
        let case = format!("{case}/views_are_read_in_row_major_order");
        assert!(failed.contains(&&*case), "{case} let it pass; these did not: {failed:#?}");
    }
    let text = report.to_string();
    assert!(
        text.contains("contract   your `AmpTensor::map_f32` visits every element once"),
        "{text}"
    );
    assert!(!text.contains("contract   GradScaler"), "{text}");
}

#[test]
fn a_cast_that_shares_elements_is_caught_and_told_to_be_that_of_cast() {
    let report = Runner::new().only("f32/").run(&Subject(CastSharesElements));
    let failed = failed(&report);
    for case in [
        "scale/f32/what_is_scaled_keeps_its_own_bits",
        "cast/f32-f32/a_cast_to_the_own_type_is_a_copy",
    ] {
        assert!(failed.contains(&case), "{case} let it pass; these did not: {failed:#?}");
    }
    let text = report.to_string();
    assert!(text.contains("contract   your `AmpTensor::cast` makes a copy, to the own type too"));
    assert!(text.contains("`the loss`: scaling it has changed it"), "{text}");
}

#[test]
fn a_loss_that_is_not_multiplied_is_told_to_be_that_of_scaled() {
    let report = Runner::new().suite("GradScaler").run(&Subject(LosesTheFactor));
    let failed = failed(&report);
    assert!(failed.len() > 20, "{failed:#?}");
    assert!(failed.iter().all(|case| case.starts_with("scale/")), "{failed:#?}");
    let text = report.to_string();
    assert!(text.contains("contract   your `AmpTensor::scaled` multiplies each element"), "{text}");
    // Of so many failures, only the first is shown.
    assert_eq!(text.matches("\n  inputs ").count(), 1, "{text}");
    let others = format!("FAILED {} more of scale: BINADE_CASE='scale/'", failed.len() - 1);
    assert!(text.contains(&others), "{text}");
}

#[test]
fn a_device_with_traits_of_its_own_is_not_told_of_amp_tensor() {
    let wrong = Faulty(&Wrong("reads_in_the_order_of_memory"));
    let report = Runner::new().only("unscale/f16/views").run_on(&wrong);
    let text = report.to_string();
    assert!(text.contains("contract   Subject: `view` gives the tensor"), "{text}");
    assert!(!text.contains("AmpTensor"), "{text}");
}

#[test]
fn a_view_read_in_the_order_of_memory_is_caught_in_every_operation() {
    for operation in ["cast/f16-f32", "norm/bf16", "clip/f32", "clip_groups/f16", "matmul/f32"] {
        let case = format!("{operation}/views_are_read_in_row_major_order");
        let report = Runner::new()
            .only(case.as_str())
            .run_on(&Faulty(&Wrong("reads_in_the_order_of_memory")));
        assert_eq!(failed(&report), [case]);
    }
    fails(
        &Wrong("reads_in_the_order_of_memory"),
        "sgd/bf16<-bf16/views_are_read_in_row_major_order",
        None,
    );
}
