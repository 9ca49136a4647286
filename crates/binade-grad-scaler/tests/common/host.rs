//! A host tensor of one's own, whole: everything between the markers is what its owner writes.

// begin
use binade_core::{AmpTensor, DType, Error, ErrorKind};
use half::{bf16, f16};

#[derive(Clone, Debug, PartialEq)]
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

fn round(dtype: DType, x: f32) -> f32 {
    match dtype {
        DType::BF16 => bf16::from_f32(x).to_f32(),
        DType::F16 => f16::from_f32(x).to_f32(),
        _ => x,
    }
}

impl AmpTensor for Host {
    type Error = NoSuchType;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn cast(&self, to: DType) -> Result<Self, NoSuchType> {
        if !matches!(to, DType::BF16 | DType::F16 | DType::F32) {
            return Err(NoSuchType(to));
        }
        let data = self.data.iter().map(|&x| round(to, x)).collect();
        Ok(Self { dtype: to, data })
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        for (i, x) in self.data.iter_mut().enumerate() {
            *x = round(self.dtype, f(i, *x));
        }
    }
}
// end

impl Host {
    pub fn new(dtype: DType, data: &[f32]) -> Self {
        Self { dtype, data: data.iter().map(|&x| round(dtype, x)).collect() }
    }

    pub fn f32(data: &[f32]) -> Self {
        Self::new(DType::F32, data)
    }

    pub fn bits(&self) -> Vec<u32> {
        self.data.iter().map(|x| x.to_bits()).collect()
    }
}
