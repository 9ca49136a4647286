//! What a pass found, on the device, with what only the host knows: names.

use crate::{Error, Wgpu, dispatch::structs::FoundBits, memory::Buffer};
use binade_core::{Finding, Overflow};
use binade_grad_scaler::Norm;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// What a pass over gradients found, on the device.
#[derive(Clone, Debug)]
pub struct Found {
    pub(super) bits: Arc<Buffer>,
    /// Names the contents: what is written to gets another.
    pub(super) stamp: u64,
    pub(super) missing: Vec<Arc<str>>,
    /// Gradients of a window's sum that may turn out to be missing.
    pub(super) maybe: Option<Maybe>,
}

/// A window's sums, of which the device knows whether they have begun.
#[derive(Clone, Debug)]
pub(super) struct Maybe {
    pub(super) present: Arc<Buffer>,
    /// By word.
    pub(super) names: Arc<[Arc<str>]>,
}

/// No parameter's number, and that which a norm goes by, as `state.wgsl` has them.
pub(super) const NOBODY: u32 = u32::MAX;
pub(super) const THE_NORM: u32 = 0xffff_fffe;

impl Found {
    /// What `bits` will hold.
    pub(super) fn new(bits: Arc<Buffer>) -> Self {
        Self { bits, stamp: next_stamp(), missing: Vec::new(), maybe: None }
    }

    /// The whole finding.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.bits
    }

    /// A finding that nobody else reads, to be written to.
    pub(super) fn own(&mut self, wgpu: &Wgpu) -> Result<&Buffer, Error> {
        let bits = wgpu.own(&mut self.bits)?;
        self.stamp = next_stamp();
        Ok(bits)
    }

    /// The words that say which gradients of a window's sum are there, where only the device knows.
    pub(super) fn words(&self) -> Option<&Arc<Buffer>> {
        self.maybe.as_ref().map(|maybe| &maybe.present).filter(|words| words.bytes() > 0)
    }

    /// In the host's terms; `words` are those that [`words`](Self::words) names.
    pub(super) fn finding(&self, wgpu: &Wgpu, bits: &FoundBits, words: &[u8]) -> Finding {
        let overflow = (bits.raised != 0).then(|| Overflow {
            parameter: name(wgpu, bits.parameter),
            index: bits.index,
            scaled: bits.scaled,
            unscaled: bits.unscaled,
        });
        Finding {
            overflow,
            infinities: bits.infinities,
            nans: bits.nans,
            magnitude: bits.magnitude,
            norm: (bits.has_norm != 0).then_some(bits.norm),
            halted: bits.halted != 0,
            missing: self.missing(words),
        }
    }

    fn missing(&self, words: &[u8]) -> Vec<Arc<str>> {
        let Some(maybe) = &self.maybe else { return self.missing.clone() };
        let (words, _) = words.as_chunks::<4>();
        let absent = maybe.names.iter().zip(words).filter(|(_, word)| **word == [0; 4]);
        absent.map(|(name, _)| name.clone()).collect()
    }
}

/// Whose gradient it is; one that was raised elsewhere has no place here.
fn name(wgpu: &Wgpu, number: u32) -> Arc<str> {
    match number {
        THE_NORM => Norm::NAME.into(),
        _ => wgpu.names().name(number).unwrap_or_else(|| "a gradient of another device".into()),
    }
}

fn next_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A finding as the device has it.
pub(super) fn bits(wgpu: &Wgpu, found: &Finding) -> FoundBits {
    let overflow = found.overflow.as_ref();
    let number = |name: &Arc<str>| match &**name {
        Norm::NAME => THE_NORM,
        _ => wgpu.names().number(name),
    };
    FoundBits {
        raised: overflow.is_some().into(),
        halted: found.halted.into(),
        parameter: overflow.map_or(NOBODY, |overflow| number(&overflow.parameter)),
        has_norm: found.norm.is_some().into(),
        index: overflow.map_or(0, |overflow| overflow.index),
        scaled: overflow.map_or(0.0, |overflow| overflow.scaled),
        unscaled: overflow.map_or(0.0, |overflow| overflow.unscaled),
        infinities: found.infinities,
        nans: found.nans,
        magnitude: found.magnitude,
        norm: found.norm.unwrap_or(0.0),
        pad: 0,
    }
}
