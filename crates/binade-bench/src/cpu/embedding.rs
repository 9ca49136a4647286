//! Rows of a training step that looks up a few rows of a large table, with whole gradients and with sparse ones.

use super::row::{Spec, timed};
use crate::Result;
use binade_autocast::Region;
use binade_core::ops::{Fill, Upload};
use binade_core::{DType, Named};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{LossScale, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_tape::{Tape, Var};
use serde_json::json;

/// Rows and width of a table, and the number of its rows that a step looks up.
pub(crate) type Table = [usize; 3];

/// Forward, backward, check and step of Adam: torch's `SparseAdam` where gradients are sparse.
pub(crate) fn step([rows, width, count]: Table, is_sparse: bool) -> Spec {
    let kind = if is_sparse { "sparse" } else { "whole" };
    let peer = json!({ "kind": "embedding", "rows": rows, "width": width, "count": count, "sparse": is_sparse });
    let name = format!("{kind} gradients, {count} rows of {rows} × {width}");
    Spec::new("embedding", name, peer, move || {
        let table = Named::new("table", Cpu.fill(0.5, &[rows, width], DType::F32)?);
        let rule = if is_sparse { UpdateRule::sparse_adam(1e-4) } else { UpdateRule::adam(1e-4) };
        let mut optimizer = MasterOptimizer::new(Cpu, vec![table], OptimizerConfig::new(rule)?)?;
        let mut scaler = Scaler::new(Cpu, LossScale::dynamic().with_growth_interval(u32::MAX)?)?;
        let places = indices([rows, count])?;
        Ok(timed(move || {
            let tape = Tape::new(Cpu, &Region::bf16().off());
            let table = tape.parameter(&optimizer.params[0]);
            let differentiate = |loss: &Var<Cpu>| {
                if is_sparse { loss.backward_sparse() } else { loss.backward() }
            };
            let looked_up = if is_sparse { Var::embedding_sparse } else { Var::embedding };
            let loss = looked_up(&table, &places)?.mean()?;
            let grads = scaler.scale(&loss)?.backward(differentiate)?;
            // A record holds the parameter, which the step would copy then.
            drop((tape, table, loss));
            scaler.update(grads.unscale()?.step(&mut optimizer)?)?.ignore();
            Ok(())
        }))
    })
}

/// Returns indices all over the table, by Knuth's multiplicative hash.
fn indices([rows, count]: [usize; 2]) -> Result<Tensor> {
    let rows = i64::try_from(rows)?;
    let index = |place: u32| i64::from(place.wrapping_mul(2_654_435_769)) % rows;
    let indices: Vec<i64> = (0..u32::try_from(count)?).map(index).collect();
    Ok(Cpu.upload_i64(&indices, &[count])?)
}
