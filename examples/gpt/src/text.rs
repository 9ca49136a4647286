//! Text as numbers of its characters, split into training and validation.

use crate::Result;
use fastrand::Rng;
use flate2::read::GzDecoder;
use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

/// Most windows of a validation, spread over its text.
const VALIDATION: usize = 256;

/// Windows of text, one after the other: their characters, and the character behind each.
pub(crate) type Windows = [Vec<i64>; 2];

/// Text as numbers of its characters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    /// Characters in order, each of which has its index for a number.
    pub(crate) alphabet: Vec<char>,
    /// First nine tenths.
    pub(crate) train: Vec<i64>,
    /// Last tenth, which training never sees.
    pub(crate) validation: Vec<i64>,
}

impl Text {
    /// Loads `file`, or else the embedded plays, for windows of `context` characters.
    pub(crate) fn load(file: Option<&Path>, context: usize) -> Result<Self> {
        let Some(file) = file else {
            let packed: &[u8] = include_bytes!("../data/shakespeare.txt.gz");
            let text = io::read_to_string(GzDecoder::new(packed))?;
            return Ok(Self::new("shakespeare", &text, context)?);
        };
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|error| {
            format!("--text {name}: {error}; check that it is a file of UTF-8 that you may read")
        })?;
        Ok(Self::new(&name, &text, context)?)
    }

    fn new(name: &str, text: &str, context: usize) -> Result<Self, String> {
        let alphabet: Vec<char> = text.chars().collect::<BTreeSet<_>>().into_iter().collect();
        let number = |it| i64::try_from(alphabet.binary_search(&it).ok()?).ok();
        let mut train: Vec<i64> = text.chars().filter_map(number).collect();
        // A tenth has a window and the character behind it.
        let (characters, least) = (train.len(), 10 * (context + 1));
        if characters < least {
            return Err(format!(
                "--text {name}: it has {characters} characters, and --context {context} needs {least}; take a longer text or \
                 a smaller context"
            ));
        }
        let validation = train.split_off(characters - characters / 10);
        Ok(Self { alphabet, train, validation })
    }

    /// Returns `count` windows of the training text at random places.
    pub(crate) fn batch(&self, count: usize, context: usize, random: &mut Rng) -> Windows {
        let place = |_| random.usize(..self.train.len() - context);
        windows(&self.train, (0..count).map(place), context)
    }

    /// Returns the windows of a validation in batches of `count`.
    pub(crate) fn validation(&self, count: usize, context: usize) -> Vec<Windows> {
        let all = (self.validation.len() - 1) / context;
        let stride = all.div_ceil(VALIDATION) * context;
        let places: Vec<_> = (0..all * context).step_by(stride).collect();
        let batches = places.chunks(count);
        batches.map(|it| windows(&self.validation, it.iter().copied(), context)).collect()
    }

    /// Returns characters by their numbers.
    pub(crate) fn decode(&self, numbers: &[i64]) -> String {
        numbers.iter().filter_map(|&it| self.alphabet.get(usize::try_from(it).ok()?)).collect()
    }
}

fn windows(text: &[i64], places: impl Iterator<Item = usize>, context: usize) -> Windows {
    let places: Vec<_> = places.collect();
    [0, 1].map(|behind| {
        let window = |place: &usize| &text[place + behind..place + behind + context];
        places.iter().flat_map(window).copied().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_characters_behind_and_validation_is_the_last_tenth() {
        let text = Text::new("a", &"abcdefghij".repeat(10), 4).unwrap();
        assert_eq!((text.train.len(), text.validation.len(), text.alphabet.len()), (90, 10, 10));
        let [inputs, targets] = text.batch(3, 4, &mut Rng::with_seed(1));
        assert_eq!(targets, inputs.iter().map(|it| (it + 1) % 10).collect::<Vec<_>>());
        let [whole] = text.validation(8, 4).try_into().unwrap();
        assert_eq!(whole.map(|it| text.decode(&it)), ["abcdefgh", "bcdefghi"]);
    }

    #[test]
    fn the_embedded_plays_are_whole() {
        let text = Text::load(None, 64).unwrap();
        assert_eq!((text.train.len(), text.validation.len()), (285_324, 31_702));
        assert_eq!((text.alphabet.len(), text.validation(1, 64).len()), (63, 248));
        assert!(text.decode(&text.validation).ends_with("God say amen!\n"));
    }
}
