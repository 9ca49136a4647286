//! What a store keeps beside a parameter, on the device.

use super::{rules::storeless, scaled::Scaled};
use crate::{Error, Tensor, Wgpu};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_master_weights::{Master, MasterStore};
use binade_ops::{Download, Fill, Upload};
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

impl Kept {
    /// Of a parameter with these values, and the parameter as it is to be stored.
    pub(super) fn new(
        wgpu: &Wgpu,
        store: MasterStore,
        values: &Tensor,
        stored: DType,
    ) -> Result<(Self, Tensor), Error> {
        let kept = match store {
            _ if stored == DType::F32 => Self::Nothing,
            MasterStore::NoMaster => Self::Nothing,
            MasterStore::Copy => {
                let mut wide = wgpu.cast(values, DType::F32)?;
                wide.own_whole(wgpu)?;
                Self::Copy(wide)
            }
            MasterStore::Stochastic { seed } => Self::Stochastic { seed },
            MasterStore::ScaledF16 => Self::Scaled(Scaled::new(wgpu, values)?),
            MasterStore::Remainder | MasterStore::Kahan => {
                return Self::halved(wgpu, store, values, stored);
            }
            other => return Err(storeless(other)),
        };
        Ok((kept, wgpu.cast(values, stored)?))
    }

    /// Parameters and what they lack. Where there is something that they lack the host works it out, which waits for the
    /// device: it is once in a run.
    fn halved(
        wgpu: &Wgpu,
        store: MasterStore,
        values: &Tensor,
        stored: DType,
    ) -> Result<(Self, Tensor), Error> {
        let shape = values.shape();
        let (beside, low) = if values.dtype() == stored {
            (wgpu.fill(0.0, shape, stored)?, values.clone())
        } else {
            let host = wgpu.download(values)?;
            let low = match store.before_lowering(&host, stored) {
                Cow::Borrowed(_) => wgpu.cast(values, stored)?,
                Cow::Owned(copies) => wgpu.upload(&copies, shape, stored)?,
            };
            let rests = sixteen(&Master::of(store, 0, host, stored));
            (wgpu.from_bits(bytemuck::cast_slice(&rests), stored, shape)?, low)
        };
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

    /// Its number in `step.wgsl`, for a parameter that is stored as `now`, and the seed of its random words.
    pub(super) fn code(&self, now: DType) -> (u32, u64) {
        match self {
            Self::Nothing => (0, 0),
            Self::Copy(_) => (1, 0),
            Self::Remainder(_) => (2, 0),
            // It was low once, and someone has widened it since: nothing is cut off.
            Self::Stochastic { .. } if now == DType::F32 => (0, 0),
            Self::Stochastic { seed } => (3, *seed),
            Self::Kahan(_) => (4, 0),
            Self::Scaled(_) => (5, 0),
        }
    }

    /// On the host, for the parameter `number`.
    pub(super) fn read(&self, wgpu: &Wgpu, number: u32) -> Result<Master, Error> {
        let words = |kept: &Tensor| -> Result<Vec<u16>, Error> {
            let bytes = wgpu.to_bits(kept)?;
            let (words, _) = bytes.as_chunks();
            Ok(words.iter().map(|word| u16::from_le_bytes(*word)).collect())
        };
        Ok(match self {
            Self::Nothing => Master::Nothing,
            Self::Copy(kept) => Master::Copy(wgpu.download(kept)?),
            Self::Remainder(kept) => Master::Remainder(words(kept)?),
            Self::Stochastic { seed } => Master::Stochastic { seed: *seed, number },
            Self::Kahan(kept) => Master::Compensation(words(kept)?),
            Self::Scaled(scaled) => Master::Scaled {
                values: words(&scaled.values)?,
                exponent: scaled.read_exponent(wgpu)?,
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
