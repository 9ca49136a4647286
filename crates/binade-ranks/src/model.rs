//! Names, types and shapes of each rank's gradients, and the union of them over ranks.

use binade_core::{DType, TensorSpec};
use std::sync::Arc;

/// Parameter of a rank, with the type and shape of its gradient.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: Arc<str>,
    /// Type and shape of the gradient; `None` if no shard has one.
    pub(crate) spec: Option<TensorSpec>,
    /// True if every shard has a gradient.
    pub(crate) is_whole: bool,
}

/// First difference between two models: its text in each.
pub(crate) type Difference = [String; 2];

/// Adds another rank's gradients to `model`. Both must list the same parameters, with the same types and shapes, in the same order. A gradient may be
/// missing on either side.
pub(crate) fn join(model: &mut [Entry], other: &[Entry]) -> Result<(), Difference> {
    let text = |entry: Option<&Entry>| entry.map_or_else(|| "no parameter".into(), Entry::text);
    for place in 0..model.len().max(other.len()) {
        let (own, theirs) = (model.get_mut(place), other.get(place));
        let (Some(own), Some(theirs)) = (own, theirs) else {
            return Err([text(model.get(place)), text(theirs)]);
        };
        let is_alike = own.spec.as_ref().zip(theirs.spec.as_ref()).is_none_or(|(a, b)| a == b);
        if own.name != theirs.name || !is_alike {
            return Err([own.text(), theirs.text()]);
        }
        own.spec = own.spec.take().or_else(|| theirs.spec.clone());
        own.is_whole &= theirs.is_whole;
    }
    Ok(())
}

impl Entry {
    /// Returns the entry of the gradient's `f32` average.
    pub(crate) fn widened(&self) -> Self {
        let spec = self.spec.as_ref().map(|spec| TensorSpec::new(DType::F32, spec.shape.clone()));
        Self { spec, ..self.clone() }
    }

    /// Returns the parameter's text in error messages.
    pub(crate) fn text(&self) -> String {
        match &self.spec {
            Some(spec) => format!("`{}` {spec}", self.name),
            None => format!("`{}`", self.name),
        }
    }
}

/// Types of gradients that can be averaged. The position of a type is its byte in an encoded model.
const TYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Returns true if ranks can exchange tensors of this type.
pub(crate) fn travels(dtype: DType) -> bool {
    TYPES.contains(&dtype)
}

/// Encodes a model: name, type and shape of each parameter.
pub(crate) fn encode(model: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let word = |bytes: &mut Vec<u8>, word: usize| bytes.extend((word as u64).to_le_bytes());
    for Entry { name, spec, is_whole } in model {
        word(&mut bytes, name.len());
        bytes.extend(name.bytes());
        word(&mut bytes, usize::from(*is_whole));
        let dtype = spec.as_ref().and_then(|spec| TYPES.iter().position(|of| *of == spec.dtype));
        word(&mut bytes, dtype.map_or(0, |place| place + 1));
        let shape = spec.as_ref().map_or(&[][..], |spec| &spec.shape);
        word(&mut bytes, shape.len());
        for side in shape {
            word(&mut bytes, *side);
        }
    }
    bytes
}

/// Decodes a model. A truncated parameter at the end is left out.
pub(crate) fn decode(mut bytes: &[u8]) -> Vec<Entry> {
    let mut model = Vec::new();
    while let Some(entry) = entry(&mut bytes) {
        model.push(entry);
    }
    model
}

fn entry(bytes: &mut &[u8]) -> Option<Entry> {
    let len = word(bytes)?;
    let name = String::from_utf8_lossy(bytes.split_off(..len)?).into();
    let is_whole = word(bytes)? == 1;
    let dtype = word(bytes)?.checked_sub(1).and_then(|place| TYPES.get(place)).copied();
    let axes = word(bytes)?;
    let shape = (0..axes).map(|_| word(bytes)).collect::<Option<Vec<_>>>()?;
    Some(Entry { name, spec: dtype.map(|dtype| TensorSpec::new(dtype, shape)), is_whole })
}

fn word(bytes: &mut &[u8]) -> Option<usize> {
    let (word, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    usize::try_from(u64::from_le_bytes(*word)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, spec: Option<(DType, &[usize])>) -> Entry {
        let spec = spec.map(|(dtype, shape)| TensorSpec::new(dtype, shape));
        Entry { name: name.into(), is_whole: spec.is_some(), spec }
    }

    #[test]
    fn a_model_is_read_back_as_it_was_written_and_a_part_of_one_up_to_the_cut() {
        let model = [
            entry("w", Some((DType::BF16, &[2, 0, 3]))),
            entry("ü\n", None),
            entry("", Some((DType::F32, &[]))),
        ];
        let bytes = encode(&model);
        assert_eq!(decode(&bytes), model);
        assert_eq!(decode(&bytes[..bytes.len() - 1]), model[..2]);
    }

    #[test]
    fn a_gradient_may_be_missing_and_names_types_and_shapes_may_not_differ() {
        let (two, three): (&[usize], &[usize]) = (&[2], &[3]);
        let whole = [entry("w", Some((DType::F16, two))), entry("b", None)];
        let mut joint = [entry("w", None), entry("b", None)];
        assert_eq!(join(&mut joint, &whole), Ok(()));
        assert_eq!(joint[0].spec, whole[0].spec);
        assert!(!joint[0].is_whole && !joint[1].is_whole);
        for (other, told) in [
            (vec![entry("w", Some((DType::F16, three))), entry("b", None)], "`w` f16 [3]"),
            (vec![entry("w", Some((DType::BF16, two))), entry("b", None)], "`w` bf16 [2]"),
            (vec![entry("v", Some((DType::F16, two))), entry("b", None)], "`v` f16 [2]"),
            (vec![entry("w", Some((DType::F16, two)))], "no parameter"),
        ] {
            let [own, theirs] = join(&mut whole.clone(), &other).unwrap_err();
            assert_eq!(theirs, told);
            assert!(own == "`w` f16 [2]" || own == "`b`", "{own}");
        }
    }
}
