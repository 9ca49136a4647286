//! What a store keeps beside a parameter, on the device.

use super::{rules::storeless, scaled::Scaled};
use crate::{Cuda, Error, Tensor};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_master_weights::{Master, MasterStore};
use binade_ops::{Download, Upload};
use std::borrow::Cow;

#[derive(Debug)]
pub(super) enum Kept {
    /// The parameter is its own master, or none is kept.
    Nothing,
    Copy(Tensor),
    /// Lower halves, as bits in a tensor of sixteen.
    Remainder(Tensor),
    Stochastic {
        seed: u64,
    },
    /// Of the parameter's type.
    Kahan(Tensor),
    Scaled(Scaled),
}

/// What `StepRow` says of a store.
pub(super) struct Beside {
    pub(super) address: u64,
    pub(super) seed: u64,
    /// `Store` of `step.cuh`.
    pub(super) store: u32,
}

impl Kept {
    /// Of a parameter with these values, and the parameter as it is to be stored.
    pub(super) fn new(
        cuda: &Cuda,
        store: MasterStore,
        values: &Tensor,
        stored: DType,
    ) -> Result<(Self, Tensor), Error> {
        let kept = match store {
            _ if stored == DType::F32 => Self::Nothing,
            MasterStore::NoMaster => Self::Nothing,
            MasterStore::Copy => {
                let mut wide = cuda.cast(values, DType::F32)?;
                wide.own(cuda)?;
                Self::Copy(wide)
            }
            MasterStore::Stochastic { seed } => Self::Stochastic { seed },
            MasterStore::ScaledF16 => Self::Scaled(Scaled::new(cuda, values)?),
            MasterStore::Remainder | MasterStore::Kahan => {
                return Self::halved(cuda, store, values, stored);
            }
            other => return Err(storeless(other)),
        };
        Ok((kept, cuda.cast(values, stored)?))
    }

    /// Parameters and what they lack. Where there is something that they lack the host works it out, which waits for the
    /// device: it is once in a run.
    fn halved(
        cuda: &Cuda,
        store: MasterStore,
        values: &Tensor,
        stored: DType,
    ) -> Result<(Self, Tensor), Error> {
        let shape = values.shape();
        let (buffer, low) = if values.dtype() == stored {
            (cuda.zeros(2 * values.len())?, cuda.cast(values, stored)?)
        } else {
            let host = cuda.download(values)?;
            let low = match store.before_lowering(&host, stored) {
                Cow::Borrowed(_) => cuda.cast(values, stored)?,
                Cow::Owned(copies) => cuda.upload(&copies, shape, stored)?,
            };
            (
                cuda.buffer_of(bytemuck::cast_slice(&sixteen(&Master::of(
                    store, 0, host, stored,
                ))))?,
                low,
            )
        };
        let beside = Tensor::filling(buffer, stored, shape);
        let is_kahan = store == MasterStore::Kahan;
        Ok((if is_kahan { Self::Kahan(beside) } else { Self::Remainder(beside) }, low))
    }

    /// What it keeps by element.
    pub(super) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Nothing | Self::Stochastic { .. } => None,
            Self::Copy(kept) | Self::Remainder(kept) | Self::Kahan(kept) => Some(kept),
            Self::Scaled(scaled) => Some(&scaled.values),
        }
    }

    /// For a parameter that is stored as `now`, whose applied steps are counted at `count`.
    pub(super) fn beside(&self, now: DType, count: u64) -> Beside {
        let beside = |address, store| Beside { address, seed: 0, store };
        match self {
            Self::Nothing => beside(0, 0),
            Self::Copy(kept) => beside(kept.address(), 1),
            Self::Remainder(kept) => beside(kept.address(), 2),
            // It was low once, and someone has widened it since: nothing is cut off.
            Self::Stochastic { .. } if now == DType::F32 => beside(0, 0),
            Self::Stochastic { seed } => Beside { address: count, seed: *seed, store: 3 },
            Self::Kahan(kept) => beside(kept.address(), 4),
            // Where its copy is only the step knows.
            Self::Scaled(_) => beside(0, 1),
        }
    }

    /// On the host, for the parameter `number`.
    pub(super) fn read(&self, cuda: &Cuda, number: u32) -> Result<Master, Error> {
        let words = |kept: &Tensor| -> Result<Vec<u16>, Error> {
            let bytes = cuda.to_bits(kept)?;
            let (words, _) = bytes.as_chunks();
            Ok(words.iter().map(|word| u16::from_le_bytes(*word)).collect())
        };
        Ok(match self {
            Self::Nothing => Master::Nothing,
            Self::Copy(kept) => Master::Copy(cuda.download(kept)?),
            Self::Remainder(kept) => Master::Remainder(words(kept)?),
            Self::Stochastic { seed } => Master::Stochastic { seed: *seed, number },
            Self::Kahan(kept) => Master::Compensation(words(kept)?),
            Self::Scaled(scaled) => Master::Scaled {
                values: words(&scaled.values)?,
                exponent: scaled.read_exponent(cuda)?,
            },
        })
    }
}

/// The sixteen bits beside each element, of a store that keeps some.
fn sixteen(master: &Master) -> Vec<u16> {
    match master {
        Master::Remainder(bits) | Master::Compensation(bits) => bits.clone(),
        _ => Vec::new(),
    }
}
