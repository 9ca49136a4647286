//! Headers, which ranks exchange first in a meeting. Their length is the same for every model, so they reveal ranks with different models.

use crate::model::Entry;
use binade_core::{FoundInf, Overflow};

/// Call in which ranks meet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Call {
    Masters,
    Join,
    Load,
    Unscale,
    UnscaleSent,
    UnscaleAverage,
    ClipNorm,
    ClipGroups,
    Step,
    Save,
    Export,
    SaveGrads,
    Materialise,
    Broadcast,
    CheckEqual,
    SyncBatchNorm,
    SyncBatchNormBackward,
    Gather,
    /// Call of a rank that failed in its own part of another call.
    Failed,
}

impl Call {
    /// Names of the calls, in their order.
    const NAMES: [&str; 19] = [
        "`masters`",
        "`join`",
        "`load`",
        "`unscale` of its own gradients",
        "`unscale` of gradients that were sent during backward",
        "`unscale` of an average",
        "`clip_norm`",
        "`clip_groups`",
        "`step`",
        "`save`",
        "`export_f32`",
        "`save_grads`",
        "`materialise`",
        "`broadcast`",
        "`check_equal`",
        "`sync_batch_norm`",
        "`sync_batch_norm_backward`",
        "`gather`, as in `write_by_rank` and `read_by_rank`,",
        "an error of its own",
    ];

    /// Returns the call's name, from its number in a header.
    pub(crate) fn name(number: u64) -> &'static str {
        let name = usize::try_from(number).ok().and_then(|number| Self::NAMES.get(number));
        name.unwrap_or(&"an unknown call")
    }

    /// Returns the name of the setting that all ranks must have in this call.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Masters | Self::Join => "the configuration of the optimizer",
            Self::Load => "the checkpoint",
            Self::Unscale => "the loss scale",
            Self::UnscaleSent => "the loss scale or the size of buckets",
            Self::UnscaleAverage => "the scale or the sum of a window",
            Self::ClipNorm | Self::ClipGroups => "the limit or the norm of a clip",
            Self::Step | Self::Save | Self::Export | Self::SaveGrads | Self::Materialise => {
                "the slices"
            }
            Self::Broadcast | Self::CheckEqual => "the parameters",
            Self::SyncBatchNorm | Self::SyncBatchNormBackward => {
                "the channels, numbers or running statistics of a batch normalisation"
            }
            Self::Gather => "the setting of a `gather`",
            Self::Failed => "an error",
        }
    }
}

/// Number of words of a header.
pub(crate) const WORDS: usize = 14;

/// Header of one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header(pub(crate) [u64; WORDS]);

impl Header {
    /// Makes the header of a call from its sequence number, the texts that must agree, the number of shards and the found-inf result.
    pub(crate) fn new(
        (number, call): (u64, Call),
        [setting, model]: [&[u8]; 2],
        shards: usize,
        found: &FoundInf,
        entries: &[Entry],
    ) -> Self {
        let mut words = [0; WORDS];
        words[..7].copy_from_slice(&[
            number,
            call as u64,
            hash(setting),
            setting.len() as u64,
            hash(model),
            model.len() as u64,
            shards as u64,
        ]);
        words[7..].copy_from_slice(&words_of(found, entries));
        Self(words)
    }

    /// Returns the number and the call.
    pub(crate) fn call(&self) -> [u64; 2] {
        [self.0[0], self.0[1]]
    }

    /// Returns the hash and the length of the setting.
    pub(crate) fn setting(&self) -> [u64; 2] {
        [self.0[2], self.0[3]]
    }

    /// Returns the hash and the length of the model.
    pub(crate) fn model(&self) -> [u64; 2] {
        [self.0[4], self.0[5]]
    }

    /// Returns the number of shards.
    pub(crate) fn shards(&self) -> usize {
        usize::try_from(self.0[6]).unwrap_or(usize::MAX)
    }

    /// Returns the found-inf result, whose parameter is one of `entries`.
    #[expect(clippy::cast_possible_truncation, reason = "halves of words")]
    pub(crate) fn found(&self, entries: &[Entry]) -> FoundInf {
        let [place, index, values, infinities, nans, magnitude, halted] =
            [7, 8, 9, 10, 11, 12, 13].map(|word| self.0[word]);
        let named = usize::try_from(place).ok().and_then(|place| entries.get(place));
        let overflow = (place != NONE).then(|| Overflow {
            parameter: named.map_or_else(|| "gradient".into(), |entry| entry.name.clone()),
            index,
            rank: ((magnitude >> 32) as u32).checked_sub(1),
            scaled: f32::from_bits((values >> 32) as u32),
            unscaled: f32::from_bits(values as u32),
        });
        let magnitude = f32::from_bits(magnitude as u32);
        let halted = halted != 0;
        FoundInf { overflow, infinities, nans, magnitude, halted, ..FoundInf::default() }
    }
}

/// Position that stands for no parameter: nothing overflowed.
const NONE: u64 = u64::MAX;

fn words_of(found: &FoundInf, entries: &[Entry]) -> [u64; 7] {
    let FoundInf { overflow, infinities, nans, magnitude, halted, .. } = found;
    let [place, index, rank, values] = match overflow {
        None => [NONE, 0, 0, 0],
        Some(Overflow { parameter, index, rank, scaled, unscaled }) => {
            let place = entries.iter().position(|entry| entry.name == *parameter);
            let values = u64::from(scaled.to_bits()) << 32 | u64::from(unscaled.to_bits());
            let rank = rank.map_or(0, |rank| u64::from(rank) + 1);
            [place.unwrap_or(entries.len()) as u64, *index, rank, values]
        }
    };
    let magnitude = rank << 32 | u64::from(magnitude.to_bits());
    [place, index, values, *infinities, *nans, magnitude, (*halted).into()]
}

/// Returns the FNV-1a hash. It detects mistakes, not attacks.
pub(crate) fn hash<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}
