//! Matrix product problem, and the algorithm for it.

use super::{
    Result, Status,
    attributes::{Desc, Kind, Layout, Preference, Reads},
};
use crate::{
    Capability,
    driver::state::{Driver, Handle, tell},
    hash_of,
};

/// Descriptors by handle, as a call gives them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptors {
    pub(crate) handle: Handle,
    pub(crate) desc: Handle,
    /// Layouts of A, B, C and D.
    pub(crate) layouts: [Handle; 4],
}

/// C type `cublasLtMatmulAlgo_t`: the algorithm, its problem, and the alignments it relies on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
pub(crate) struct Algorithm {
    mark: u64,
    /// Hash of the problem that it was given for.
    problem: u64,
    /// Alignment of A, B, C and D in bytes.
    pub(crate) aligned: [u32; 4],
    pub(crate) workspace: usize,
    pub(crate) order: Order,
    rest: [u64; 2],
}

/// Number of an algorithm among those for a problem.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(transparent)]
pub(crate) struct Order(u64);

impl Order {
    /// The library's first choice, whose products take seconds on the clock of events.
    pub(crate) const SLOW: Self = Self(0);
    /// An algorithm that the library proposes, and then refuses.
    pub(crate) const REFUSED: Self = Self(1);
    /// The fastest, which adds in the reverse order.
    pub(crate) const REVERSED: Self = Self(2);
}

/// Mark of an algorithm, which is absent from unwritten memory.
const MARK: u64 = u64::from_le_bytes(*b"cublasLt");

/// Least number of terms whose sum is split and joined in a workspace.
const SPLIT: usize = 64;

/// Bytes of that workspace.
const WORKSPACE: usize = 1 << 20;

/// Bits of `cublasLtReductionScheme_t` that add partial sums in place or in the result's type.
const FORBIDDEN: u32 = 1 | 4;

/// Product whose sizes and types have been checked.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Problem {
    pub(crate) reads: Reads,
    pub(crate) a: Layout,
    pub(crate) b: Layout,
    pub(crate) d: Layout,
    /// Transposition of A and B.
    pub(crate) transposed: [bool; 2],
    pub(crate) has_bias: bool,
}

impl Problem {
    /// Returns the number of terms of an element's sum.
    pub(crate) fn terms(&self) -> usize {
        if self.transposed[0] { self.a.rows } else { self.a.columns }
    }

    /// Returns a message if layouts and descriptor do not fit together.
    fn objection(&self, c: &Layout) -> Option<&'static str> {
        let Self { a, b, d, transposed, .. } = self;
        let turned =
            |it: &Layout, turn| if turn { (it.columns, it.rows) } else { (it.rows, it.columns) };
        let ((m, k), (terms, n)) = (turned(a, transposed[0]), turned(b, transposed[1]));
        let is_whole =
            |it: &Layout| it.rows <= it.leading && it.rows * it.columns > 0 && it.batch >= 1;
        if c != d {
            Some("C and D are laid out in different ways")
        } else if ![a, b, d].into_iter().all(is_whole) {
            Some("a matrix is empty, or its columns are longer than what lies between them")
        } else if k != terms || (m, n) != (d.rows, d.columns) {
            Some("the matrices' sizes do not fit")
        } else if a.kind != b.kind || ![a.kind, Kind::F32].contains(&d.kind) {
            Some("the types do not go together")
        } else if a.batch != b.batch || a.batch != d.batch {
            Some("the batches differ")
        } else {
            None
        }
    }
}

impl Algorithm {
    /// Returns true if the algorithm was given for this problem.
    pub(crate) fn is_for(&self, problem: &Problem) -> bool {
        self.mark == MARK && self.problem == hash_of(problem)
    }
}

impl Driver {
    /// Returns the algorithms for a problem, as `cublasLtMatmulAlgoGetHeuristic`.
    pub(crate) fn lt_choose(&self, of: Descriptors, preference: Handle) -> Result<[Algorithm; 3]> {
        let problem = self.lt_problem(of)?;
        let Preference { reductions, workspace, aligned } = *self.lt.preferences.get(preference)?;
        if reductions & FORBIDDEN != 0 {
            let line = "cuBLASLt: partial sums in place or in the result's type are not simulated";
            tell(format_args!("{line}: reduction schemes {reductions}"));
            return Err(Status::NotSupported);
        }
        // Kernels that load whole words have this limit.
        if [aligned[0], aligned[1], aligned[3]].iter().any(|bytes| *bytes < 4) {
            return Err(Status::NotSupported);
        }
        let needed = if problem.terms() < SPLIT { 0 } else { WORKSPACE };
        let workspace = if needed <= workspace { needed } else { 0 };
        let (mark, problem, rest) = (MARK, hash_of(&problem), [0; 2]);
        let of = |order| Algorithm { mark, problem, aligned, workspace, order, rest };
        Ok([Order::SLOW, Order::REFUSED, Order::REVERSED].map(of))
    }

    /// Returns the problem that the descriptors describe.
    pub(crate) fn lt_problem(&self, of: Descriptors) -> Result<Problem> {
        self.lt.handles.get(of.handle)?;
        let desc = *self.lt.descs.get(of.desc)?;
        let [a, b, c, d] = of.layouts.map(|layout| self.lt.layouts.get(layout).copied());
        let (a, b, c, d) = (a?, b?, c?, d?);
        let Desc { reads, transposed, has_bias, .. } = desc;
        let problem = Problem { reads, a, b, d, transposed, has_bias };
        if reads == Reads::Tf32 && (a.kind != Kind::F32 || self.capability < Capability::SM_80) {
            tell("cuBLASLt: TF32 of sixteen bits, or on a GPU before compute capability 8.0");
            return Err(Status::NotSupported);
        }
        match problem.objection(&c) {
            Some(objection) => {
                tell(format_args!("cuBLASLt: {objection}: {problem:?}"));
                Err(Status::InvalidValue)
            }
            None => Ok(problem),
        }
    }
}
