//! Serialised form of a table: its preset's id and the registered rules.

use crate::{CastRule, OpTable};
use std::collections::BTreeMap;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedTable {
    preset: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    registered: BTreeMap<Box<str>, CastRule>,
    #[serde(default)]
    strict: bool,
}

impl From<OpTable> for SavedTable {
    fn from(table: OpTable) -> Self {
        let OpTable { preset, registered, strict, .. } = table;
        Self { preset: preset.id.into(), registered, strict }
    }
}

impl TryFrom<SavedTable> for OpTable {
    type Error = String;

    fn try_from(saved: SavedTable) -> Result<Self, String> {
        let SavedTable { preset, registered, strict } = saved;
        let table = Self::by_id(&preset).ok_or_else(|| {
            let ids: Vec<_> = Self::ids().collect();
            format!("no preset is called `{preset}`; there are {}", ids.join(", "))
        })?;
        Ok(Self { registered, strict, ..table })
    }
}
