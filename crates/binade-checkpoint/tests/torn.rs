//! Changed or truncated bytes give an error that says so, and never a panic.

use crate::common::{Setting, Training, resummed};
use binade_checkpoint::{Checkpoint, Draft, FormatError};
use binade_cpu::Cpu;
use binade_master_weights::UpdateRule;
use proptest::prelude::*;
use safetensors::{Dtype, tensor::TensorView};

/// Returns the bytes of a small run within a window, with every kind of content that a checkpoint can hold.
fn bytes() -> Vec<u8> {
    let setting = Setting { window: 3, ..Setting::new(UpdateRule::adamw(0.01)) };
    let mut run = Training::new(&Cpu, &setting);
    run.run(7);
    run.checkpoint().to_bytes().unwrap()
}

#[test]
fn a_file_that_ends_anywhere_is_torn() {
    let bytes = bytes();
    assert!(Checkpoint::from_bytes(&bytes).is_ok());
    for length in 0..bytes.len() {
        let error = Checkpoint::from_bytes(&bytes[..length]).unwrap_err();
        assert!(error.to_string().starts_with("it is torn"), "{length}: {error}");
    }
}

#[test]
fn a_file_that_goes_on_is_no_checkpoint() {
    let longer = [&bytes()[..], &[0]].concat();
    let error = Checkpoint::from_bytes(&longer).unwrap_err();
    assert!(matches!(error, FormatError::Checksum { .. }), "{error}");
}

#[test]
fn every_bit_that_flips_is_found() {
    let mut bytes = bytes();
    for place in 0..bytes.len() {
        for bit in 0..8 {
            bytes[place] ^= 1 << bit;
            assert!(Checkpoint::from_bytes(&bytes).is_err(), "bit {bit} of byte {place}");
            bytes[place] ^= 1 << bit;
        }
    }
    assert!(Checkpoint::from_bytes(&bytes).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_no_checkpoint(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Checkpoint::from_bytes(&bytes).is_err());
    }

    #[test]
    fn bytes_that_change_together_are_found(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..20),
    ) {
        let (before, mut after) = (bytes(), bytes());
        for (place, by) in changes {
            after[place.index(before.len())] ^= by;
        }
        prop_assert!(after == before || Checkpoint::from_bytes(&after).is_err());
    }

    /// Corrects the checksum, so that the bytes after it are read too.
    #[test]
    fn an_index_that_says_anything_is_an_error_and_no_panic(
        place in any::<prop::sample::Index>(),
        by in any::<u8>(),
    ) {
        let mut bytes = bytes();
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()).try_into().unwrap();
        bytes[8 + place.index(header)] = by;
        let _ = Checkpoint::from_bytes(&resummed(bytes)).map(|checkpoint| checkpoint.to_bytes());
    }
}

#[test]
fn the_checksum_is_crc_32_over_the_whole_file_with_zeros_in_its_place() {
    assert_eq!(resummed(bytes()), bytes());
}

#[test]
fn a_safetensors_file_of_something_else_is_foreign() {
    let weight = TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap();
    for metadata in [None, Some([("format".to_owned(), "pt".to_owned())].into_iter().collect())] {
        let bytes = safetensors::serialize([("weight", &weight)], metadata).unwrap();
        assert_eq!(Checkpoint::from_bytes(&bytes).unwrap_err(), FormatError::Foreign);
    }
}

#[test]
fn what_is_no_safetensors_file_is_told_so() {
    let error = Checkpoint::from_bytes(b"PK\x03\x04 a zip file, as torch writes them").unwrap_err();
    assert!(error.to_string().starts_with("it is no safetensors file"), "{error}");
}

#[test]
fn a_later_format_is_told_by_its_number() {
    let mut bytes = bytes();
    let at = bytes.windows(12).position(|word| word == b"checkpoint 2").unwrap();
    bytes[at + 11] = b'3';
    let error = Checkpoint::from_bytes(&bytes).unwrap_err();
    assert!(matches!(&error, FormatError::Version(version) if version.starts_with('3')), "{error}");
}

#[test]
fn an_empty_checkpoint_is_one() {
    let bytes = Draft::fresh().finish().unwrap().to_bytes().unwrap();
    assert_eq!(Checkpoint::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
}

#[test]
fn words_that_look_like_the_format_are_words() {
    let word = "\"}},\"__metadata__\":{\"binade\":\"checkpoint 2 crc32 00000000 \u{0}é";
    let draft = Draft::fresh().word("crc32 00000000", word).blob("b/c", [0, 255]).blob("", []);
    let bytes = draft.finish().unwrap().to_bytes().unwrap();
    let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
    assert_eq!(checkpoint.words["crc32 00000000"], word);
    assert_eq!((&*checkpoint.blobs["b/c"], &*checkpoint.blobs[""]), (&[0, 255][..], &[][..]));
}
