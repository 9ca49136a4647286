//! Serialised form of tables and overrides, which people also write by hand.

use crate::preset::Preset;
use crate::{CastRule, Condition, Glob, OpTable, Overrides};
use binade_core::DType;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::collections::BTreeMap;

/// Table with the layer of overrides over it, if there is one.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(serialize_with = "id", deserialize_with = "by_id")]
    preset: &'static Preset,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    operations: BTreeMap<Box<str>, CastRule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    overrides: Vec<Override>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Override {
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Glob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reduction_above: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reduction_below: Option<u64>,
    rule: CastRule,
}

fn id<S: Serializer>(preset: &Preset, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(preset.id)
}

fn by_id<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Preset, D::Error> {
    let table: Result<OpTable, _> = String::deserialize(from)?.parse();
    table.map(|table| table.preset).map_err(D::Error::custom)
}

/// Reads the type of [`CastRule::To`].
pub(crate) fn float<'de, D: Deserializer<'de>>(from: D) -> Result<DType, D::Error> {
    let dtype = DType::deserialize(from)?;
    let refused = || format!("operands cannot be cast to {dtype}: give a floating-point type");
    if dtype.is_float() { Ok(dtype) } else { Err(D::Error::custom(refused())) }
}

impl Document {
    fn of(table: &OpTable, exceptions: &[(Condition, CastRule)]) -> Self {
        let OpTable { preset, registered, strict, .. } = table.clone();
        let overrides = exceptions.iter().cloned().map(|(when, rule)| {
            let Condition { op, path, reduction_above, reduction_below } = when;
            Override { op, path, reduction_above, reduction_below, rule }
        });
        Self { preset, strict, operations: registered, overrides: overrides.collect() }
    }

    fn into_policy(self) -> Overrides<OpTable> {
        let Self { preset, strict, operations: registered, overrides } = self;
        let unregistered = OpTable::of(preset);
        let lenient = registered
            .into_iter()
            .fold(unregistered, |table, (name, rule)| table.register(name, rule));
        let base = if strict { lenient.strict() } else { lenient };
        let exceptions = overrides.into_iter().map(|one| {
            let Override { op, path, reduction_above, reduction_below, rule } = one;
            (Condition { op, path, reduction_above, reduction_below }, rule)
        });
        Overrides { base, exceptions: exceptions.collect() }
    }
}

impl Serialize for OpTable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Document::of(self, &[]).serialize(to)
    }
}

impl<'de> Deserialize<'de> for OpTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let policy = Document::deserialize(from)?.into_policy();
        if policy.exceptions.is_empty() {
            return Ok(policy.base);
        }
        let layered = "`overrides` are a layer over the table: read them as `Overrides<OpTable>`";
        Err(D::Error::custom(layered))
    }
}

impl Serialize for Overrides<OpTable> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Document::of(&self.base, &self.exceptions).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Overrides<OpTable> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Document::deserialize(from).map(Document::into_policy)
    }
}
