//! The master of one parameter on the device, by its store.

use crate::{BufferOf, Error, Kernels, Result, Tensor};
use binade_core::DType;
use binade_master_weights::{Master, MasterStore, StateKind};
use std::borrow::Cow;

/// The master of one parameter on the device.
#[derive(Debug)]
pub enum MasterState<D: Kernels> {
    /// No tensor: the parameter is its own master, or has none.
    None,
    /// An `f32` copy.
    Copy(Tensor<D>),
    /// Lower halves, as bits in a tensor of the parameter's type.
    Remainder(Tensor<D>),
    /// No tensor: steps round stochastically.
    Stochastic {
        /// The seed of the random words.
        seed: u64,
    },
    /// Compensations, of the parameter's type.
    Kahan(Tensor<D>),
    /// `f16` values with an exponent.
    Scaled(ScaledMaster<D>),
}

/// A master of `f16` values times a power of two.
#[derive(Debug)]
pub struct ScaledMaster<D: Kernels> {
    /// The `f16` values.
    pub values: Tensor<D>,
    /// The exponent, one `i32`.
    pub exponent: Tensor<D>,
    /// Scratch memory that one kernel of a step passes to the next.
    pub between: BufferOf<D>,
}

impl<D: Kernels> MasterState<D> {
    /// Returns the master of a parameter with these values, and the parameter as `stored`.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] for a store without kernels; where the device fails or has no room.
    pub(super) fn new(
        device: &D,
        store: MasterStore,
        values: &Tensor<D>,
        stored: DType,
    ) -> Result<(Self, Tensor<D>), D> {
        let master = match store {
            _ if stored == DType::F32 => Self::None,
            MasterStore::NoMaster => Self::None,
            MasterStore::Copy => {
                let mut wide = device.cast(values, DType::F32)?;
                device.own_parameter(&mut wide)?;
                Self::Copy(wide)
            }
            MasterStore::Stochastic { seed } => Self::Stochastic { seed },
            MasterStore::ScaledF16 => Self::Scaled(device.scaled_master(values)?),
            MasterStore::Remainder | MasterStore::Kahan => {
                return Self::halved(device, store, values, stored);
            }
            other => return Err(Error::Store { what: format!("`MasterStore::{other:?}`") }),
        };
        Ok((master, device.cast(values, stored)?))
    }

    /// Returns sixteen bits beside each element, and the parameter as `stored`. Values wider than `stored` are read and split by
    /// the host, which waits for the device: it happens once in a run.
    fn halved(
        device: &D,
        store: MasterStore,
        values: &Tensor<D>,
        stored: DType,
    ) -> Result<(Self, Tensor<D>), D> {
        let shape = values.shape();
        let (bits, low) = if values.dtype() == stored {
            (device.zeros_tensor(stored, shape)?, values.clone())
        } else {
            let host = values.download(device)?;
            let low = match store.before_lowering(&host, stored) {
                Cow::Borrowed(_) => device.cast(values, stored)?,
                Cow::Owned(copies) => Tensor::upload(device, &copies, shape, stored)?,
            };
            let bits = sixteen_bits(&Master::of(store, 0, host, stored));
            (device.tensor_of(bytemuck::cast_slice(&bits), stored, shape)?, low)
        };
        let is_kahan = store == MasterStore::Kahan;
        Ok((if is_kahan { Self::Kahan(bits) } else { Self::Remainder(bits) }, low))
    }

    /// Returns the tensor with one value per element, where there is one.
    pub fn tensor(&self) -> Option<&Tensor<D>> {
        match self {
            Self::None | Self::Stochastic { .. } => None,
            Self::Copy(master) | Self::Remainder(master) | Self::Kahan(master) => Some(master),
            Self::Scaled(scaled) => Some(&scaled.values),
        }
    }

    /// Returns the store's number in the step's kernels, for a parameter that is stored as `now`, and the seed of its random words.
    pub fn code(&self, now: DType) -> (u32, u64) {
        match self {
            Self::None => (0, 0),
            Self::Copy(_) => (1, 0),
            Self::Remainder(_) => (2, 0),
            // The parameter had sixteen bits and was widened since: nothing is rounded.
            Self::Stochastic { .. } if now == DType::F32 => (0, 0),
            Self::Stochastic { seed } => (3, *seed),
            Self::Kahan(_) => (4, 0),
            Self::Scaled(_) => (5, 0),
        }
    }

    /// Waits for the device and returns the master of the parameter `number` on the host.
    pub(super) fn read(&self, device: &D, number: u32) -> Result<Master, D> {
        let words = |bits: &Tensor<D>| -> Result<Vec<u16>, D> {
            let bytes = device.bits_of(bits)?;
            let (words, _) = bytes.as_chunks();
            Ok(words.iter().map(|word| u16::from_le_bytes(*word)).collect())
        };
        Ok(match self {
            Self::None => Master::Nothing,
            Self::Copy(master) => Master::Copy(master.download(device)?),
            Self::Remainder(bits) => Master::Remainder(words(bits)?),
            Self::Stochastic { seed } => Master::Stochastic { seed: *seed, number, first: 0 },
            Self::Kahan(bits) => Master::Compensation(words(bits)?),
            Self::Scaled(scaled) => {
                let exponent = device.bits_of(&scaled.exponent)?;
                let exponent = exponent.try_into().map_or(0, i32::from_le_bytes);
                Master::Scaled { values: words(&scaled.values)?, exponent }
            }
        })
    }

    /// Returns the parts that are saved; a number has no tensor.
    pub(super) fn parts(&self) -> Vec<(StateKind, Option<&Tensor<D>>)> {
        match self {
            Self::None => Vec::new(),
            Self::Copy(master) => vec![(StateKind::Master, Some(master))],
            Self::Remainder(bits) => vec![(StateKind::Remainder, Some(bits))],
            Self::Stochastic { .. } => vec![(StateKind::Number, None)],
            Self::Kahan(bits) => vec![(StateKind::Compensation, Some(bits))],
            Self::Scaled(scaled) => vec![
                (StateKind::ScaledMaster, Some(&scaled.values)),
                (StateKind::Exponent, Some(&scaled.exponent)),
            ],
        }
    }

    /// Returns the tensors of [`parts`](Self::parts), to replace.
    pub(super) fn parts_mut(&mut self) -> Vec<(StateKind, &mut Tensor<D>)> {
        match self {
            Self::None | Self::Stochastic { .. } => Vec::new(),
            Self::Copy(master) => vec![(StateKind::Master, master)],
            Self::Remainder(bits) => vec![(StateKind::Remainder, bits)],
            Self::Kahan(bits) => vec![(StateKind::Compensation, bits)],
            Self::Scaled(scaled) => vec![
                (StateKind::ScaledMaster, &mut scaled.values),
                (StateKind::Exponent, &mut scaled.exponent),
            ],
        }
    }
}

/// Returns the sixteen bits beside each element, of a store that keeps some.
fn sixteen_bits(master: &Master) -> Vec<u16> {
    match master {
        Master::Remainder(bits) | Master::Compensation(bits) => bits.clone(),
        _ => Vec::new(),
    }
}
