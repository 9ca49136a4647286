//! The operations of a model: each device carries out its own part's.

use super::{Parts, Replicas};
use crate::{Error, Tensor};
use binade_ops::{Invoke, OpInvocation, forward_ops};

forward_ops!([] Replicas);

/// Each device normalises its own part by its own statistics, and has running statistics of its own.
impl Invoke for Replicas {
    fn invoke(
        &self,
        call: &OpInvocation,
        operands: &[&Parts<Tensor>],
    ) -> Result<Vec<Parts<Tensor>>, Error> {
        let each = self.each(|place, cuda| {
            let parts = operands.iter().map(|operand| operand.on(place));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            call.run(cuda, &parts).unwrap_or(Ok(Vec::new()))
        })?;
        Ok(by_result(&each))
    }
}

/// Turns a list of results for each device into a list of parts for each result.
fn by_result(each: &Parts<Vec<Tensor>>) -> Vec<Parts<Tensor>> {
    let results = each.iter().map(Vec::len).min().unwrap_or_default();
    let part = |result: usize| each.iter().map(|all| all[result].clone()).collect();
    (0..results).map(|result| Parts::new(part(result))).collect()
}
