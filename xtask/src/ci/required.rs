//! `BINADE_REQUIRE`: a comma list of what must not be skipped here.
//!
//! Tests read the devices in it (`cpu`, later `ptx`, `wgpu`, `cuda`); the stages of `cargo xtask ci` read their own names.

use std::{env, fmt};

use crate::ci::outcome::Outcome;

/// The names whose skips are failures.
#[derive(Debug, Default)]
pub(crate) struct Required(Vec<String>);

impl Required {
    pub(crate) fn from_env() -> Self {
        Self::parse(&env::var("BINADE_REQUIRE").unwrap_or_default())
    }

    pub(crate) fn parse(list: &str) -> Self {
        Self(
            list.split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(String::from)
                .collect(),
        )
    }

    /// The same list without `name`, which has a stage of its own.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|other| other != name);
        self
    }

    /// `outcome`, unless it is a skip of something required.
    pub(crate) fn insist(&self, stage: &str, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Skipped(reason) if self.0.iter().any(|name| name == stage) => Outcome::Failed(
                format!("BINADE_REQUIRE names `{stage}`, but it was skipped: {reason}"),
            ),
            other => other,
        }
    }
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_commas_and_trimmed() {
        assert_eq!(Required::parse(" cpu, deny ,").0, ["cpu", "deny"]);
        assert!(Required::parse("").0.is_empty());
    }

    #[test]
    fn a_name_is_matched_whole() {
        let skipped = Outcome::Skipped("absent".into());
        assert_eq!(Required::parse("den,denys").insist("deny", skipped.clone()), skipped);
    }

    #[test]
    fn a_name_is_left_out_and_the_others_stay() {
        assert_eq!(Required::parse("cpu, ptx,deny").without("ptx").to_string(), "cpu,deny");
    }

    #[test]
    fn a_pass_stays_a_pass() {
        assert_eq!(Required::parse("deny").insist("deny", Outcome::passed()), Outcome::passed());
    }
}
