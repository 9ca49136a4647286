//! The committed PTX against its sources: by hashes anywhere, by compiling again where the toolchain is or can be installed.

use crate::{
    Result,
    ci::outcome::Outcome,
    kernels::{self, Recompiled},
};

pub(crate) fn run() -> Result<Outcome> {
    // Installed first: the check uses what it finds. Whether that went well matters only to what could not be done.
    let installed = kernels::install_where_missing();
    let (issues, recompiled) = kernels::check()?;
    println!("{recompiled}");
    kernels::verdict(&issues)?;
    Ok(outcome(recompiled, installed))
}

/// How a check that found nothing ended.
fn outcome(recompiled: Recompiled, installed: Result<()>) -> Outcome {
    match (recompiled, installed) {
        (all @ Recompiled::All(_), _) => Outcome::Passed(all.to_string()),
        (Recompiled::Not(_), Err(why)) => Outcome::Skipped(why.to_string()),
        (Recompiled::Not(why), Ok(())) => Outcome::Skipped(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_alone_are_a_skip_with_the_reason_of_the_installation() {
        let skipped = outcome(Recompiled::Not("absent".into()), Err("no network".into()));
        assert_eq!(skipped, Outcome::Skipped("no network".into()));
    }

    #[test]
    fn kernels_that_were_compiled_again_are_counted() {
        assert!(
            matches!(outcome(Recompiled::All(7), Ok(())), Outcome::Passed(note) if note.starts_with('7'))
        );
    }
}
