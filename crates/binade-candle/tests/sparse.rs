//! Look-ups in tables whose gradients stay sparse.

use crate::{Result, drawn, values};
use binade::core::{Gradient, SparseGrads};
use binade::grad_scaler::Accumulation;
use binade::prelude::*;
use binade_candle::{Candle, SparseLookups, Wrapped, backward, named, ops};
use binade_checkpoint::{Checkpoint, Draft};
use candle_core::{DType as Type, Device, Tensor, Var};
use candle_nn::SGD;

const ROWS: usize = 6;

fn params(dtype: Type) -> Result<Vec<Named<Tensor>>> {
    let var = |shape: &[usize], seed| Var::from_tensor(&drawn(shape, seed)?.to_dtype(dtype)?);
    let (words, out) = (var(&[ROWS, 2], 3)?, var(&[2, 1], 5)?);
    Ok(named([("words".to_owned(), words), ("out".to_owned(), out)]))
}

fn indices(of: &[u32]) -> Result<Tensor> {
    Ok(Tensor::from_slice(of, (1, of.len()), &Device::Cpu)?)
}

/// Returns a weighted sum of the scores that a last layer, `params[0]`, gives to looked-up rows.
fn loss(params: &[Named<Tensor>], rows: &Tensor) -> Result<Tensor> {
    let rows = rows.to_dtype(Type::F32)?.flatten_to(1)?;
    let scores = rows.matmul(&params[0].value.to_dtype(Type::F32)?)?;
    Ok((scores * drawn(&[rows.dim(0)?, 1], 9)?)?.sum_all()?)
}

/// Rows that each step looks up, some of them twice.
const STEPS: [&[u32]; 4] = [&[4, 1, 4], &[1], &[5, 0, 5, 5], &[4]];

type Run = (Scaler<Candle>, MasterOptimizer<Candle>);

fn start(dtype: Type, config: OptimizerConfig) -> Result<Run> {
    let optimizer = MasterOptimizer::new(Candle, params(dtype)?, config)?;
    Ok((Scaler::new(Candle, LossScale::fixed(64.0)?)?, optimizer))
}

/// Returns the parameters after a few steps by dense or sparse gradients.
fn train(dtype: Type, rule: UpdateRule, is_sparse: bool) -> Result<Vec<Vec<f32>>> {
    let (mut scaler, mut optimizer) = start(dtype, OptimizerConfig::new(rule)?)?;
    let held: Vec<_> = optimizer.params.iter().map(|param| param.value.clone()).collect();
    let region = Region::bf16().off();
    let scope = region.open(&Candle);
    for looked_up in STEPS {
        let (lookups, at) = (SparseLookups::default(), indices(looked_up)?);
        let table = &optimizer.params[1].value;
        let rows = if is_sparse {
            lookups.embedding(table, &at)?
        } else {
            ops::embedding(&scope, "", table, &at)?
        };
        let loss = loss(&optimizer.params, &rows)?;
        let grads = scaler.scale(&loss)?.backward(|loss| {
            if is_sparse {
                lookups.backward(loss, &optimizer.params)
            } else {
                backward(loss, &optimizer.params)
            }
        })?;
        let step = grads.unscale()?.clip_norm(0.75)?.step(&mut optimizer)?;
        assert!(scaler.update(step)?.resolve()?.is_applied());
    }
    Ok(held.iter().map(values).collect::<std::result::Result<_, _>>()?)
}

#[test]
fn steps_of_rows_are_those_of_whole_gradients_bit_for_bit() -> Result {
    for dtype in [Type::BF16, Type::F16, Type::F32] {
        for rule in [UpdateRule::sgd(0.1), UpdateRule::adagrad(0.1)] {
            let (sparse, whole) = (train(dtype, rule, true)?, train(dtype, rule, false)?);
            assert_eq!(sparse, whole, "{rule:?} in {dtype:?}");
            let before = values(&params(dtype)?[1].value)?;
            let moved = sparse[1].chunks(2).zip(before.chunks(2)).map(|(is, was)| is != was);
            let moved: Vec<_> = moved.collect();
            assert_eq!(moved, [true, true, false, false, true, true], "{rule:?} in {dtype:?}");
        }
    }
    Ok(())
}

#[test]
fn an_overflow_made_by_adding_up_two_look_ups_is_found_at_its_element_of_the_table() -> Result {
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?;
    let (_, mut optimizer) = start(Type::F16, config)?;
    let mut scaler = Scaler::new(Candle, LossScale::fixed(1.0)?)?;
    let before = values(&optimizer.params[1].value)?;
    let lookups = SparseLookups::default();
    let mut sum = optimizer.params[0].value.to_dtype(Type::F32)?.sum_all()?;
    for at in [&[3, 1][..], &[3]] {
        let rows = lookups.embedding(&optimizer.params[1].value, &indices(at)?)?;
        // Each is finite in f16.
        let column = rows.to_dtype(Type::F32)?.narrow(2, 1, 1)?;
        sum = (sum + (column * 40_000.0)?.sum_all()?)?;
    }
    let grads = scaler.scale(&sum)?.backward(|loss| lookups.backward(loss, &optimizer.params))?;
    let step = grads.unscale()?.step(&mut optimizer)?;
    let report = scaler.update(step)?.resolve()?.report().to_string();
    assert!(report.contains("words[7]"), "{report}");
    assert_eq!(values(&optimizer.params[1].value)?, before);
    Ok(())
}

#[test]
fn a_table_that_anything_else_uses_has_a_whole_gradient() -> Result {
    let params = params(Type::F32)?;
    let (lookups, table) = (SparseLookups::default(), &params[1].value);
    let of_rows = loss(&params, &lookups.embedding(table, &indices(&[4, 1, 4])?)?)?;
    let grads = lookups.backward(&(of_rows + table.sum_all()?)?, &params)?;
    let Some(Gradient::Dense(grad)) = &grads.0[1].value else { return Err("sparse".into()) };

    let of_whole =
        loss(&params, &table.index_select(&indices(&[4, 1, 4])?.flatten_all()?, 0)?.unsqueeze(0)?)?;
    let whole: SparseGrads<Tensor> = backward(&(of_whole + table.sum_all()?)?, &params)?;
    let Some(Gradient::Dense(wanted)) = &whole.0[1].value else { return Err("sparse".into()) };
    assert_eq!(values(grad)?, values(wanted)?);
    assert_eq!(values(grad)?[4..8], [1.0; 4]);
    Ok(())
}

#[test]
fn a_rule_without_a_step_of_rows_is_refused_by_name_and_nothing_moves() -> Result {
    let (scaler, mut optimizer) = start(Type::F32, OptimizerConfig::new(UpdateRule::adam(0.1))?)?;
    let lookups = SparseLookups::default();
    let rows = lookups.embedding(&optimizer.params[1].value, &indices(&[2])?)?;
    let grads = scaler
        .scale(&loss(&optimizer.params, &rows)?)?
        .backward(|loss| lookups.backward(loss, &optimizer.params))?;
    let error = grads.unscale()?.step(&mut optimizer).err().ok_or("it was taken")?;
    assert!(error.to_string().contains("`words`"), "{error}");
    for (param, was) in optimizer.params.iter().zip(params(Type::F32)?) {
        assert_eq!(values(&param.value)?, values(&was.value)?);
    }
    Ok(())
}

#[test]
fn a_table_that_is_a_cast_is_refused_since_its_gradient_would_be_lost() -> Result {
    let params = params(Type::F32)?;
    let cast = params[1].value.to_dtype(Type::F16)?;
    let error = SparseLookups::default().embedding(&cast, &indices(&[0])?).err().ok_or("taken")?;
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    for wrong in [6, u32::MAX] {
        let error = SparseLookups::default().embedding(&params[1].value, &indices(&[wrong])?);
        let error = error.err().ok_or("taken")?;
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    let fraction = Tensor::new(&[1.9_f32], &Device::Cpu)?;
    let error = SparseLookups::default().embedding(&params[1].value, &fraction);
    assert!(error.is_err_and(|error| error.to_string().contains("integers")));
    Ok(())
}

#[test]
fn a_table_that_is_none_of_the_parameters_is_refused() -> Result {
    let (params, others) = (params(Type::F32)?, params(Type::F32)?);
    let lookups = SparseLookups::default();
    let loss = lookups.embedding(&others[1].value, &indices(&[0])?)?.sum_all()?;
    let error = lookups.backward(&loss, &params).err().ok_or("taken")?;
    assert!(error.to_string().contains("none of the parameters"), "{error}");
    Ok(())
}

#[test]
fn optimizers_of_candles_get_whole_gradients() -> Result {
    let mut ends = Vec::new();
    for is_sparse in [true, false] {
        let params = params(Type::F16)?;
        let mut sgd = Wrapped::<SGD>::new(&params, 0.5)?;
        let mut scaler = Scaler::new(Candle, LossScale::fixed(8.0)?)?;
        let (lookups, at) = (SparseLookups::default(), indices(&[5, 2])?);
        let rows = lookups.embedding(&params[1].value, &at)?;
        let whole = params[1].value.index_select(&at.flatten_all()?, 0)?.unsqueeze(0)?;
        let loss = loss(&params, if is_sparse { &rows } else { &whole })?;
        let grads = scaler.scale(&loss)?.backward(|loss| lookups.backward(loss, &params))?;
        let step = grads.unscale()?.step(&mut sgd)?;
        assert!(scaler.update(step)?.resolve()?.is_applied());
        ends.push(values(&params[1].value)?);
    }
    assert_eq!(ends[0], ends[1]);
    Ok(())
}

fn add((scaler, optimizer): &Run, window: &mut Accumulation<Candle>, of: &[u32]) -> Result {
    let lookups = SparseLookups::default();
    let rows = lookups.embedding(&optimizer.params[1].value, &indices(of)?)?;
    let loss = loss(&optimizer.params, &rows)?;
    let grads = scaler.scale(&loss)?.backward(|loss| lookups.backward(loss, &optimizer.params))?;
    Ok(window.add(grads.unscale()?)?)
}

/// Returns the state after two steps by accumulation windows. If `resumes`, each window is saved and resumed in its middle.
fn windows(resumes: bool) -> Result<String> {
    let begin = || start(Type::F16, OptimizerConfig::new(UpdateRule::sparse_adam(0.1))?);
    let mut run = begin()?;
    for looked_up in [&[1, 4][..], &[0, 4, 0]] {
        let mut window = run.0.accumulate(BadMicroBatch::Drop);
        add(&run, &mut window, looked_up)?;
        if resumes {
            let draft = Draft::within("window", &window)?.scaler("loss", &run.0)?;
            let saved = draft.optimizer("model", &run.1)?.finish()?.to_bytes()?;
            run = begin()?;
            let checkpoint = Checkpoint::from_bytes(&saved)?;
            let mut restore = checkpoint.restore();
            window = restore.window("window", &run.0, &run.1.params)?;
            restore.scaler("loss", &mut run.0)?;
            restore.optimizer("model", &mut run.1)?;
            restore.finish()?;
        }
        add(&run, &mut window, &[4, 5])?;
        let step = window.finish()?.ok_or("an empty window")?.step(&mut run.1)?;
        run.0.update(step)?.resolve()?.into_applied()?;
    }
    Ok(format!("{:?}", run.1.save()?))
}

#[test]
fn a_window_of_look_ups_is_resumed_to_the_same_bits() -> Result {
    assert_eq!(windows(true)?, windows(false)?);
    Ok(())
}

/// Returns the bytes that a step of two rows allocates in a table of `rows` rows.
fn bytes_of_a_step(rows: usize) -> Result<u64> {
    let table = Var::ones((rows, 2), Type::F32, &Device::Cpu)?;
    let config = OptimizerConfig::new(UpdateRule::sparse_adam(0.1))?;
    let params = named([("words".to_owned(), table)]);
    let mut optimizer = MasterOptimizer::new(Candle, params, config)?;
    let mut scaler = Scaler::new(Candle, LossScale::fixed(64.0)?)?;
    let mut step = || -> Result {
        let lookups = SparseLookups::default();
        let rows = lookups.embedding(&optimizer.params[0].value, &indices(&[2, 0, 2])?)?;
        let grads = scaler
            .scale(&rows.sum_all()?)?
            .backward(|loss| lookups.backward(loss, &optimizer.params))?;
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut optimizer)?;
        assert!(scaler.update(step)?.resolve()?.is_applied());
        Ok(())
    };
    step()?;
    let mut result = Ok(());
    let bytes = allocation_counter::measure(|| result = step()).bytes_total;
    result?;
    Ok(bytes)
}

#[test]
fn a_step_allocates_by_the_rows_that_it_moves_and_not_by_the_table() -> Result {
    let [small, large] = [bytes_of_a_step(8)?, bytes_of_a_step(1 << 20)?];
    // The larger table has 8 MiB; the lists of threads and graphs differ by a little.
    assert!(large <= small + 4096, "{small} and {large} bytes");
    Ok(())
}
