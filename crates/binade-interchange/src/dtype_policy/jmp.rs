//! jmp's policy strings, by the rules of `get_policy` and `parse_dtype` in `jmp/_src/policy.py` (jmp 0.0.4).

use super::{DTypePolicy, DTypePolicyError};
use binade_core::{DType, nearest_name};
use std::{fmt, str::FromStr};

/// Names of jmp's; jmp writes the first of each type.
const DTYPES: [(&str, DType); 10] = [
    ("bf16", DType::BF16),
    ("bfloat16", DType::BF16),
    ("f16", DType::F16),
    ("float16", DType::F16),
    ("half", DType::F16),
    ("full", DType::F32),
    ("f32", DType::F32),
    ("float32", DType::F32),
    ("f64", DType::F64),
    ("float64", DType::F64),
];

const KEYS: [(&str, Key); 6] = [
    ("params", Key::Params),
    ("compute", Key::Compute),
    ("output", Key::Output),
    ("p", Key::Params),
    ("c", Key::Compute),
    ("o", Key::Output),
];

#[derive(Clone, Copy)]
enum Key {
    Params,
    Compute,
    Output,
}

/// Types that the parts read so far have set.
#[derive(Default)]
struct Said {
    params: Option<DType>,
    compute: Option<DType>,
    output: Option<DType>,
}

impl FromStr for DTypePolicy {
    type Err = DTypePolicyError;

    fn from_str(policy: &str) -> Result<Self, DTypePolicyError> {
        if !policy.contains('=') {
            return dtype(policy, policy).map(Self::uniform);
        }
        let mut said = Said::default();
        for part in policy.split(',') {
            said.part(part, policy)?;
        }
        Ok(said.policy())
    }
}

impl Said {
    fn part(&mut self, part: &str, policy: &str) -> Result<(), DTypePolicyError> {
        let malformed = || DTypePolicyError::Malformed { part: part.into(), policy: policy.into() };
        let (key, value) = part.split_once('=').ok_or_else(malformed)?;
        if value.contains('=') {
            return Err(malformed());
        }
        // jmp looks at the dtype first, and reports it if both are wrong.
        let dtype = dtype(value, part)?;
        *self.of(self::key(key, part)?) = Some(dtype);
        Ok(())
    }

    fn of(&mut self, key: Key) -> &mut Option<DType> {
        match key {
            Key::Params => &mut self.params,
            Key::Compute => &mut self.compute,
            Key::Output => &mut self.output,
        }
    }

    fn policy(&self) -> DTypePolicy {
        let params = self.params.unwrap_or(DType::F32);
        let compute = self.compute.unwrap_or(params);
        DTypePolicy { params, compute, output: self.output.unwrap_or(compute) }
    }
}

fn dtype(value: &str, part: &str) -> Result<DType, DTypePolicyError> {
    let known = DTYPES.iter().find(|(name, _)| *name == value);
    known.map(|&(_, dtype)| dtype).ok_or_else(|| DTypePolicyError::UnknownDType {
        value: value.into(),
        part: part.into(),
        nearest: nearest_name(value, DTYPES.iter().map(|&(name, _)| name)),
    })
}

fn key(key: &str, part: &str) -> Result<Key, DTypePolicyError> {
    let known = KEYS.iter().find(|(name, _)| *name == key);
    known.map(|&(_, key)| key).ok_or_else(|| DTypePolicyError::UnknownKey {
        key: key.into(),
        part: part.into(),
        nearest: nearest_name(key, KEYS.iter().map(|&(name, _)| name)),
    })
}

fn name(dtype: DType) -> &'static str {
    let known = DTYPES.iter().find(|&&(_, known)| known == dtype);
    known.map_or(dtype.name(), |&(name, _)| name)
}

impl fmt::Display for DTypePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { params, compute, output } = *self;
        write!(f, "p={},c={},o={}", name(params), name(compute), name(output))
    }
}
