//! Host tensor of the tests' own, for `Native`: the plain loop that the CPU is compared with.

use binade_core::{AmpTensor, DType, Error, ErrorKind};
use half::{bf16, f16};

/// Values that are always exact in `dtype`.
#[derive(Clone, Debug)]
pub struct Host {
    pub dtype: DType,
    pub data: Vec<f32>,
}

#[derive(Debug, thiserror::Error)]
#[error("no elements of type {0}")]
pub struct NoSuchType(DType);

impl Error for NoSuchType {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

impl AmpTensor for Host {
    type Error = NoSuchType;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn cast(&self, to: DType) -> Result<Self, NoSuchType> {
        if super::ALL.contains(&to) { Ok(Self::new(to, &self.data)) } else { Err(NoSuchType(to)) }
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        for (i, x) in self.data.iter_mut().enumerate() {
            *x = round(self.dtype, f(i, *x));
        }
    }
}

impl Host {
    pub fn new(dtype: DType, data: &[f32]) -> Self {
        Self { dtype, data: data.iter().map(|&x| round(dtype, x)).collect() }
    }
}

pub fn round(dtype: DType, x: f32) -> f32 {
    match dtype {
        DType::BF16 => bf16::from_f32(x).to_f32(),
        DType::F16 => f16::from_f32(x).to_f32(),
        _ => x,
    }
}
