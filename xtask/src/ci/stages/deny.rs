//! cargo-deny over `deny.toml`, and over `deny.adapters.toml` for what the adapters bring. Advisories are left out: they need a
//! database from the network, and change without us.

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    house::{self, ADAPTERS},
    shell::Call,
};

pub(crate) fn run() -> Result<Outcome> {
    if !Call::cargo("deny --version").succeeds() {
        return Ok(Outcome::Skipped(
            "cargo-deny is not installed: cargo install cargo-deny --locked".into(),
        ));
    }
    let excluded = ADAPTERS.iter().flat_map(|name| ["--exclude", name]);
    let ours = Call::cargo("deny --workspace --all-features").args(excluded);
    plain(&ours.args(["check", "bans", "licenses", "sources"]))?;
    for name in ADAPTERS.iter().filter(|name| house::floor(name).is_some()) {
        let manifest = format!("crates/{name}/Cargo.toml");
        let adapter =
            Call::cargo("deny --config deny.adapters.toml --manifest-path").args([manifest]);
        plain(&adapter.args(["check", "licenses", "sources"]))?;
    }
    Ok(Outcome::passed())
}
