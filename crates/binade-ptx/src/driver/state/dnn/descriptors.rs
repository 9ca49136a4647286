//! Descriptors with their numbers in `cudnn_graph.h` and `cudnn_ops.h`. Values that are not simulated are refused.

use super::{Result, Status};
use crate::driver::state::{lt::Kind, tell};

/// Contiguous images or kernels in the layout `CUDNN_TENSOR_NCHW` or `CUDNN_TENSOR_NHWC`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) kind: Kind,
    /// True for `CUDNN_TENSOR_NHWC`.
    pub(crate) is_channels_last: bool,
    /// N, C, H and W in either layout.
    pub(crate) sizes: [usize; 4],
}

/// Values of `CUDNN_TENSOR_NCHW` and `CUDNN_TENSOR_NHWC`.
const NCHW: u32 = 0;
const NHWC: u32 = 1;

/// Number of elements from which on the library refuses a tensor.
const TOO_MANY: usize = 1 << 31;

impl Tensor {
    pub(crate) fn new(kind: u32, format: u32, sizes: [i32; 4]) -> Result<Self> {
        let kind = match kind {
            0 => Kind::F32,
            2 => Kind::F16,
            9 => Kind::BF16,
            _ => return Err(unknown("data type", kind)),
        };
        if ![NCHW, NHWC].contains(&format) {
            return Err(unknown("tensor format", format));
        }
        let sizes = sizes.map(|size| usize::try_from(size).unwrap_or(0));
        if sizes.contains(&0) {
            return Err(bad("a tensor of no elements, or of a negative size"));
        }
        let elements = sizes.iter().try_fold(1_usize, |all, size| all.checked_mul(*size));
        if elements.is_none_or(|elements| elements >= TOO_MANY) {
            return Err(unknown(
                "a tensor of 2^31 elements or more, such as",
                format_args!("{sizes:?}"),
            ));
        }
        Ok(Self { kind, is_channels_last: format == NHWC, sizes })
    }

    pub(crate) fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.len() * self.kind.bytes()) as u64
    }

    /// Returns the index of an element.
    pub(crate) fn place(&self, [a, b, c, d]: [usize; 4]) -> usize {
        let [_, channels, rows, columns] = self.sizes;
        if self.is_channels_last {
            return ((a * rows + c) * columns + d) * channels + b;
        }
        ((a * channels + b) * rows + c) * columns + d
    }
}

/// Convolution descriptor: padding, stride, dilation, groups and math type.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConvolutionSettings {
    /// Padding, stride and dilation, once they are set.
    pub(crate) moves: Option<[[usize; 2]; 3]>,
    /// Groups, once they are set; the library's default is 1.
    pub(crate) groups: Option<usize>,
    /// Value of `cudnnMathType_t`; the default allows TF32 from compute capability 8.0 on.
    pub(crate) math: u32,
}

/// Values of `CUDNN_CROSS_CORRELATION` and, below, `CUDNN_DATA_FLOAT`.
const NOT_FLIPPED: u32 = 1;
const F32: u32 = 0;

impl ConvolutionSettings {
    /// Sets the arguments of `cudnnSetConvolution2dDescriptor`.
    pub(crate) fn set(
        &mut self,
        [padding, stride, dilation]: [[i32; 2]; 3],
        mode: u32,
        sums: u32,
    ) -> Result {
        let least = |sizes: [i32; 2], least| sizes.iter().all(|size| *size >= least);
        if !(least(padding, 0) && least(stride, 1) && least(dilation, 1)) {
            return Err(bad("a negative padding, or a stride or dilation below 1"));
        }
        if mode != NOT_FLIPPED {
            return Err(unknown("convolution mode", mode));
        }
        if sums != F32 {
            return Err(unknown("compute type", sums));
        }
        let moves = [padding, stride, dilation];
        self.moves = Some(moves.map(|it| it.map(|size| size.unsigned_abs() as usize)));
        Ok(())
    }

    pub(crate) fn set_groups(&mut self, groups: i32) -> Result {
        let groups = usize::try_from(groups).ok().filter(|groups| *groups > 0);
        self.groups = Some(groups.ok_or_else(|| bad("fewer than one group"))?);
        Ok(())
    }

    pub(crate) fn set_math(&mut self, math: u32) -> Result {
        if math > 3 {
            return Err(bad("no such math type"));
        }
        self.math = math;
        Ok(())
    }
}

/// Reports a mistake that the library finds too.
pub(crate) fn bad(what: &str) -> Status {
    tell(format_args!("cuDNN: {what}"));
    Status::BadParam
}

pub(crate) fn unknown(what: &str, given: impl std::fmt::Display) -> Status {
    tell(format_args!("cuDNN: {what} {given} is not simulated"));
    Status::NotSupported
}
