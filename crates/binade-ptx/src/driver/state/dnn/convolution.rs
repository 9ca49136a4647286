//! Convolution: its memory is checked at the call, and it is computed in stream order.

use std::sync::Arc;

use super::{
    Descriptors, Pass, Result, Status,
    descriptors::{Tensor, bad, unknown},
    problem::Problem,
};
use crate::{
    Access,
    driver::{
        code,
        state::{
            Driver,
            graph::Node,
            lt::{encode, overlap},
            tell,
        },
    },
    hash_of,
};

/// Arguments of a convolution except the descriptors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
    pub(crate) x: u64,
    pub(crate) w: u64,
    pub(crate) y: u64,
    pub(crate) workspace: u64,
    pub(crate) workspace_bytes: usize,
}

/// Convolution with all that it needs, so that descriptors may be destroyed before it runs.
#[derive(Debug)]
pub(crate) struct Convolution {
    problem: Problem,
    pub(crate) call: Call,
}

/// Alignment of addresses in bytes, for Tensor Cores.
const ALIGNED: u64 = 16;

impl Driver {
    /// Puts a convolution in the handle's stream.
    pub(crate) fn dnn_convolve(&mut self, of: Descriptors, call: Call) -> Result {
        let problem = self.dnn_problem(of)?;
        let state = self.dnn.handles.get(of.handle)?;
        let stream = state.stream.ok_or_else(|| bad("a handle that was given no stream"))?;
        if !state.asked.contains(&hash_of(&problem)) {
            return Err(bad("nobody has asked for this convolution's workspace"));
        }
        // The first four bytes of an `f64` of 1 are 0, so a scalar of the wrong type is refused.
        if call.alpha.to_bits() != 1.0_f32.to_bits() || call.beta.to_bits() != 0 {
            return Err(unknown("an alpha and beta of", format_args!("{call:?}")));
        }
        if let Some((objection, status)) = self.dnn_objection(&problem, &call) {
            tell(format_args!("cuDNN: {objection}: {call:x?} of {problem:?}"));
            return Err(status);
        }
        let work = Node::Convolution(Arc::new(Convolution { problem, call }));
        self.submit(stream, work).map_err(|_| Status::ExecutionFailed)
    }

    /// Returns a message and a status if the memory does not fit the problem.
    fn dnn_objection(&self, problem: &Problem, call: &Call) -> Option<(&'static str, Status)> {
        let Call { x, w, y, workspace, workspace_bytes, .. } = *call;
        let needed = problem.workspace();
        if needed > workspace_bytes || needed > 0 && workspace == 0 {
            return Some(("the workspace is smaller than what was said", Status::SizeInsufficient));
        }
        if ![x, w, y, workspace].iter().all(|at| at.is_multiple_of(ALIGNED)) {
            return Some(("an address is no multiple of 16", Status::MisalignedPointer));
        }
        let range = |tensor: &Tensor, at: u64| at..at + tensor.bytes();
        let (x, w, y) = (range(&problem.x, x), range(&problem.w, w), range(&problem.y, y));
        let scratch = workspace..workspace + needed as u64;
        let [result, read @ ..] = match problem.pass {
            Pass::Forward => [y, x, w],
            Pass::Data => [x, w, y],
            Pass::Filter => [w, x, y],
        };
        let written = [result, scratch];
        if !written.iter().chain(&read).all(|range| self.lt_holds(range)) {
            let what = "a tensor or the workspace reaches beyond its allocation";
            return Some((what, Status::BadParam));
        }
        let what = "the result or the workspace lies over what is read, or over each other";
        overlap(&written, &read).then_some((what, Status::BadParam))
    }

    /// Computes the convolution: products in f32, added by `fma` in the order of images, channels and places, one rounding to the
    /// result's type.
    pub(crate) fn convolve(&mut self, convolution: &Convolution) -> code::Result {
        let Convolution { problem, call } = convolution;
        if problem.workspace() > 0 {
            self.fill(call.workspace, &[0xff], problem.workspace())?;
        }
        let [x, w, y] = [(&problem.x, call.x), (&problem.w, call.w), (&problem.y, call.y)]
            .map(|(tensor, at)| self.floats(tensor.kind, at, tensor.len()));
        let (x, w, y) = (x?, w?, y?);
        let (to, at) = match problem.pass {
            Pass::Forward => (problem.y, call.y),
            Pass::Data => (problem.x, call.x),
            Pass::Filter => (problem.w, call.w),
        };
        let mut sums = vec![0.0_f32; to.len()];
        problem.products(|[of_x, of_w, of_y]| {
            let (sum, one, other) = match problem.pass {
                Pass::Forward => (&mut sums[of_y], x[of_x], w[of_w]),
                Pass::Data => (&mut sums[of_x], w[of_w], y[of_y]),
                Pass::Filter => (&mut sums[of_w], x[of_x], y[of_y]),
            };
            *sum = problem.reads.of(one).mul_add(problem.reads.of(other), *sum);
        });
        let bytes = self.bytes(at, to.len() * to.kind.bytes(), Access::Write)?;
        let places = bytes.chunks_exact_mut(to.kind.bytes());
        places.zip(sums).for_each(|(place, sum)| encode(to.kind, sum, place));
        Ok(())
    }
}

impl Problem {
    /// Calls `product` for every product of the convolution, with the indices of its elements of X, W and Y.
    fn products(&self, mut product: impl FnMut([usize; 3])) {
        let Self { x, w, y, .. } = self;
        for of_y in each(y.sizes) {
            let [image, output, row, column] = of_y;
            let [outputs, channels, rows, columns] = w.sizes;
            let first = output / (outputs / self.groups) * channels;
            for [channel, down, right, _] in each([channels, rows, columns, 1]) {
                let (Some(up), Some(across)) =
                    (self.pixel(0, row, down), self.pixel(1, column, right))
                else {
                    continue;
                };
                let of_x = x.place([image, first + channel, up, across]);
                let of_w = w.place([output, channel, down, right]);
                product([of_x, of_w, y.place(of_y)]);
            }
        }
    }

    /// Returns the image's row or column under a kernel tap in a window; `None` in padding.
    fn pixel(&self, axis: usize, window: usize, tap: usize) -> Option<usize> {
        let place = (window * self.stride[axis] + tap * self.dilation[axis])
            .checked_sub(self.padding[axis])?;
        (place < self.x.sizes[axis + 2]).then_some(place)
    }
}

/// Returns every place of a tensor of these sizes, in memory order.
fn each([a, b, c, d]: [usize; 4]) -> impl Iterator<Item = [usize; 4]> {
    (0..a * b * c * d).map(move |i| [i / (b * c * d), i / (c * d) % b, i / d % c, i % d])
}
