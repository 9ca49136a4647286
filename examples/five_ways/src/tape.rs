//! Training on Binade's own tape.

use crate::Result;
use binade::prelude::*;
use binade_core::ops::{Download, Upload};
use binade_cpu::{Cpu, Tensor};
use binade_example_shared::five_ways::{Batch, LEARNING_RATE, Row, Run, Scaling, Task, properties};
use binade_example_shared::mlp::Parameter;
use binade_tape::{Tape, Var};

/// Trains, and returns the row of the table.
///
/// # Errors
///
/// If the run diverges.
pub fn row(task: &Task, precision: DType) -> Result<Row> {
    let parameter =
        |p: &Parameter| Ok(Named::new(p.name, Tensor::new(p.values.clone(), &p.shape)?));
    let params = task.parameters.iter().map(parameter).collect::<Result<Vec<_>>>()?;
    let rule = UpdateRule::adam(LEARNING_RATE);
    let mut amp = initialize(Cpu, Model::new(params), rule, properties(precision)?)?;
    let mut losses = Vec::new();
    for Batch { pixels, labels } in task.batches() {
        let labels = Cpu.upload_i64(&labels, &[labels.len()])?;
        let tape = Tape::new(Cpu, &amp.region);
        let weights = tape.parameters(&amp.optimizer.params);
        let loss = forward(&tape, &weights, &pixels)?.cross_entropy(&labels)?;
        losses.extend(Cpu.download(loss.tensor())?);
        let grads = amp.scaler.scale(&loss)?.backward(Var::backward)?;
        let step = grads.unscale()?.step(&mut amp.optimizer)?;
        amp.scaler.update(step)?.resolve()?.unless_diverged()?;
    }
    let tape = Tape::new(Cpu, &amp.region).no_grad();
    let weights = tape.parameters(&amp.optimizer.params);
    let logits = Cpu.download(forward(&tape, &weights, &task.test.pixels)?.tensor())?;
    let scaling = Some(Scaling::from(&amp.scaler.state()?));
    let weights = weights.iter().map(|w| Ok(Cpu.download(w.tensor())?)).collect::<Result<_>>()?;
    let run = Run { losses, weights, logits, scaling };
    Ok(Row::new(("tape", precision, "Binade"), task, &run))
}

/// Computes logits, [N, 10], of rows of pixels.
fn forward(tape: &Tape<Cpu>, p: &[Var<Cpu>], pixels: &[f32]) -> Result<Var<Cpu>> {
    let inputs = p[0].shape()[1];
    let x = Cpu.upload(pixels, &[pixels.len() / inputs, inputs], DType::F32)?;
    // The first layer takes the type that a level stores parameters in.
    let x = tape.constant(x).cast(p[0].dtype())?;
    let x = x.linear(&p[0], Some(&p[1]))?.relu()?;
    let x = x.linear(&p[2], Some(&p[3]))?.relu()?;
    Ok(x.linear(&p[4], Some(&p[5]))?)
}
