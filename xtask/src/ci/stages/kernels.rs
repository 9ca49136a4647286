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
    Ok(match (recompiled, installed) {
        (all @ Recompiled::All(_), _) => Outcome::Passed(all.to_string()),
        (Recompiled::Not(_), Err(why)) => Outcome::Skipped(why.to_string()),
        (Recompiled::Not(why), Ok(())) => Outcome::Skipped(why),
    })
}
