//! Subject of the kit over the tensor: from bits, to bits, and a cast.

use crate::mlp::Device;
use crate::tensor::{Elements, Mine};
use binade::core::{AmpTensor, DType, Named};
use binade_conformance::{Report, Result, Runner, SetCall, SetResult, SubjectError, multi_tensor};
use half::{bf16, f16};

/// Subject that runs the tensor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject(Device);

impl Subject {
    /// Runs the kit on the tensor.
    pub fn report() -> Report {
        Runner::new().run(&Self::default())
    }
}

impl binade_conformance::Subject for Subject {
    type Handle = Device;

    fn handle(&self) -> Option<&Device> {
        Some(&self.0)
    }

    fn name(&self) -> &'static str {
        "mine"
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Mine> {
        let half = || bits.as_chunks().0.iter().map(|bits| u16::from_le_bytes(*bits));
        let elements = match dtype {
            DType::BF16 => Elements::BF16(half().map(bf16::from_bits).collect()),
            DType::F16 => Elements::F16(half().map(f16::from_bits).collect()),
            DType::F32 => {
                Elements::F32(bits.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
            }
            other => return Err(SubjectError::unsupported(other.name())),
        };
        Ok(Mine { shape: shape.to_vec(), elements })
    }

    fn to_bits(&self, tensor: &Mine) -> Result<Vec<u8>> {
        Ok(match &tensor.elements {
            Elements::BF16(elements) => elements.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Elements::F16(elements) => elements.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Elements::F32(elements) => elements.iter().flat_map(|x| x.to_le_bytes()).collect(),
        })
    }

    fn cast(&self, tensor: &Mine, to: DType) -> Result<Mine> {
        Ok(tensor.cast(to)?)
    }

    fn multi_tensor(
        &self,
        call: &SetCall,
        x: &[Named<Mine>],
        y: &[Named<Mine>],
    ) -> Result<SetResult<Mine>> {
        multi_tensor(&self.0, call, x, y)
    }
}
