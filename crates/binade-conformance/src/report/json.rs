//! Reports for programs.

mod value;

use super::{Record, Report, Row};
use crate::report::Outcome;
use crate::{Arithmetic, Difference, Failure, Sentence};
use value::Json;

/// Value of `schema` in every report. A key that is new leaves it as it is; one that is gone, or means something else, does not.
pub const SCHEMA: &str = "binade-conformance/1";

/// One report as an object, any other number of them as a list.
///
/// | key | holds |
/// |---|---|
/// | `schema` | [`SCHEMA`] |
/// | `device` | the subject's name |
/// | `arithmetic` | by fact of [`Arithmetic`] whether it holds |
/// | `passed`, `failed`, `known` | counts of cases |
/// | `skipped` | a list of `case` and `reason` |
/// | `failures` | a list, see below |
/// | `known_failures` | the same with `reason` |
/// | `misnamed` | what was listed as known or excused and no case is called: a list of `name` and `reason`; none in a success |
/// | `known_not_run` | what was listed as known of cases that were not asked for: the same |
/// | `rows` | the table: `suite`, `operation`, `dtype`, `agreement`, `cases`, the counts `passed`, `failed`, `known` and `skipped`, `worst` as a share of what the agreement allows, `status` |
///
/// A failure has `case`; `suite`; `proves`, a list of the sentences that do not hold, each with its `contract`, a trait mostly, and
/// the `sentence`; `agreement`, `inputs`, `got` and `wanted` as they are printed; `first`, the index of the first element that does not agree; `worst` with `index`, `got` and `wanted` as bits and in
/// decimal, and the number `apart`; and `rerun`, the environment in which it alone is run. `first` and `worst` are null where
/// no tensor was compared. A number that JSON has not is null: `apart` of what is no finite number.
pub fn json(reports: &[Report]) -> String {
    let text = match reports {
        [one] => page(one),
        all => Json::List(all.iter().map(page).collect()),
    };
    text.to_string()
}

fn page(report: &Report) -> Json {
    let records = report.records().iter();
    Json::Object(vec![
        ("schema", SCHEMA.into()),
        ("device", report.subject().into()),
        ("arithmetic", arithmetic(*report.arithmetic())),
        ("passed", report.passed().into()),
        ("failed", report.failed().len().into()),
        ("known", report.known().len().into()),
        ("skipped", Json::List(report.skipped().into_iter().map(skip).collect())),
        ("failures", Json::List(records.clone().filter_map(|it| failed(report, it)).collect())),
        ("known_failures", Json::List(records.filter_map(|it| known(report, it)).collect())),
        ("misnamed", Json::List(report.misnamed().into_iter().map(listed).collect())),
        ("known_not_run", Json::List(report.not_run().into_iter().map(listed).collect())),
        ("rows", Json::List(report.rows().into_iter().map(row).collect())),
    ])
}

fn arithmetic(facts: Arithmetic) -> Json {
    Json::Object(facts.facts().into_iter().map(|(name, holds)| (name, Json::Bool(holds))).collect())
}

fn skip((case, reason): (&str, &str)) -> Json {
    Json::Object(vec![("case", case.into()), ("reason", reason.into())])
}

fn listed((name, reason): (&str, &str)) -> Json {
    Json::Object(vec![("name", name.into()), ("reason", reason.into())])
}

fn failed(report: &Report, record: &Record) -> Option<Json> {
    match &record.outcome {
        Outcome::Failed(failure) => Some(Json::Object(failure_of(report, record, failure))),
        _ => None,
    }
}

fn known(report: &Report, record: &Record) -> Option<Json> {
    let Outcome::Known(failure, reason) = &record.outcome else { return None };
    let mut keys = failure_of(report, record, failure);
    keys.push(("reason", reason.as_str().into()));
    Some(Json::Object(keys))
}

fn failure_of(report: &Report, record: &Record, failure: &Failure) -> Vec<(&'static str, Json)> {
    vec![
        ("case", record.name.as_str().into()),
        ("suite", record.group.suite().to_string().into()),
        ("proves", Json::List(report.proved_by(&record.name).into_iter().map(sentence).collect())),
        ("agreement", failure.agreement.as_str().into()),
        ("inputs", failure.inputs.as_str().into()),
        ("got", failure.got.as_str().into()),
        ("wanted", failure.wanted.as_str().into()),
        ("first", failure.first.map_or(Json::Null, Json::from)),
        ("worst", failure.worst.as_deref().map_or(Json::Null, difference)),
        ("rerun", format!("BINADE_CASE='{}'", record.name).into()),
    ]
}

fn sentence(proved: Sentence) -> Json {
    Json::Object(vec![("contract", proved.of.into()), ("sentence", proved.says.into())])
}

fn difference(worst: &Difference) -> Json {
    Json::Object(vec![
        ("index", worst.index.into()),
        ("got", worst.got.as_str().into()),
        ("wanted", worst.wanted.as_str().into()),
        ("apart", Json::Number(worst.apart)),
    ])
}

fn row(row: Row) -> Json {
    Json::Object(vec![
        ("suite", row.group.suite().to_string().into()),
        ("operation", row.group.name().into()),
        ("agreement", row.agreement.to_string().into()),
        ("cases", row.cases().into()),
        ("passed", row.passed.into()),
        ("failed", row.failed.into()),
        ("known", row.known.into()),
        ("skipped", row.skipped.into()),
        ("worst", Json::Number(row.worst)),
        ("status", row.status().into()),
        ("dtype", row.variant.into()),
    ])
}
