//! Matrix product: its memory checked when it is asked for, computed in the order of its stream.

use half::{bf16, f16};

use super::{
    Algorithm, Descriptors, Result, Status,
    attributes::{Kind, Layout},
    problem::Problem,
};
use crate::driver::{
    code,
    state::{Driver, Handle, graph::Node, tell},
};
use std::{ops::Range, sync::Arc};

/// Arguments of `cublasLtMatmul` beside the descriptors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
    /// Addresses of A, B, C and D.
    pub(crate) at: [u64; 4],
    pub(crate) algorithm: Algorithm,
    pub(crate) workspace: u64,
    pub(crate) workspace_bytes: usize,
    pub(crate) stream: Handle,
}

/// Product with all that it needs, so that descriptors may be destroyed before it runs.
#[derive(Debug)]
pub(crate) struct Product {
    problem: Problem,
    alpha: f32,
    a: u64,
    b: u64,
    d: u64,
    /// Address of the bias; 0 for none.
    bias: u64,
    workspace: u64,
    /// Bytes of the workspace that are written over.
    workspace_bytes: usize,
}

impl Product {
    /// Returns the addresses of A, B and D.
    pub(crate) fn matrices(&self) -> [u64; 3] {
        [self.a, self.b, self.d]
    }
}

impl Driver {
    /// Puts a product in its stream.
    pub(crate) fn lt_multiply(&mut self, of: Descriptors, call: &Call) -> Result {
        let problem = self.lt_problem(of)?;
        let bias = if problem.has_bias { Some(self.lt.descs.get(of.desc)?.bias) } else { None };
        if let Some(objection) = self.lt_objection(&problem, bias, call) {
            tell(format_args!("cuBLASLt: {objection}: {call:x?} of {problem:?}"));
            return Err(Status::InvalidValue);
        }
        if call.beta != 0.0 {
            tell(format_args!("cuBLASLt: a beta of {} is not simulated", call.beta));
            return Err(Status::NotSupported);
        }
        let [a, b, _, d] = call.at;
        let workspace_bytes = usize::try_from(call.algorithm.workspace).unwrap_or(usize::MAX);
        let (alpha, bias, workspace) = (call.alpha, bias.unwrap_or(0), call.workspace);
        let product = Product { problem, alpha, a, b, d, bias, workspace, workspace_bytes };
        self.submit(call.stream, Node::Product(Arc::new(product)))
            .map_err(|_| Status::ExecutionFailed)
    }

    /// Returns a message if the memory or the algorithm does not fit the problem.
    fn lt_objection(
        &self,
        problem: &Problem,
        bias: Option<u64>,
        call: &Call,
    ) -> Option<&'static str> {
        let Call { at, algorithm, workspace, workspace_bytes, .. } = call;
        let Problem { a, b, d, .. } = problem;
        if !algorithm.is_for(problem) {
            return Some("the algorithm was given for another problem");
        }
        let lies = |(at, aligned): (&u64, &u32)| at.is_multiple_of(u64::from(*aligned));
        if !at.iter().zip(&algorithm.aligned).all(lies) {
            return Some("a matrix is not aligned as the preference said");
        }
        let bias = bias.map(|at| at..at + d.rows * d.kind.bytes() as u64);
        let needed = usize::try_from(algorithm.workspace).unwrap_or(usize::MAX);
        if needed > *workspace_bytes || !workspace.is_multiple_of(16) {
            return Some("the workspace is smaller than the algorithm's, or at an odd place");
        }
        let read = [range(a, at[0]), range(b, at[1])].into_iter().chain(bias);
        let scratch = *workspace..workspace + algorithm.workspace;
        let (read, written) = (read.collect::<Vec<_>>(), [range(d, at[3]), scratch]);
        if !read.iter().chain(&written).all(|range| self.lt_holds(range)) {
            return Some("a matrix, the bias or the workspace reaches beyond its allocation");
        }
        if overlap(&written, &read) {
            return Some("the result or the workspace lies over what is read, or over each other");
        }
        overlaps_itself(d).then_some("matrices of the result lie over each other")
    }

    /// Returns true if one allocation holds the whole range, or the range is empty.
    pub(crate) fn lt_holds(&self, bytes: &Range<u64>) -> bool {
        bytes.is_empty()
            || self
                .range(bytes.start)
                .is_ok_and(|(first, length)| bytes.end <= first + length as u64)
    }

    /// Computes the product. Products are f32, exact for sixteen bits and TF32, and added by `fma` in the order of K. The bias is
    /// added last, and one rounding makes the result's type. Sums of a batch run in the reverse order, since the library does not
    /// promise the bits of its single products there.
    pub(crate) fn multiply(&mut self, product: &Product) -> code::Result {
        let Product { problem, alpha, a, b, d, bias, .. } = *product;
        let Problem { transposed, has_bias, .. } = problem;
        if product.workspace_bytes > 0 {
            self.fill(product.workspace, &[0xff], product.workspace_bytes)?;
        }
        let reads = |values: Vec<f32>| values.into_iter().map(|it| problem.reads.of(it)).collect();
        let x: Vec<f32> = reads(self.values(&problem.a, a)?);
        let y: Vec<f32> = reads(self.values(&problem.b, b)?);
        let added = if has_bias {
            self.floats(problem.d.kind, bias, index(problem.d.rows))?
        } else {
            vec![0.0; index(problem.d.rows)]
        };
        let terms = index(problem.terms());
        let place = |it: &Layout, turn: bool, [matrix, row, column]: [usize; 3]| {
            let (row, column) = if turn { (column, row) } else { (row, column) };
            matrix * step(it) + column * leading(it) + row
        };
        let to = problem.d;
        let bytes = self.bytes(d, length(&range(&to, d)))?;
        for matrix in 0..index(to.batch.unsigned_abs().into()) {
            for (column, row) in
                (0..index(to.columns)).flat_map(|c| (0..index(to.rows)).map(move |r| (c, r)))
            {
                let sum = (0..terms).fold(0.0_f32, |sum, number| {
                    let k = if to.batch > 1 { terms - 1 - number } else { number };
                    let left = x[place(&problem.a, transposed[0], [matrix, row, k])];
                    left.mul_add(y[place(&problem.b, transposed[1], [matrix, k, column])], sum)
                });
                let value = alpha * sum + added[row];
                let first = place(&to, false, [matrix, row, column]) * to.kind.bytes();
                encode(to.kind, value, &mut bytes[first..first + to.kind.bytes()]);
            }
        }
        Ok(())
    }

    fn values(&mut self, layout: &Layout, at: u64) -> code::Result<Vec<f32>> {
        self.floats(layout.kind, at, length(&range(layout, at)) / layout.kind.bytes())
    }

    pub(crate) fn floats(&mut self, kind: Kind, at: u64, count: usize) -> code::Result<Vec<f32>> {
        let bytes = self.bytes(at, count * kind.bytes())?;
        Ok(bytes.chunks_exact(kind.bytes()).map(|bytes| decode(kind, bytes)).collect())
    }
}

fn decode(kind: Kind, bytes: &[u8]) -> f32 {
    match (kind, bytes) {
        (Kind::F16, [a, b]) => f16::from_ne_bytes([*a, *b]).to_f32(),
        (Kind::BF16, [a, b]) => bf16::from_ne_bytes([*a, *b]).to_f32(),
        (Kind::F32, [a, b, c, d]) => f32::from_ne_bytes([*a, *b, *c, *d]),
        _ => f32::NAN,
    }
}

pub(crate) fn encode(kind: Kind, value: f32, to: &mut [u8]) {
    match kind {
        Kind::F16 => to.copy_from_slice(&f16::from_f32(value).to_ne_bytes()),
        Kind::BF16 => to.copy_from_slice(&bf16::from_f32(value).to_ne_bytes()),
        Kind::F32 => to.copy_from_slice(&value.to_ne_bytes()),
    }
}

/// Returns true if what is written lies over what is read, or over each other.
pub(crate) fn overlap(written: &[Range<u64>; 2], read: &[Range<u64>]) -> bool {
    let meets =
        |one: &Range<u64>, other: &Range<u64>| one.start.max(other.start) < one.end.min(other.end);
    let is_read = |one: &Range<u64>| read.iter().any(|other| meets(one, other));
    written.iter().any(is_read) || meets(&written[0], &written[1])
}

/// Returns the addresses from the first byte of a matrix or batch to behind its last.
fn range(layout: &Layout, at: u64) -> Range<u64> {
    let last_matrix = (index(layout.batch.unsigned_abs().into()) - 1) * step(layout);
    let last_column = (index(layout.columns) - 1) * leading(layout);
    let elements = last_matrix + last_column + index(layout.rows);
    at..at + (elements * layout.kind.bytes()) as u64
}

/// Returns true if an element would be written twice.
fn overlaps_itself(layout: &Layout) -> bool {
    let mut written = vec![false; length(&range(layout, 0)) / layout.kind.bytes()];
    let starts = (0..index(layout.batch.unsigned_abs().into()))
        .flat_map(|matrix| (0..index(layout.columns)).map(move |column| (matrix, column)))
        .map(|(matrix, column)| matrix * step(layout) + column * leading(layout));
    let elements = starts.flat_map(|start| start..start + index(layout.rows));
    elements.into_iter().any(|place| std::mem::replace(&mut written[place], true))
}

fn length(range: &Range<u64>) -> usize {
    index(range.end - range.start)
}

fn leading(layout: &Layout) -> usize {
    index(layout.leading.unsigned_abs())
}

fn step(layout: &Layout) -> usize {
    index(layout.step.unsigned_abs())
}

/// Converts a size; device memory fits a host's.
fn index(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
