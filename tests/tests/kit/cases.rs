//! The kit's cases, asked of a subject that has no operation.

use binade_conformance::{CaseGroup, Result, Runner, Subject, SubjectError};
use binade_core::{DType, HostDevice, HostTensor};
use std::collections::BTreeMap;

/// The full name of a case: `operation/variant/sentence`.
#[derive(Clone, Debug)]
pub struct Known(String);

impl Known {
    /// All three parts.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The name of what it runs.
    pub fn operation(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// Element types, mostly.
    pub fn variant(&self) -> &str {
        self.0.split('/').nth(1).unwrap_or_default()
    }

    /// Returns its name as words.
    pub fn sentence(&self) -> String {
        self.0.splitn(3, '/').nth(2).unwrap_or_default().replace('_', " ")
    }
}

/// Every case, in the kit's order.
pub fn known() -> Vec<Known> {
    Runner::new().names(&Nobody).into_iter().map(Known).collect()
}

/// Returns the kit's group of each operation. It tells of cases that were run, so that all of them are, to no avail.
pub(super) fn operations() -> BTreeMap<&'static str, CaseGroup> {
    let report = Runner::new().run(&Nobody);
    report.records().iter().map(|record| (record.group.name(), record.group)).collect()
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
