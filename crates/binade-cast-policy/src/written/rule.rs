//! Rules in TOML: a word, or a table of one key.

use super::{TomlError, fields::Field, write::quoted};
use crate::CastRule;
use binade_core::DType;

const WORDS: [(&str, CastRule); 7] = [
    ("untouched", CastRule::Untouched),
    ("lower", CastRule::Lower),
    ("f32", CastRule::F32),
    ("f32_output", CastRule::F32Output),
    ("promote", CastRule::Promote),
    ("promote_strict", CastRule::PromoteStrict),
    ("unlisted", CastRule::Unlisted),
];

/// Types that a cast may lead to.
const FLOATS: [DType; 6] =
    [DType::BF16, DType::F16, DType::F32, DType::F64, DType::E4M3, DType::E5M2];

const WANTED: &str = "a rule: a word, `{ to = … }` or `{ banned = … }`";

pub(super) fn read(field: &Field<'_>) -> Result<CastRule, TomlError> {
    if let Some(word) = field.as_str() {
        let known = WORDS.into_iter().find(|(name, _)| *name == word);
        let unknown = || field.unknown(word, &WORDS.map(|(name, _)| name));
        return known.map(|(_, rule)| rule).ok_or_else(unknown);
    }
    let fields = field.table(WANTED)?.only(&["to", "banned"])?;
    match (fields.get("to"), fields.get("banned")) {
        (Some(to), None) => dtype(&to).map(CastRule::To),
        (None, Some(advice)) => Ok(CastRule::banned(advice.string()?)),
        _ => Err(field.wrong("a rule: `to` or `banned`, and only one of them")),
    }
}

fn dtype(field: &Field<'_>) -> Result<DType, TomlError> {
    let name = field.string()?;
    let known = FLOATS.into_iter().find(|dtype| dtype.name() == name);
    known.ok_or_else(|| field.unknown(name, &FLOATS.map(DType::name)))
}

pub(super) fn write(rule: &CastRule) -> String {
    match rule {
        CastRule::To(dtype) => format!("{{ to = \"{dtype}\" }}"),
        CastRule::Banned(advice) => format!("{{ banned = {} }}", quoted(advice)),
        word => {
            let known = WORDS.iter().find(|(_, rule)| rule == word);
            quoted(known.map_or("unlisted", |(name, _)| name))
        }
    }
}
