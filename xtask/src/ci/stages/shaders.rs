//! The committed shaders against their sources, and every shader against what no driver need be asked.

use crate::{Result, ci::outcome::Outcome, shaders};

pub(super) fn run() -> Result<Outcome> {
    let (issues, entries) = shaders::check()?;
    for issue in &issues {
        println!("{issue}");
    }
    Ok(match issues.len() {
        0 => Outcome::Passed(format!("{entries} entries")),
        count => Outcome::Failed(format!("{count} things to mend in the shaders")),
    })
}
