//! Found-inf results on the device, with the names that only the host knows, and the bytes of a step's report: the scale after the step, then the
//! found-inf results of its passes.

use crate::{BufferOf, Driver, Error, FoundBits, Gradients, Result, ScaleBits};
use binade_core::{FoundInf, Overflow};
use binade_grad_scaler::ScaleState;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Found-inf result of a pass over gradients, on the device.
#[derive(Clone, Debug)]
pub struct Found<D: Driver> {
    /// [`FoundBits`] on the device.
    pub bits: Arc<BufferOf<D>>,
    /// Identity of the contents, which links the result to a report. Every write changes it.
    pub stamp: u64,
    /// Trainable parameters without a gradient, as far as the host knows.
    pub missing: Vec<Arc<str>>,
    /// Gradients of a window's sum, or of several devices, whose presence only the device knows.
    window: Option<WindowNames<D>>,
}

/// Parameters of which the device knows whether they have a gradient.
#[derive(Clone, Debug)]
struct WindowNames<D: Driver> {
    /// A word for each parameter.
    present: Arc<BufferOf<D>>,
    /// Names in the order of the words.
    names: Arc<[Arc<str>]>,
}

/// Number that stands for no parameter in kernels.
const NO_PARAMETER: u32 = u32::MAX;

/// Number that stands for a norm instead of a parameter in kernels.
const NORM: u32 = 0xffff_fffe;

impl<D: Driver> Found<D> {
    /// Returns a found-inf result that kernels write to `bits`.
    fn new(bits: Arc<BufferOf<D>>) -> Self {
        Self { bits, stamp: next_stamp(), missing: Vec::new(), window: None }
    }

    /// Returns the found-inf result of a pass over `grads`, which kernels write to `bits`.
    pub(crate) fn of(bits: BufferOf<D>, grads: &Gradients<D>) -> Self {
        let absent = grads.entries.iter().filter(|entry| entry.value.is_none());
        let missing = absent.map(|entry| entry.name.clone()).collect();
        let names = || grads.names().cloned().collect();
        let window = grads.present.clone().map(|present| WindowNames { present, names: names() });
        Self { missing, window, ..Self::new(Arc::new(bits)) }
    }

    /// Uploads a found-inf result of the host.
    pub(crate) fn upload(device: &D, found: &FoundInf) -> Result<Self, D> {
        let bits = device.buffer_of(bytemuck::bytes_of(&bits(device, found)))?;
        Ok(Self { missing: found.missing.clone(), ..Self::new(Arc::new(bits)) })
    }

    /// Waits for the device and returns true if the step must be skipped.
    pub(crate) fn is_raised(&self, device: &D) -> Result<bool, D> {
        let bytes = device.read_bytes(&self.bits, 0..self.bits.bytes())?;
        let bits: FoundBits = bytemuck::pod_read_unaligned(&bytes);
        Ok(bits.raised != 0 || bits.halted != 0)
    }

    /// Returns the found-inf result of several devices with their joint `bits`. If one of them may lack a gradient that this one has, `present` has
    /// the set and a word for each of its parameters; the word is 0 for a gradient that is missing on any device.
    #[must_use]
    pub fn joint(
        &self,
        bits: Arc<BufferOf<D>>,
        present: Option<(&Gradients<D>, Arc<BufferOf<D>>)>,
    ) -> Self {
        let window = present.map(|(grads, present)| {
            let names = grads.names().cloned().collect();
            WindowNames { present, names }
        });
        let window = window.or_else(|| self.window.clone());
        Self { missing: self.missing.clone(), window, ..Self::new(bits) }
    }

    /// Returns this found-inf result with its copy `bits` on another device. Only this device knows the missing gradients of a window.
    #[must_use]
    pub fn on_peer(&self, bits: Arc<BufferOf<D>>) -> Self {
        Self { missing: self.missing.clone(), ..Self::new(bits) }
    }

    /// Returns the buffer for writing. A shared buffer is copied first.
    ///
    /// # Errors
    ///
    /// As for [`Driver::own`].
    pub fn own(&mut self, device: &D) -> Result<&BufferOf<D>, D> {
        let bits = device.own(&mut self.bits)?;
        self.stamp = next_stamp();
        Ok(bits)
    }

    /// Returns the words that record which gradients are present, if only the device knows.
    pub fn words(&self) -> Option<&Arc<BufferOf<D>>> {
        self.window.as_ref().map(|window| &window.present).filter(|words| words.bytes() > 0)
    }

    /// Returns the host's found-inf result; `words` are the contents of [`words`](Self::words).
    fn finding(&self, device: &D, bits: &FoundBits, words: &[u8]) -> FoundInf {
        let overflow = (bits.raised != 0).then(|| Overflow {
            parameter: name(device, bits.parameter),
            index: bits.index,
            rank: bits.rank.checked_sub(1),
            scaled: bits.scaled,
            unscaled: bits.unscaled,
        });
        FoundInf {
            overflow,
            infinities: bits.infinities,
            nans: bits.nans,
            magnitude: bits.magnitude,
            norm: (bits.has_norm != 0).then_some(bits.norm),
            halted: bits.halted != 0,
            missing: self.all_missing(words),
        }
    }

    fn all_missing(&self, words: &[u8]) -> Vec<Arc<str>> {
        let Some(window) = &self.window else { return self.missing.clone() };
        let (words, _) = words.as_chunks::<4>();
        let absent = window.names.iter().zip(words).filter(|(_, word)| **word == [0; 4]);
        absent.map(|(name, _)| name.clone()).collect()
    }
}

/// Returns the offset, in bytes, of the found-inf result with this number in a report.
pub const fn finding_offset(number: usize) -> usize {
    size_of::<ScaleBits>() + number * size_of::<FoundBits>()
}

/// Returns the found-inf results and the scale in a report. `places` has the number of each of `found` in the report, `words` the contents of its
/// [`Found::words`]. It fails for a truncated report, which is a defect of the backend.
pub(crate) fn parse_report<D: Driver>(
    device: &D,
    report: &[u8],
    found: &[&Found<D>],
    places: &[usize],
    words: &[Vec<u8>],
) -> Result<(Vec<FoundInf>, ScaleState), D> {
    let cut_off = |number: usize| Error::Length {
        what: "bytes of a report",
        found: report.len(),
        shape: vec![number],
        expected: finding_offset(number),
    };
    let (state, findings) =
        report.split_first_chunk::<{ size_of::<ScaleBits>() }>().ok_or_else(|| cut_off(0))?;
    let (findings, _) = findings.as_chunks::<{ size_of::<FoundBits>() }>();
    let finding = |((found, place), words): ((&&Found<D>, &usize), &Vec<u8>)| {
        let bits = findings.get(*place).ok_or_else(|| cut_off(place + 1))?;
        Ok(found.finding(device, &bytemuck::pod_read_unaligned(bits), words))
    };
    let findings = found.iter().zip(places).zip(words).map(finding).collect::<Result<_, D>>()?;
    Ok((findings, bytemuck::pod_read_unaligned::<ScaleBits>(state).into()))
}

/// Returns the name of the parameter with this number; one of another device has none here.
fn name<D: Driver>(device: &D, number: u32) -> Arc<str> {
    match number {
        NORM => FoundInf::NORM.into(),
        _ => device.names().name(number).unwrap_or_else(|| "a gradient of another device".into()),
    }
}

/// Returns the found-inf result in the layout of kernels.
fn bits<D: Driver>(device: &D, found: &FoundInf) -> FoundBits {
    let overflow = found.overflow.as_ref();
    let number = |name: &Arc<str>| match &**name {
        FoundInf::NORM => NORM,
        _ => device.names().number(name),
    };
    FoundBits {
        raised: overflow.is_some().into(),
        halted: found.halted.into(),
        parameter: overflow.map_or(NO_PARAMETER, |overflow| number(&overflow.parameter)),
        has_norm: found.norm.is_some().into(),
        index: overflow.map_or(0, |overflow| overflow.index),
        scaled: overflow.map_or(0.0, |overflow| overflow.scaled),
        unscaled: overflow.map_or(0.0, |overflow| overflow.unscaled),
        infinities: found.infinities,
        nans: found.nans,
        magnitude: found.magnitude,
        norm: found.norm.unwrap_or(0.0),
        rank: overflow.and_then(|overflow| overflow.rank).map_or(0, |rank| rank.saturating_add(1)),
        pad: 0,
    }
}

fn next_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
