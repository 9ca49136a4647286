//! Convolution problem: the descriptors together, checked, and its workspace.

use super::{
    Result, Status,
    descriptors::{Tensor, bad, unknown},
};
use crate::{
    Capability,
    driver::state::{
        Driver, Handle,
        lt::{Kind, Reads},
        tell,
    },
    hash_of,
};

/// Tensor that a pass computes from the other two.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Pass {
    /// Y, from X and W.
    Forward,
    /// Gradient of X.
    Data,
    /// Gradient of W.
    Filter,
}

/// Descriptors by handle, as a call gives them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptors {
    pub(crate) pass: Pass,
    pub(crate) handle: Handle,
    pub(crate) x: Handle,
    pub(crate) w: Handle,
    pub(crate) y: Handle,
    pub(crate) settings: Handle,
    pub(crate) algorithm: u32,
}

/// Number of `…_FWD_ALGO_IMPLICIT_PRECOMP_GEMM`, `…_BWD_DATA_ALGO_1` and `…_BWD_FILTER_ALGO_1`, all deterministic.
const ALGORITHM: u32 = 1;

/// Values of `CUDNN_DEFAULT_MATH` and, below, `CUDNN_TENSOR_OP_MATH` and `CUDNN_FMA_MATH`.
const DEFAULT: u32 = 0;
const TENSOR_OP: u32 = 1;
const FMA: u32 = 3;

/// Convolution whose sizes and types have been checked.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Problem {
    pub(crate) reads: Reads,
    pub(crate) pass: Pass,
    pub(crate) x: Tensor,
    pub(crate) w: Tensor,
    pub(crate) y: Tensor,
    pub(crate) padding: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) dilation: [usize; 2],
    pub(crate) groups: usize,
}

impl Problem {
    /// Returns the workspace in bytes: indices forward, none for the input's gradient, partial sums for the weight's.
    pub(crate) fn workspace(&self) -> usize {
        let [_, channels, rows, columns] = self.w.sizes;
        match self.pass {
            Pass::Forward => 8 * channels * rows * columns,
            Pass::Data => 0,
            Pass::Filter => 4 * self.w.len(),
        }
    }

    /// Returns a message if the sizes or types do not fit together.
    fn objection(&self) -> Option<&'static str> {
        let Self { x, w, y, padding, stride, dilation, groups, .. } = self;
        let windows = |axis: usize| {
            let reach = dilation[axis] * (w.sizes[axis + 2] - 1) + 1;
            let room = (x.sizes[axis + 2] + 2 * padding[axis]).checked_sub(reach)?;
            Some(room / stride[axis] + 1)
        };
        if x.kind != w.kind || x.kind != y.kind {
            Some("the types differ")
        } else if [w, y].iter().any(|it| it.is_channels_last != x.is_channels_last) {
            Some("the layouts differ")
        } else if x.sizes[1] != w.sizes[1] * groups {
            Some("images and kernels have other numbers of channels")
        } else if w.sizes[0] % groups != 0 {
            Some("the groups do not divide the results' channels")
        } else if [windows(0), windows(1)].contains(&None) {
            Some("the kernel is larger than the padded image")
        } else if [x.sizes[0], w.sizes[0]] != [y.sizes[0], y.sizes[1]]
            || [windows(0), windows(1)] != [Some(y.sizes[2]), Some(y.sizes[3])]
        {
            Some("the result has other sizes than the windows")
        } else {
            None
        }
    }
}

impl Driver {
    /// Returns the workspace in bytes. The size must be queried before the convolution runs.
    pub(crate) fn dnn_workspace(&mut self, of: Descriptors) -> Result<usize> {
        let problem = self.dnn_problem(of)?;
        self.dnn.handles.get_mut(of.handle)?.asked.insert(hash_of(&problem));
        Ok(problem.workspace())
    }

    /// Returns the problem that the descriptors describe.
    pub(crate) fn dnn_problem(&self, of: Descriptors) -> Result<Problem> {
        self.dnn.handles.get(of.handle)?;
        let unset = || bad("a descriptor that nobody has set");
        let tensor = |of| -> Result<Tensor> { (*self.dnn.tensors.get(of)?).ok_or_else(unset) };
        let (x, y) = (tensor(of.x)?, tensor(of.y)?);
        let w = (*self.dnn.filters.get(of.w)?).ok_or_else(unset)?;
        let settings = *self.dnn.convolutions.get(of.settings)?;
        let [padding, stride, dilation] = settings.moves.ok_or_else(unset)?;
        let groups = settings.groups.unwrap_or(1);
        if of.algorithm != ALGORITHM {
            // Algorithm 0 of both gradients, and 3 of the filter's, add by atomics.
            return Err(unknown("algorithm", format_args!("{} of {:?}", of.algorithm, of.pass)));
        }
        let reads = match (settings.math, x.kind) {
            // Before 8.0 the default is the same as `FMA`; a caller that asks for TF32 there means something else.
            (DEFAULT, Kind::F32) if self.capability >= Capability::SM_80 => Reads::Tf32,
            (FMA, Kind::F32) | (TENSOR_OP, Kind::F16 | Kind::BF16) => Reads::All,
            (math, kind) => return Err(unknown("math type", format_args!("{math} of {kind:?}"))),
        };
        let problem = Problem { reads, pass: of.pass, x, w, y, padding, stride, dilation, groups };
        if let Some(objection) = problem.objection() {
            tell(format_args!("cuDNN: {objection}: {problem:?}"));
            return Err(Status::ShapeMismatch);
        }
        // Libraries whose kernels clip a window at one edge have this limit: no window lies in padding as a whole.
        if padding[0] >= w.sizes[2] || padding[1] >= w.sizes[3] {
            return Err(Status::NotSupportedPadding);
        }
        if x.kind == Kind::BF16 && self.capability < Capability::SM_80 {
            tell("cuDNN: bf16 on a GPU before compute capability 8.0");
            return Err(Status::ArchMismatch);
        }
        Ok(problem)
    }
}
