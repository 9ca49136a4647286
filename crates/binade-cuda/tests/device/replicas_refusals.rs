//! Refusals of replicas, and the end of replicas that differ.

use crate::support::{Result, apart, cuda, kind, optimizer, replicas, set, vector};
use binade_core::ops::{Download, Embedding, Upload};
use binade_core::{DType, ErrorKind, Optimizer as _};
use binade_cuda::{CaptureError, Cuda, CudaError, Error, Gradients, JointGradients, Replicas};
use binade_grad_scaler::{
    BadMicroBatch, GradOps, GradScaler, Loss, LossScale, ScaleState, ScaleStore, Scaler,
};
use binade_master_weights::{OptimizerConfig, UpdateRule};

crate::tests![
    replicas_of_nothing_and_of_no_such_device_are_refused,
    parts_that_do_not_go_with_the_devices_are_refused,
    values_of_other_replicas_are_refused,
    gradients_that_were_not_averaged_are_not_stepped_with,
    models_that_differ_are_refused_by_the_parameters_name,
    a_batch_that_does_not_split_evenly_is_refused,
    a_capture_of_one_device_refuses_a_step_over_several,
    a_bad_index_on_any_device_is_told_by_the_next_outcome,
    replicas_that_have_come_apart_do_nothing_more,
];

fn replicas_of_nothing_and_of_no_such_device_are_refused() -> Result {
    assert_eq!(Replicas::open(&[]).err(), Some(Error::Driver(CudaError::NoReplicas)));
    assert_eq!(Replicas::on(Vec::new()).err(), Some(Error::Driver(CudaError::NoReplicas)));
    assert!(matches!(
        Replicas::open(&[0, 99]).err(),
        Some(Error::Driver(CudaError::NoDevice { ordinal: 99, .. }))
    ));
    Ok(())
}

fn parts_that_do_not_go_with_the_devices_are_refused() -> Result {
    let replicas = replicas();
    let part = |place: usize| vector(&replicas.devices()[place], &[1.0], DType::F32);
    let too_few = Error::Driver(CudaError::Parts { found: 1, devices: 2 });
    assert_eq!(replicas.tensor(vec![part(0)]).err(), Some(too_few.clone()));
    assert_eq!(kind(replicas.tensor(vec![part(1), part(0)])), ErrorKind::Mismatch);
    let swapped = replicas.tensor(vec![part(1), part(0)]).err();
    assert_eq!(swapped, Some(Error::Foreign));
    let scale = replicas.upload_state(ScaleState::from_exponent(0))?;
    let one = |place: usize| set(&replicas.devices()[place], &[("w", Some(vec![1.0]))], DType::F16);
    let mut short: JointGradients = vec![one(0)].into();
    assert_eq!(replicas.unscale(&mut short, &scale).err(), Some(too_few));
    let mut long: JointGradients = vec![one(0), one(1), one(0)].into();
    assert_eq!(kind(replicas.unscale(&mut long, &scale)), ErrorKind::Mismatch);
    let mut swapped: JointGradients = vec![one(1), one(0)].into();
    assert_eq!(replicas.unscale(&mut swapped, &scale).err(), Some(Error::Foreign));
    Ok(())
}

fn values_of_other_replicas_are_refused() -> Result {
    let (here, there) = (replicas(), replicas());
    let tensor = there.upload(&[1.0], &[1], DType::F32)?;
    let scale = here.upload_state(ScaleState::from_exponent(0))?;
    assert_eq!(tensor.scaled(&here, &scale).err(), Some(Error::Foreign));
    assert_eq!(here.download(&tensor).err(), Some(Error::Foreign));
    let mut grads = set(&there, &[("w", Some(vec![1.0]))], DType::F16);
    assert_eq!(here.unscale(&mut grads, &scale).err(), Some(Error::Foreign));
    let three = Replicas::open(&[0, 0, 0])?;
    assert_eq!(kind(three.download_each(&tensor)), ErrorKind::Mismatch);
    Ok(())
}

fn gradients_that_were_not_averaged_are_not_stepped_with() -> Result {
    let replicas = replicas();
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?;
    let mut optimizer = optimizer(&replicas, &[("w", vec![1.0])], DType::F16, config);
    let scale = replicas.upload_state(ScaleState::from_exponent(0))?;
    let grads = || set(&replicas, &[("w", Some(vec![1.0]))], DType::F16);
    let found = replicas.unscale(&mut grads(), &scale)?;
    assert_eq!(optimizer.step(grads(), &found).err(), Some(Error::Driver(CudaError::NotAveraged)));
    assert_eq!(
        replicas.accumulate(None, grads(), &found).err(),
        Some(Error::Driver(CudaError::NotAveraged))
    );
    assert_eq!(replicas.save_grads(&grads()).err(), Some(Error::Driver(CudaError::NotAveraged)));

    // Each device has a window of its own, and only the device knows which gradients are in it.
    let alone = |cuda: &Cuda| -> Result<Gradients> {
        let set = set(cuda, &[("w", Some(vec![1.0]))], DType::F16);
        let mut window =
            Scaler::new(cuda.clone(), LossScale::dynamic())?.accumulate(BadMicroBatch::Drop);
        window.add(Scaler::new(cuda.clone(), LossScale::dynamic())?.check_unscaled(set)?)?;
        Ok(window.finish()?.ok_or("an empty window")?.grads().clone())
    };
    let sums = replicas.devices().iter().map(alone).collect::<Result<Vec<_>>>()?;
    let mut sums: JointGradients = sums.into();
    assert_eq!(replicas.unscale(&mut sums, &scale).err(), Some(Error::Driver(CudaError::Window)));
    Ok(())
}

fn models_that_differ_are_refused_by_the_parameters_name() -> Result {
    let replicas = replicas();
    let scale = replicas.upload_state(ScaleState::from_exponent(0))?;
    let whole = vec![("a", Some(vec![1.0])), ("b", Some(vec![1.0, 2.0]))];
    let others = [
        vec![("a", Some(vec![1.0]))],
        vec![("b", Some(vec![1.0, 2.0])), ("a", Some(vec![1.0]))],
        vec![("a", Some(vec![1.0])), ("b", Some(vec![1.0]))],
    ];
    for other in others {
        let mut grads = apart(&replicas, &[whole.clone(), other], DType::F32);
        let error = replicas.unscale(&mut grads, &scale).unwrap_err();
        assert!(error.to_string().contains("replicas of one model"), "{error}");
    }
    Ok(())
}

fn a_batch_that_does_not_split_evenly_is_refused() -> Result {
    let replicas = replicas();
    let refused = replicas.shard(&[1.0; 6], &[3, 2], DType::F32).err();
    assert_eq!(refused, Some(Error::Driver(CudaError::Shard { rows: 3, devices: 2 })));
    assert_eq!(kind(replicas.shard_i64(&[1], &[])), ErrorKind::Mismatch);
    assert_eq!(kind(replicas.shard(&[1.0; 5], &[2, 3], DType::F32)), ErrorKind::Mismatch);
    Ok(())
}

fn a_capture_of_one_device_refuses_a_step_over_several() -> Result {
    let replicas = replicas();
    let scaler = Scaler::new(replicas.clone(), LossScale::dynamic())?;
    let loss = vector(&replicas, &[1.0], DType::F32);
    let step = || -> std::result::Result<(), Error> {
        let grads = scaler
            .scale(&loss)?
            .backward(|_| Ok(set(&replicas, &[("w", Some(vec![1.0]))], DType::F16)))?;
        grads.unscale().map(drop)
    };
    let refused = replicas.devices()[1].capture().warm_up(step).err();
    let why = CaptureError::Replicas;
    assert_eq!(refused, Some(Error::Driver(CudaError::Capture { operation: "unscale", why })));
    step()?;
    Ok(())
}

fn a_bad_index_on_any_device_is_told_by_the_next_outcome() -> Result {
    for bad in [0, 1] {
        let replicas = replicas();
        let scaler = Scaler::new(replicas.clone(), LossScale::dynamic())?;
        let table = vector(&replicas, &[1.0, 2.0, 3.0, 4.0], DType::F32);
        let table = replicas.tensor(
            table.0.iter().map(|it| it.reshape(&[2, 2])).collect::<std::result::Result<_, _>>()?,
        )?;
        let mut indices = [0, 1];
        indices[bad] = 7;
        let rows = replicas.embedding(&table, &replicas.shard_i64(&indices, &[2])?)?;
        drop(rows);
        let error = replicas.synchronize().and_then(|()| scaler.state().map(drop)).unwrap_err();
        assert!(matches!(error, Error::Index { index: 7, position: 0, .. }), "{error}");
        scaler.state()?;
    }
    Ok(())
}

fn replicas_that_have_come_apart_do_nothing_more() -> Result {
    let replicas = replicas();
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?;
    let mut optimizer = optimizer(&replicas, &[("w", vec![1.0, 2.0])], DType::F16, config);
    let scaler = Scaler::new(replicas.clone(), LossScale::dynamic())?;
    let grads =
        || scaler.check_unscaled(set(&replicas, &[("w", Some(vec![1.0, 1.0]))], DType::F16));

    // On the second device alone a parameter is replaced by one that its masters do not fit.
    let first = optimizer.params[0].value.0[0].clone();
    let odd = vector(&replicas.devices()[1], &[1.0], DType::F16);
    optimizer.params[0].value = replicas.tensor(vec![first, odd])?;
    let (first, second) = (grads()?, set(&replicas, &[("w", Some(vec![1.0]))], DType::F16));
    let refused = first.step(&mut optimizer).map(drop).unwrap_err();
    assert!(matches!(refused, Error::Match(_)), "{refused}");
    let after = scaler.check_unscaled(second).map(drop).unwrap_err();
    assert!(matches!(after, Error::Driver(CudaError::Apart { .. })), "{after}");
    assert!(after.to_string().contains("another shape"), "{after}");
    assert!(matches!(scaler.state().unwrap_err(), Error::Driver(CudaError::Apart { .. })));
    // Each device by itself is well.
    cuda().synchronize()?;
    replicas.devices()[0].synchronize()?;
    Ok(())
}
