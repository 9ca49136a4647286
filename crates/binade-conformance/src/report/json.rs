//! Reports for programs.

use super::{Report, Row};
use crate::{Difference, Failure, Sentence, runner::Listed};
use serde_json::{Value, json};

/// Value of `schema` in every report. It changes if a key is removed or gets another meaning, and stays if a key is added.
pub(crate) const SCHEMA: &str = "binade-conformance/1";

/// Returns one report as a JSON object, and any other number of reports as a list.
///
/// | key | holds |
/// |---|---|
/// | `schema` | `binade-conformance/1` |
/// | `device` | the subject's name |
/// | `arithmetic` | by fact of [`Arithmetic`](crate::Arithmetic) whether it holds |
/// | `passed`, `failed`, `known` | counts of cases |
/// | `skipped` | a list of `case` and `reason` |
/// | `failures` | a list, see below |
/// | `known_failures` | the same with `reason` |
/// | `misnamed` | what was listed as known or excused and no case is called: a list of `name` and `reason`; none in a success |
/// | `known_not_run` | what was listed as known of cases that were not asked for: the same |
/// | `rows` | the table: `suite`, `operation`, `dtype`, `agreement`, `cases`, the counts `passed`, `failed`, `known` and `skipped`, `worst` as a share of what the agreement allows, `status` |
///
/// A failure has `case`; `suite`; `proves`, a list of the sentences that do not hold, each with its `contract`, usually a trait, and the `sentence`;
/// `agreement`, `inputs`, `got` and `wanted` as printed; `first`, the index of the first element that does not agree; `worst` with `index`, `got` and
/// `wanted` as bits and in decimal, and the number `apart`; and `rerun`, the environment variables that run this case alone. `first` and `worst` are
/// null if no tensor was compared. `apart` is null if it is not finite, since JSON has no such number.
pub fn json(reports: &[Report]) -> String {
    let value = match reports {
        [one] => page(one),
        all => all.iter().map(page).collect(),
    };
    format!("{value:#}")
}

fn page(report: &Report) -> Value {
    let arithmetic: Value = report.arithmetic.facts().into_iter().collect();
    let skip = |(case, reason): (&str, &str)| json!({ "case": case, "reason": reason });
    let listed = |list: &[Listed]| -> Value {
        list.iter().map(|(name, reason)| json!({ "name": name, "reason": reason })).collect()
    };
    let failures = report.failed().into_iter().map(|(case, failure)| failed(report, case, failure));
    let known = report.known().into_iter().map(|(case, failure, reason)| {
        let mut known = failed(report, case, failure);
        known["reason"] = reason.into();
        known
    });
    json!({
        "schema": SCHEMA,
        "device": report.subject,
        "arithmetic": arithmetic,
        "passed": report.passed(),
        "failed": report.failed().len(),
        "known": report.known().len(),
        "skipped": report.skipped().into_iter().map(skip).collect::<Value>(),
        "failures": failures.collect::<Value>(),
        "known_failures": known.collect::<Value>(),
        "misnamed": listed(&report.misnamed),
        "known_not_run": listed(&report.not_run),
        "rows": report.rows().iter().map(row).collect::<Value>(),
    })
}

fn failed(report: &Report, case: &str, failure: &Failure) -> Value {
    let Failure { inputs, got, wanted, agreement, first, worst } = failure;
    let suite = report.records.iter().find(|it| it.name == case).map(|it| it.group.suite());
    let sentence = |Sentence { of, says }| json!({ "contract": of, "sentence": says });
    let apart = |worst: &Difference| {
        let Difference { index, got, wanted, apart } = worst;
        json!({ "index": index, "got": got, "wanted": wanted, "apart": apart })
    };
    json!({
        "case": case,
        "suite": suite,
        "proves": report.proved_by(case).into_iter().map(sentence).collect::<Value>(),
        "agreement": agreement,
        "inputs": inputs,
        "got": got,
        "wanted": wanted,
        "first": first,
        "worst": worst.as_deref().map(apart),
        "rerun": format!("BINADE_CASE='{case}'"),
    })
}

fn row(row: &Row) -> Value {
    let Row { group, variant, agreement, worst, passed, failed, known, skipped } = row;
    json!({
        "suite": group.suite(),
        "operation": group.name(),
        "dtype": variant,
        "agreement": agreement.to_string(),
        "cases": row.cases(),
        "passed": passed,
        "failed": failed,
        "known": known,
        "skipped": skipped,
        "worst": worst,
        "status": row.status(),
    })
}
