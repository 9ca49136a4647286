//! The kit's cases, asked of a subject that has no operation.

use binade_conformance::{CaseGroup, Result, Runner, Subject, SubjectError};
use binade_core::{DType, HostDevice, HostTensor};
use std::collections::BTreeMap;

/// Operation, variant (element types, mostly) and sentence of a case's full name.
pub fn parts(case: &str) -> [&str; 3] {
    let mut parts = case.splitn(3, '/');
    [(); 3].map(|()| parts.next().unwrap_or_default())
}

/// The full name of every case, in the kit's order.
pub fn known() -> Vec<String> {
    Runner::new().names(&Nobody)
}

/// Returns the kit's group of each operation. It tells of cases that were run, so that all of them are, to no avail.
pub(super) fn operations() -> BTreeMap<String, CaseGroup> {
    let report = Runner::new().run(&Nobody);
    report.records.iter().map(|record| (record.group.to_string(), record.group)).collect()
}

/// Has no operation: it is asked for its cases and runs none.
struct Nobody;

impl Subject for Nobody {
    type Handle = HostDevice<HostTensor>;

    fn from_bits(&self, _: &[u8], _: DType, _: &[usize]) -> Result<HostTensor> {
        Err(SubjectError::unsupported("a tensor"))
    }

    fn to_bits(&self, _: &HostTensor) -> Result<Vec<u8>> {
        Err(SubjectError::unsupported("a tensor"))
    }
}
