//! cargo-deny over `deny.toml`. Advisories are left out: they need a database from the network, and change without us.

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    shell::Call,
};

pub(crate) fn run() -> Result<Outcome> {
    if !Call::cargo("deny --version").succeeds() {
        return Ok(Outcome::Skipped(
            "cargo-deny is not installed: cargo install cargo-deny --locked".into(),
        ));
    }
    plain(&Call::cargo("deny --workspace --all-features check bans licenses sources"))
}
