//! cargo-deny over `deny.toml`. Advisories are left out: they need a database from the network, and change without us.

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    shell::Cargo,
};

pub(crate) fn run() -> Result<Outcome> {
    if !Cargo::line("deny --version").succeeds() {
        return Ok(Outcome::Skipped(
            "cargo-deny is not installed: cargo install cargo-deny --locked".into(),
        ));
    }
    plain(&Cargo::line("deny --workspace --all-features check bans licenses sources"))
}
