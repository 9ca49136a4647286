//! Look-ups in tables whose gradients stay sparse.

use crate::common::{Result, Weights, device, draw, fixed};
use binade_burn::{Burn, BurnOptimizer, BurnTensor, SparseLookups, parameters};
use binade_checkpoint::{Checkpoint, Draft};
use binade_core::ops::Download;
use binade_core::{AmpTensor, DType, Error, ErrorKind, GradSet, Named, NamedGrads};
use binade_grad_scaler::{Accumulation, BadMicroBatch, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_ranks::{Alone, Ranks};
use burn::optim::SgdConfig;
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};

const ROWS: usize = 6;

type Tables = MasterOptimizer<Burn>;

fn tables(dtype: DType, rule: UpdateRule) -> Result<Tables> {
    let values = draw(2 * ROWS, 5);
    let table = Tensor::<1>::from_floats(values.as_slice(), &Device::flex()).reshape([ROWS, 2]);
    let words = BurnTensor::from(table).cast(dtype)?;
    Ok(MasterOptimizer::new(Burn, vec![Named::new("words", words)], OptimizerConfig::new(rule)?)?)
}

fn indices(of: &[i64]) -> Tensor<2, Int> {
    Tensor::from_data(TensorData::new(of.to_vec(), [1, of.len()]), &device())
}

/// Returns the sum of rows times weights of a module.
fn loss(module: &Weights, rows: Tensor<3>) -> BurnTensor {
    let weights = module.w.val().reshape([1, 1, 2]);
    let places = i64::try_from(rows.dims()[1]).unwrap_or(i64::MAX);
    let places = Tensor::<1, Int>::arange(1..places + 1, &device()).float().reshape([1, -1, 1]);
    BurnTensor::from((rows.cast(FloatDType::F32) * weights * places.sqrt()).sum())
}

/// Returns the gradients of a module and of a table with repeated look-ups of some rows.
fn gradients(tables: &Tables, of: &[i64]) -> Result<NamedGrads<BurnTensor>> {
    let (module, lookups) = (Weights::new(&[0.5, -1.5]), SparseLookups::default());
    let first = loss(&module, lookups.embedding(&tables.params[0], indices(of))?);
    let second = loss(&module, lookups.embedding(&tables.params[0], indices(&of[..1]))?);
    let both = BurnTensor::from(first.to_tensor::<1>()? + second.to_tensor::<1>()?);
    Ok(lookups.backward(&both, &module, &tables.params)?)
}

fn values(tables: &Tables) -> Result<Vec<f32>> {
    Ok(Burn.download(&tables.params[0].value)?)
}

/// Returns burn's own gradient of the table for the loss of [`gradients`], by its `select` on the whole table, rounded to the table's type.
fn whole_gradient(tables: &Tables, of: &[i64]) -> Result<NamedGrads<BurnTensor>> {
    let (module, Named { name, value }) = (Weights::new(&[0.5, -1.5]), &tables.params[0]);
    let leaf = value.cast(DType::F32)?.to_tensor::<2>()?.autodiff().require_grad();
    let rows = |of: &[i64]| {
        let at = Tensor::<1, Int>::from_data(TensorData::new(of.to_vec(), [of.len()]), &device());
        // Each look-up's gradient has the table's type; their sum is in f32.
        let rows = BurnTensor::from(leaf.clone().select(0, at)).cast(AmpTensor::dtype(value))?;
        let rows = rows.to_tensor::<2>()?.reshape([1, of.len(), 2]);
        loss(&module, rows).to_tensor::<1>()
    };
    let grads = (rows(of)? + rows(&of[..1])?).backward();
    let grad = BurnTensor::from(leaf.grad(&grads).ok_or("no gradient")?);
    Ok(vec![Named::new(name.clone(), Some(grad.cast(AmpTensor::dtype(value))?))])
}

#[test]
fn steps_of_rows_are_those_of_whole_gradients_bit_for_bit() -> Result {
    use binade_core::{FoundInf, Optimizer};
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        for rule in [UpdateRule::sgd(0.1), UpdateRule::adagrad(0.1)] {
            let [mut rows, mut whole] = [tables(dtype, rule)?, tables(dtype, rule)?];
            let before = values(&rows)?;
            for of in [&[4, 1, 4][..], &[1], &[5, 0, 5, 5]] {
                let sparse = vec![gradients(&rows, of)?.remove(1)];
                assert_eq!(
                    sparse[0].value.as_ref().and_then(AmpTensor::rows).map(<[_]>::len),
                    Some(of.iter().collect::<std::collections::BTreeSet<_>>().len())
                );
                let dense = whole_gradient(&whole, of)?;
                assert!(dense[0].value.as_ref().is_some_and(|grad| grad.rows().is_none()));
                rows.step(sparse, &FoundInf::default())?;
                whole.step(dense, &FoundInf::default())?;
            }
            let (rows, whole) = (values(&rows)?, values(&whole)?);
            assert_eq!(rows, whole, "{dtype}");
            let moved = rows.chunks(2).zip(before.chunks(2)).map(|(is, was)| is != was);
            assert_eq!(moved.collect::<Vec<_>>(), [true, true, false, false, true, true]);
        }
    }
    Ok(())
}

#[test]
fn an_overflow_made_by_adding_up_two_look_ups_is_found_at_its_element_and_nothing_moves() -> Result
{
    let mut trained = BurnOptimizer::new(Weights::new(&[1.0]), SgdConfig::new().init(), 0.1)
        .with_tables(tables(DType::F16, UpdateRule::sgd(1.0))?);
    let table = |trained: &BurnOptimizer<Weights>| values(trained.tables.as_ref().expect("tables"));
    let (before, lookups, mut scaler) = (table(&trained)?, SparseLookups::default(), fixed(0)?);
    let mut sum = trained.module.w.val();
    for of in [&[3, 1][..], &[3]] {
        let words = &trained.tables.as_ref().ok_or("no tables")?.params;
        let rows = lookups.embedding(&words[0], indices(of))?.cast(FloatDType::F32);
        // Each is finite in f16.
        sum = sum + (rows.narrow(2, 1, 1) * 40_000.0).sum();
    }
    let loss = BurnTensor::from(sum);
    let tables = &trained.tables.as_ref().ok_or("no tables")?.params;
    let grads =
        scaler.scale(&loss)?.backward(|loss| lookups.backward(loss, &trained.module, tables))?;
    let step = grads.unscale()?.step(&mut trained)?;
    let step = scaler.update(step)?.resolve()?;
    assert!(!step.is_applied() && step.report().to_string().contains("words[7]"), "{step:?}");
    assert_eq!((table(&trained)?, trained.module.values()), (before, vec![1.0]));
    Ok(())
}

#[test]
fn module_and_tables_move_in_one_step_and_a_rule_without_rows_is_refused_before_either() -> Result {
    for (rule, is_taken) in [(UpdateRule::sgd(0.5), true), (UpdateRule::adam(0.5), false)] {
        let tables = tables(DType::F32, rule)?;
        let before = values(&tables)?;
        let grads = gradients(&tables, &[2, 0])?;
        let mut trained =
            BurnOptimizer::new(Weights::new(&[0.5, -1.5]), SgdConfig::new().init(), 0.1)
                .with_tables(tables);
        let loss = BurnTensor::from(Tensor::<1>::ones([1], &Device::flex()));
        let grads = fixed(0)?.scale(&loss)?.backward(|_| Ok(grads))?.unscale()?;
        let stepped = grads.step(&mut trained).map(drop).map_err(|error| error.to_string());
        let after = values(trained.tables.as_ref().ok_or("no tables")?)?;
        if is_taken {
            assert_eq!(stepped, Ok(()));
            assert!(after[..2] != before[..2] && after[2..4] == before[2..4]);
            assert!(trained.module.values()[0] != 0.5);
        } else {
            assert!(stepped.is_err_and(|error| error.contains("`words`")));
            assert_eq!((after, trained.module.values()), (before, vec![0.5, -1.5]));
        }
    }
    Ok(())
}

#[test]
fn an_index_that_is_no_row_is_refused_by_the_tables_name() -> Result {
    let tables = tables(DType::F32, UpdateRule::sgd(0.5))?;
    for wrong in [-1, 6] {
        let error = SparseLookups::default().embedding(&tables.params[0], indices(&[0, wrong]));
        let error = error.err().ok_or("it was taken")?;
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().starts_with(&format!("`words`: {wrong} was")), "{error}");
    }
    Ok(())
}

#[test]
fn ranks_average_whole_gradients() -> Result {
    let tables = tables(DType::F32, UpdateRule::sgd(0.5))?;
    let (mut averaged, own) = (gradients(&tables, &[4, 1])?, gradients(&tables, &[4, 1])?);
    assert!(!Ranks::new(Burn, Alone).average(&mut averaged)?.is_raised());
    for (average, own) in averaged.into_iter().zip(Burn.materialise(own)?) {
        let [average, own] = [average.value, own.value].map(|of| of.ok_or("missing"));
        assert_eq!(Burn.download(&average?)?, Burn.download(&own?)?);
    }
    Ok(())
}

fn add(
    scaler: &Scaler<Burn>,
    window: &mut Accumulation<Burn>,
    (tables, of): (&Tables, &[i64]),
) -> Result {
    let grads = gradients(tables, of)?;
    let loss = BurnTensor::from(Tensor::<1>::ones([1], &Device::flex()));
    Ok(window.add(scaler.scale(&loss)?.backward(|_| Ok(grads))?.unscale()?)?)
}

/// Returns the tables' state after two steps by accumulation windows. If `resumes`, each window is saved and resumed in its middle.
fn windows(resumes: bool) -> Result<String> {
    let begin = || tables(DType::F16, UpdateRule::sparse_adam(0.1));
    let (mut scaler, module) = (fixed(2)?, Weights::new(&[0.5, -1.5]));
    let optimizer = BurnOptimizer::new(module, SgdConfig::new().init(), 0.1);
    let mut trained = optimizer.with_tables(begin()?);
    for of in [[1, 4], [0, 4]] {
        let tables = trained.tables.take().ok_or("no tables")?;
        let mut window = scaler.accumulate(BadMicroBatch::Drop);
        add(&scaler, &mut window, (&tables, &of))?;
        let tables = if resumes {
            let draft = Draft::within("window", &window)?.scaler("loss", &scaler)?;
            let saved = draft.optimizer("tables", &tables)?.finish()?.to_bytes()?;
            let (checkpoint, mut again) = (Checkpoint::from_bytes(&saved)?, begin()?);
            let params = [parameters(&trained.module), again.params.clone()].concat();
            let mut restore = checkpoint.restore();
            scaler = fixed(2)?;
            window = restore.window("window", &scaler, &params)?;
            restore.scaler("loss", &mut scaler)?;
            restore.optimizer("tables", &mut again)?;
            restore.finish()?;
            again
        } else {
            tables
        };
        add(&scaler, &mut window, (&tables, &[4, 5]))?;
        trained.tables = Some(tables);
        let step = window.finish()?.ok_or("an empty window")?.step(&mut trained)?;
        scaler.update(step)?.resolve()?.into_applied()?;
    }
    Ok(format!("{:?}", trained.tables.ok_or("no tables")?.save()?))
}

#[test]
fn a_window_of_look_ups_is_resumed_to_the_same_bits() -> Result {
    assert_eq!(windows(true)?, windows(false)?);
    Ok(())
}

#[test]
fn a_damaged_window_is_refused_with_its_row() -> Result {
    let (scaler, tables) = (fixed(2)?, tables(DType::F32, UpdateRule::sgd(0.5))?);
    let params = [parameters(&Weights::new(&[0.5, -1.5])), tables.params.clone()].concat();
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    add(&scaler, &mut window, (&tables, &[1, 4]))?;
    let saved = window.save()?;
    assert_eq!(saved.rows, [Named::new("words", vec![1, 4])]);
    // Row 6 is the first beyond the table, although the table has 12 elements.
    for (rows, told) in
        [(vec![1, 6], "gradient sum: 6 given"), (vec![1, 12], "row 12"), (vec![4, 1], "row 1")]
    {
        let mut damaged = saved.clone();
        damaged.rows[0].value = rows;
        let error = scaler.reopen(&params, &damaged).err().ok_or("it was taken")?;
        assert!(error.to_string().contains(told), "{error}");
    }
    let mut damaged = saved.clone();
    damaged.rows.extend(saved.rows.clone());
    let error = scaler.reopen(&params, &damaged).err().ok_or("it was taken")?;
    assert!(error.to_string().contains("rows of the gradient sum"), "{error}");
    let _ = scaler.reopen(&params, &saved)?;
    Ok(())
}

/// Returns the bytes that a step of two rows allocates in a table of `rows` rows.
fn bytes_of_a_step(rows: usize) -> Result<u64> {
    let table = BurnTensor::from(Tensor::<2>::ones([rows, 2], &Device::flex()));
    let (params, config) =
        (vec![Named::new("words", table)], OptimizerConfig::new(UpdateRule::sparse_adam(0.1))?);
    let tables = MasterOptimizer::new(Burn, params, config)?;
    let module = Weights::new(&[0.5, -1.5]);
    let mut trained = BurnOptimizer::new(module, SgdConfig::new().init(), 0.1).with_tables(tables);
    let mut scaler = fixed(0)?;
    let mut result = Ok(());
    let mut step = || -> Result {
        let tables = trained.tables.as_ref().ok_or("no tables")?;
        let grads = gradients(tables, &[2, 0])?;
        let loss = BurnTensor::from(Tensor::<1>::ones([1], &Device::flex()));
        let grads = scaler.scale(&loss)?.backward(|_| Ok(grads))?.unscale()?.clip_norm(1.0)?;
        let step = grads.step(&mut trained)?;
        assert!(scaler.update(step)?.resolve()?.is_applied());
        Ok(())
    };
    step()?;
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

#[test]
fn a_table_that_one_micro_batch_does_not_look_up_has_no_gradient_there_and_one_in_the_window()
-> Result {
    let table = |name, value| {
        Named::new(name, BurnTensor::from(Tensor::<2>::full([3, 2], value, &Device::flex())))
    };
    let config = OptimizerConfig::new(UpdateRule::sgd(0.5))?;
    let tables =
        MasterOptimizer::new(Burn, vec![table("words", 1.0), table("users", 2.0)], config)?;
    let module = Weights::new(&[0.5, -1.5]);
    let mut trained = BurnOptimizer::new(module, SgdConfig::new().init(), 0.1).with_tables(tables);
    let scaler = fixed(2)?;
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for looked_up in [&[0][..], &[0, 1]] {
        let (lookups, tables) =
            (SparseLookups::default(), &trained.tables.as_ref().ok_or("no tables")?.params);
        let rows = looked_up.iter().map(|place| lookups.embedding(&tables[*place], indices(&[1])));
        let rows = rows.collect::<std::result::Result<Vec<_>, _>>()?;
        let mut sum = Tensor::<1>::zeros([1], &device());
        for rows in rows {
            sum = sum + loss(&trained.module, rows).to_tensor::<1>()?;
        }
        let grads = scaler
            .scale(&BurnTensor::from(sum))?
            .backward(|loss| lookups.backward(loss, &trained.module, tables))?;
        window.add(grads.unscale()?)?;
    }
    let _ = window.finish()?.ok_or("an empty window")?.step(&mut trained)?;
    let tables = trained.tables.as_ref().ok_or("no tables")?;
    for (table, before, count) in [(0, 1.0, 2.0), (1, 2.0, 1.0)] {
        let gradient = [0.5, -1.5].map(|weight| count * weight);
        let after = Burn.download(&tables.params[table].value)?;
        assert_eq!(after[2..4], gradient.map(|gradient| before - 0.5 * gradient));
        assert_eq!([after[0], after[5]], [before; 2]);
    }
    Ok(())
}

#[test]
fn a_table_of_nobody_and_gradients_without_a_table_are_refused_by_name() -> Result {
    let tables = tables(DType::F32, UpdateRule::sgd(0.5))?;
    let (module, lookups) = (Weights::new(&[0.5, -1.5]), SparseLookups::default());
    let loss = loss(&module, lookups.embedding(&tables.params[0], indices(&[1]))?);
    let error = lookups.backward(&loss, &module, &[]).err().ok_or("it was taken")?;
    assert!(error.to_string().contains("`words`"), "{error}");
    let mut trained = BurnOptimizer::new(module, SgdConfig::new().init(), 0.1).with_tables(tables);
    let grads =
        fixed(0)?.scale(&loss)?.backward(|loss| loss.backward(&trained.module))?.unscale()?;
    let error = grads.step(&mut trained).err().ok_or("it was taken")?;
    assert!(error.to_string().contains("`words`"), "{error}");
    assert_eq!(trained.module.values(), [0.5, -1.5]);
    Ok(())
}
