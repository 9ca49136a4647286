//! Descriptors with the simulated attributes, by their numbers in `cublasLt.h`. Other attributes are refused.

use super::{Result, Status};
use crate::driver::state::tell;

/// C type `cudaDataType_t`, as far as it is simulated.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Kind {
    F32,
    F16,
    BF16,
}

impl Kind {
    pub(crate) fn from_number(number: u32) -> Result<Self> {
        match number {
            0 => Ok(Self::F32),
            2 => Ok(Self::F16),
            14 => Ok(Self::BF16),
            _ => Err(unknown("data type", number)),
        }
    }

    pub(crate) fn bytes(self) -> usize {
        if self == Self::F32 { 4 } else { 2 }
    }
}

/// Column-major matrix, or a batch of them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Layout {
    pub(crate) kind: Kind,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Elements between columns.
    pub(crate) leading: usize,
    /// Matrices, and elements between them.
    pub(crate) batch: usize,
    pub(crate) step: usize,
}

impl Layout {
    pub(crate) fn new(kind: u32, rows: usize, columns: usize, leading: i64) -> Result<Self> {
        let (kind, leading) = (Kind::from_number(kind)?, size(leading)?);
        Ok(Self { kind, rows, columns, leading, batch: 1, step: 0 })
    }

    pub(crate) fn set(&mut self, attribute: u32, value: &[u8]) -> Result {
        match attribute {
            // Column-major is the one supported order: `CUBLASLT_ORDER_COL`.
            1 if i32::from_ne_bytes(sized(value)?) == 0 => {}
            5 => self.batch = size(i32::from_ne_bytes(sized(value)?).into())?,
            6 => self.step = size(i64::from_ne_bytes(sized(value)?))?,
            _ => return Err(unknown("attribute of a matrix, or its value,", attribute)),
        }
        Ok(())
    }
}

/// Part of an operand's bits that is multiplied.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum Reads {
    #[default]
    All,
    /// Exponent and first 10 bits of an f32's significand.
    Tf32,
}

/// Number of bits of an f32's significand that TF32 drops.
const DROPPED: u32 = 13;

impl Reads {
    /// Returns an operand as a product reads it. The low bits are dropped: NVIDIA's library may round, which is more exact, but does not promise it.
    /// A NaN with bits only in the dropped part becomes infinity.
    pub(crate) fn of(self, value: f32) -> f32 {
        match self {
            Self::All => value,
            Self::Tf32 => f32::from_bits(value.to_bits() >> DROPPED << DROPPED),
        }
    }
}

/// Operation descriptor of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Desc {
    pub(crate) reads: Reads,
    /// Transposition of A and B.
    pub(crate) transposed: [bool; 2],
    pub(crate) has_bias: bool,
    /// Address of the bias; 0 if none was given.
    pub(crate) bias: u64,
}

/// Values of `CUBLAS_COMPUTE_32F` and, below, `…_FAST_TF32`.
const COMPUTE_32F: u32 = 68;
const FAST_TF32: u32 = 77;
/// Values of `CUBLASLT_EPILOGUE_DEFAULT` and, below, `…_BIAS`.
const PLAIN: u32 = 1;
const BIAS: u32 = 4;

impl Desc {
    /// Creates a descriptor whose sums and scalars are f32. Sums in sixteen bits, and the `FAST` types but for TF32, give other
    /// numbers and are refused.
    pub(crate) fn new(compute: u32, scale: u32) -> Result<Self> {
        let reads = match compute {
            COMPUTE_32F => Reads::All,
            FAST_TF32 => Reads::Tf32,
            other => return Err(unknown("compute type", other)),
        };
        if Kind::from_number(scale)? != Kind::F32 {
            return Err(unknown("scale type", scale));
        }
        Ok(Self { reads, transposed: [false; 2], has_bias: false, bias: 0 })
    }

    pub(crate) fn set(&mut self, attribute: u32, value: &[u8]) -> Result {
        match attribute {
            // Scalars are on the host: `CUBLASLT_POINTER_MODE_HOST`.
            2 if i32::from_ne_bytes(sized(value)?) == 0 => {}
            3 | 4 => {
                let operand = &mut self.transposed[attribute as usize - 3];
                // Values of `CUBLAS_OP_N` and `CUBLAS_OP_T`.
                *operand = match i32::from_ne_bytes(sized(value)?) {
                    0 => false,
                    1 => true,
                    other => return Err(unknown("transposition", other)),
                };
            }
            7 => {
                self.has_bias = match u32::from_ne_bytes(sized(value)?) {
                    PLAIN => false,
                    BIAS => true,
                    other => return Err(unknown("epilogue", other)),
                };
            }
            8 => self.bias = u64::from_ne_bytes(sized(value)?),
            _ => return Err(unknown("attribute of a product, or its value,", attribute)),
        }
        Ok(())
    }
}

/// Preference: limits and alignments that an algorithm may rely on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preference {
    /// Set of `cublasLtReductionScheme_t`, a bit each.
    pub(crate) reductions: u32,
    pub(crate) workspace: usize,
    /// Alignment of A, B, C and D in bytes.
    pub(crate) aligned: [u32; 4],
}

/// Values of a preference before any is set, as the library has them.
impl Default for Preference {
    fn default() -> Self {
        Self { reductions: 7, workspace: 0, aligned: [256; 4] }
    }
}

impl Preference {
    pub(crate) fn set(&mut self, attribute: u32, value: &[u8]) -> Result {
        match attribute {
            1 => self.workspace = usize::from_ne_bytes(sized(value)?),
            3 => self.reductions = u32::from_ne_bytes(sized(value)?),
            5..=8 => {
                let bytes = u32::from_ne_bytes(sized(value)?);
                if !bytes.is_power_of_two() {
                    return Err(unknown("alignment", bytes));
                }
                self.aligned[attribute as usize - 5] = bytes;
            }
            _ => return Err(unknown("attribute of a preference", attribute)),
        }
        Ok(())
    }
}

/// Returns the value, if its length is the attribute's type's.
fn sized<const N: usize>(value: &[u8]) -> Result<[u8; N]> {
    value.try_into().map_err(|_| {
        tell(format_args!("cuBLASLt: an attribute of {N} bytes was given {}", value.len()));
        Status::InvalidValue
    })
}

fn size(given: i64) -> Result<usize> {
    usize::try_from(given).map_err(|_| {
        tell(format_args!("cuBLASLt: a size of {given}"));
        Status::InvalidValue
    })
}

fn unknown(what: &str, given: impl std::fmt::Display) -> Status {
    tell(format_args!("cuBLASLt: {what} {given} is not simulated"));
    Status::NotSupported
}
