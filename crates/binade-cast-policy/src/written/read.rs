//! Reader of policies in TOML.

use super::{
    TomlError,
    fields::{Field, Fields, line, listed},
    rule,
};
use crate::{Attribute, CastRule, Compare, Condition, OpTable, Overrides};
use toml::de::DeTable;

/// Constructor of a condition from its number.
type Bound = fn(f64) -> Compare;

const ROOT: [&str; 4] = ["preset", "strict", "operations", "overrides"];
const OVERRIDE: [&str; 5] = ["rule", "op", "path", "reduction_length", "exponent"];
const BOUNDS: [(&str, Bound); 3] =
    [("above", Compare::Above), ("below", Compare::Below), ("equal", Compare::Equal)];
const WANTED: &str = "bounds, as `{ above = 4096 }`";

pub(super) fn overrides(text: &str) -> Result<Overrides<OpTable>, TomlError> {
    let document = parse(text)?;
    let root = Fields::root(text, &document).only(&ROOT)?;
    let layers = root.get("overrides").map_or_else(|| Ok(Vec::new()), |field| layers(&field))?;
    let policy = Overrides::over(base(&root)?);
    Ok(layers.into_iter().fold(policy, |policy, (when, rule)| policy.when(when, rule)))
}

pub(super) fn table(text: &str) -> Result<OpTable, TomlError> {
    let document = parse(text)?;
    let root = Fields::root(text, &document).only(&ROOT)?;
    match root.get("overrides") {
        Some(layers) => Err(TomlError::Layered { line: layers.line() }),
        None => base(&root),
    }
}

fn parse(text: &str) -> Result<DeTable<'_>, TomlError> {
    let document = DeTable::parse(text).map_err(|error| TomlError::Syntax {
        line: error.span().map(|span| line(text, span.start)),
        message: error.message().into(),
    })?;
    Ok(document.into_inner())
}

fn base(root: &Fields<'_>) -> Result<OpTable, TomlError> {
    let mut table = preset(root)?;
    if let Some(strict) = root.get("strict") {
        table.strict = strict.bool()?;
    }
    if let Some(operations) = root.get("operations") {
        for (name, field) in operations.table("a table of operations and their rules")?.all() {
            table = table.register(name, rule::read(&field)?);
        }
    }
    Ok(table)
}

fn preset(root: &Fields<'_>) -> Result<OpTable, TomlError> {
    let ids: Vec<_> = OpTable::ids().collect();
    let field = root.need("preset", &format!("one of {}", listed(&ids)))?;
    let id = field.string()?;
    OpTable::by_id(id).ok_or_else(|| field.unknown(id, &ids))
}

fn layers(field: &Field<'_>) -> Result<Vec<(Condition, CastRule)>, TomlError> {
    let wanted = "an array of tables, each under `[[overrides]]`";
    let layers = field.as_array().ok_or_else(|| field.wrong(wanted))?;
    layers.map(|layer| exception(layer.table(wanted)?)).collect()
}

fn exception(layer: Fields<'_>) -> Result<(Condition, CastRule), TomlError> {
    let layer = layer.only(&OVERRIDE)?;
    let when = Attribute::ALL.into_iter().try_fold(place(&layer)?, |when, attribute| {
        let bounds = layer.get(attribute.name()).map_or_else(|| Ok(Vec::new()), |f| bounds(&f))?;
        Ok(bounds.into_iter().fold(when, |when, is| when.attribute(attribute, is)))
    })?;
    let rule = layer.need("rule", "what to do with the operands, as `\"f32\"`")?;
    Ok((when, rule::read(&rule)?))
}

fn place(layer: &Fields<'_>) -> Result<Condition, TomlError> {
    let mut when = Condition::always();
    if let Some(op) = layer.get("op") {
        when = when.op(op.string()?);
    }
    if let Some(path) = layer.get("path") {
        when = when.path(path.string()?);
    }
    Ok(when)
}

/// Reads the bounds of one table, or of several in an array. None at all is an error: the override would apply more widely than
/// it looks.
fn bounds(field: &Field<'_>) -> Result<Vec<Compare>, TomlError> {
    let Some(several) = field.as_array() else { return bound(field) };
    let bounds = several.map(|one| bound(&one)).collect::<Result<Vec<_>, _>>()?.concat();
    if bounds.is_empty() { Err(field.wrong(WANTED)) } else { Ok(bounds) }
}

fn bound(field: &Field<'_>) -> Result<Vec<Compare>, TomlError> {
    let fields = field.table(WANTED)?.only(&BOUNDS.map(|(name, _)| name))?;
    let given = BOUNDS.iter().filter_map(|(name, is)| Some((fields.get(name)?, is)));
    let bounds: Vec<_> =
        given.map(|(value, is)| value.bound().map(is)).collect::<Result<_, _>>()?;
    if bounds.is_empty() { Err(field.wrong(WANTED)) } else { Ok(bounds) }
}
