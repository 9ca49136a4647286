//! The cases by group, with their inputs and the contract that each checks.
//!
//! The file of an operation also contains its oracle: the meaning of the operation, element by element, on one screen, and independent of the tested
//! code. An oracle need not be fast, nor share code: it is right because it can be read beside its definition.

#![expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]

mod agreement;
mod op;
mod prelude;
mod steps;
mod stores;
mod training;
mod values;

use crate::{
    Arithmetic, Backend, Case, CaseError, CaseGroup, Cases, Failure, Layout, Result, Stored, Tensor,
};

use binade_core::DType;
use op::OpCases;
pub(crate) use values::layouts;

/// Element types with arithmetic, in the order of every list.
const FLOATS: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Lengths around the edges of vectors, blocks and chunks. A chunk has 1024 elements on the CPU and 4096 on CUDA, where a thread takes four elements
/// and the four at a distance of 1024.
const LENGTHS: [usize; 23] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1024, 1025, 1026, 1027, 4095, 4096,
    4097,
];

/// Lengths around the edges of vectors, warps and blocks, for operations that have many cases each.
const SHORT: [usize; 17] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1025];

/// Lengths around the edges of launches, for a few cases of each operation.
const LONG: [usize; 3] = [65535, 65536, 65537];

/// Element types without arithmetic, for storage and casts.
const EIGHT_BITS: [DType; 2] = [DType::E4M3, DType::E5M2];

/// Adds the cases of a group. Those of an operation go through [`OpCases`], which are compiled once for all subjects.
macro_rules! add {
    ([Ops $op:ident] $name:ident $cases:ident) => {{
        let mut asks = OpCases::default();
        $name::add_cases(&mut asks);
        asks.put_to($cases);
    }};
    ([$suite:ident] $name:ident $cases:ident) => {
        $name::add_cases($cases)
    };
}

macro_rules! groups {
    ({} $($(#[$doc:meta])* [$($suite:ident)+] $group:ident $name:ident)*) => {
        $(pub(crate) mod $name;)*

        impl CaseGroup {
            /// Adds the cases of the group.
            fn add_to<S: Backend>(self, cases: &mut Cases<S>) {
                match self {
                    $(Self::$group => add!([$($suite)+] $name cases),)*
                }
            }
        }
    };
}

crate::group::for_each_group!([groups]);

/// Returns every case for a subject of this arithmetic.
pub(crate) fn all<S: Backend>(arithmetic: Arithmetic) -> Vec<Case<S>> {
    of(arithmetic, |_| true)
}

/// Returns the cases of these groups, in the order of the table.
pub(crate) fn of<S: Backend>(
    arithmetic: Arithmetic,
    wants: impl Fn(CaseGroup) -> bool,
) -> Vec<Case<S>> {
    let groups = CaseGroup::ALL.iter().copied().filter(|group| wants(*group));
    let of = |group: CaseGroup| {
        let mut cases = Cases::new(group, arithmetic);
        group.add_to(&mut cases);
        cases.list
    };
    groups.flat_map(of).collect()
}

/// Uploads a tensor to the subject, as a view of its layout.
fn put<S: Backend>(subject: &S, tensor: &Stored) -> Result<Tensor<S>> {
    let Stored { dtype, shape, bytes, layout } = tensor;
    match layout {
        Layout::Offset(0) => subject.from_bits(bytes, *dtype, shape),
        _ => subject.view(bytes, *dtype, shape, *layout),
    }
}

/// Downloads a tensor of the subject, which must have this type and shape.
fn get<S: Backend>(
    subject: &S,
    tensor: &Tensor<S>,
    dtype: DType,
    shape: &[usize],
) -> Result<Stored, CaseError> {
    let bytes = subject.to_bits(tensor)?;
    let expected = dtype.bytes() * shape.iter().product::<usize>();
    if bytes.len() == expected {
        return Ok(Stored::from_bytes(dtype, shape, bytes));
    }
    Err(CaseError::Wrong(Failure {
        got: format!("{} bytes", bytes.len()),
        wanted: format!("{expected} bytes, being {dtype}{shape:?}"),
        ..Failure::default()
    }))
}
