//! Matrix product: its memory is checked at the call, and it is computed in stream order.

use half::{bf16, f16};

use super::{
    Algorithm, Descriptors, Result, Status,
    attributes::{Kind, Layout},
    problem::{Order, Problem},
};
use crate::{
    Access,
    driver::{
        code,
        state::{Driver, Handle, copy::invalid, graph::Node, tell},
    },
};
use std::{ops::Range, sync::Arc, time::Duration};

/// Time on the clock of events of a product by the slow algorithm: more than a busy machine can add to another product.
const SLOWNESS: Duration = Duration::from_mins(10);

/// Arguments of `cublasLtMatmul` except the descriptors.
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
    pub(crate) call: Call,
    /// Address of the bias, if one is added.
    bias: Option<u64>,
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
        if call.algorithm.order == Order::REFUSED {
            return Err(Status::NotSupported);
        }
        let product = Product { problem, call: *call, bias };
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
        let bias = bias.map(|at| at..at + (d.rows * d.kind.bytes()) as u64);
        if algorithm.workspace > *workspace_bytes || !workspace.is_multiple_of(16) {
            return Some("the workspace is smaller than the algorithm's, or at an odd place");
        }
        let read = [range(a, at[0]), range(b, at[1])].into_iter().chain(bias);
        let scratch = *workspace..workspace + algorithm.workspace as u64;
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

    /// Computes the product. Products are f32, exact for sixteen bits and TF32, and added by `fma` in the order of K. The bias is added last, and one
    /// rounding makes the result's type. If the distance of a matrix's columns is not a multiple of 16 bytes, the sum is rounded before and after the
    /// bias is added, as by cuBLASLt 13.1 on an H100. Sums of a batch are added in reverse order, since the library does not promise the bits of
    /// single products for a batch. So are sums by the last algorithm.
    pub(crate) fn multiply(&mut self, product: &Product) -> code::Result {
        let Product { problem, call, bias } = product;
        let ([a, b, _, at], to) = (call.at, problem.d);
        if call.algorithm.order == Order::SLOW {
            self.clock.spend(SLOWNESS);
        }
        if call.algorithm.workspace > 0 {
            self.fill(call.workspace, &[0xff], call.algorithm.workspace)?;
        }
        let reads = |values: Vec<f32>| values.into_iter().map(|it| problem.reads.of(it)).collect();
        let of_a: Vec<f32> = reads(self.values(&problem.a, a)?);
        let of_b: Vec<f32> = reads(self.values(&problem.b, b)?);
        let added = match bias {
            Some(bias) => self.floats(to.kind, *bias, to.rows)?,
            None => vec![0.0; to.rows],
        };
        let terms = problem.terms();
        let is_reversed = to.batch > 1 || call.algorithm.order == Order::REVERSED;
        let place = |it: &Layout, turn: bool, [matrix, row, column]: [usize; 3]| {
            let (row, column) = if turn { (column, row) } else { (row, column) };
            matrix * it.step + column * it.leading + row
        };
        let are_apart = |it: &Layout| (it.leading * it.kind.bytes()).is_multiple_of(16);
        let rounds_twice = ![&problem.a, &problem.b, &to].into_iter().all(are_apart);
        let bytes = self.bytes(at, elements(&to) * to.kind.bytes(), Access::Write)?;
        for (matrix, column) in columns(&to) {
            for (row, added) in added.iter().enumerate() {
                let sum = (0..terms).fold(0.0_f32, |sum, number| {
                    let k = if is_reversed { terms - 1 - number } else { number };
                    let left = of_a[place(&problem.a, problem.transposed[0], [matrix, row, k])];
                    let right = of_b[place(&problem.b, problem.transposed[1], [matrix, k, column])];
                    left.mul_add(right, sum)
                });
                let first = place(&to, false, [matrix, row, column]) * to.kind.bytes();
                let place = &mut bytes[first..first + to.kind.bytes()];
                encode(to.kind, call.alpha * sum, place);
                let sum = if rounds_twice { decode(to.kind, place) } else { call.alpha * sum };
                encode(to.kind, sum + added, place);
            }
        }
        Ok(())
    }

    fn values(&mut self, layout: &Layout, at: u64) -> code::Result<Vec<f32>> {
        self.floats(layout.kind, at, elements(layout))
    }

    pub(crate) fn floats(&mut self, kind: Kind, at: u64, count: usize) -> code::Result<Vec<f32>> {
        // Unwritten bytes are allowed: a layout may have gaps.
        let bytes = self.gpu.read(at, count * kind.bytes()).map_err(invalid)?;
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

/// Returns true if written ranges overlap read ones, or each other.
pub(crate) fn overlap(written: &[Range<u64>; 2], read: &[Range<u64>]) -> bool {
    let meets =
        |one: &Range<u64>, other: &Range<u64>| one.start.max(other.start) < one.end.min(other.end);
    let is_read = |one: &Range<u64>| read.iter().any(|other| meets(one, other));
    written.iter().any(is_read) || meets(&written[0], &written[1])
}

/// Returns the matrix and the number of each column of a batch.
fn columns(layout: &Layout) -> impl Iterator<Item = (usize, usize)> {
    let columns = layout.columns;
    (0..layout.batch).flat_map(move |matrix| (0..columns).map(move |column| (matrix, column)))
}

/// Returns the number of elements from the first of a matrix or batch to its last.
fn elements(layout: &Layout) -> usize {
    (layout.batch - 1) * layout.step + (layout.columns - 1) * layout.leading + layout.rows
}

/// Returns the addresses from the first byte of a matrix or batch to behind its last.
fn range(layout: &Layout, at: u64) -> Range<u64> {
    at..at + (elements(layout) * layout.kind.bytes()) as u64
}

/// Returns true if an element would be written twice.
fn overlaps_itself(layout: &Layout) -> bool {
    let mut written = vec![false; elements(layout)];
    let starts =
        columns(layout).map(|(matrix, column)| matrix * layout.step + column * layout.leading);
    let mut places = starts.flat_map(|start| start..start + layout.rows);
    places.any(|place| std::mem::replace(&mut written[place], true))
}
