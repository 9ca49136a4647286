//! One program, without and with a loss scale.

use binade::prelude::*;
use binade_example_pages::{Result, convergence};

fn main() -> Result<()> {
    for (name, scale) in [("scale 1", LossScale::none()), ("scale 2^16", LossScale::dynamic())] {
        let run = convergence::run(scale)?;
        println!("{name:10}: loss {:e} -> {:e}", run.losses[0], run.losses[1]);
        println!("{:10}  largest scaled gradient of the first step {:e}", "", run.largest);
        println!("{:10}  weights {:?}", "", run.weight);
    }
    Ok(())
}
