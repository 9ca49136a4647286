//! Averages over replicas: which device waits for which, and the memory after an average that fails.

use super::*;
use crate::testing::replicas;
use binade_core::{Named, ops::Upload};
use binade_grad_scaler::{GradScaler, ScaleState, ScaleStore};

/// Gradients, and the finding of `unscale` in them on each device.
fn gradients(replicas: &Replicas) -> Result<(JointGradients, Parts<Found>), Error> {
    let scale = replicas.upload_state(ScaleState::from_exponent(0))?;
    let one = |_, cuda: &Cuda| {
        let value = Some(cuda.upload(&[1.0; 300], &[300], DType::F16)?);
        Ok(Gradients::from(vec![Named::new("w", value)]))
    };
    let mut grads = JointGradients::from(replicas.each(one)?.0);
    let look = |place, cuda: &Cuda| cuda.unscale(grads.parts.on_mut(place)?, scale.on(place)?);
    let found = replicas.each(look)?;
    Ok((grads, found))
}

fn meetings(replicas: &Replicas) -> Vec<u64> {
    replicas.devices().iter().map(|cuda| cuda.counters().meetings).collect()
}

/// Waits of each device, counted: one that is left out shows on no device whose work is fast enough, and in no bits of the
/// interpreter's.
#[test]
fn each_device_waits_for_the_others_before_between_and_after() -> Result<(), Error> {
    let Some(replicas) = replicas() else { return Ok(()) };
    let (mut grads, found) = gradients(&replicas)?;
    replicas.average(&mut grads, &found)?;
    assert_eq!(meetings(&replicas), [3, 3]);
    Ok(())
}

#[test]
fn an_average_that_fails_in_the_middle_leaves_memory_behind_all_that_reads_it() -> Result<(), Error>
{
    let (Some(replicas), Some(others)) = (replicas(), replicas()) else { return Ok(()) };
    let ((mut grads, found), (_, foreign)) = (gradients(&replicas)?, gradients(&others)?);
    // The first device has taken the second's slice when it comes to a finding that is not its own.
    let found = Parts(vec![found.on(0)?.clone(), foreign.on(1)?.clone()]);
    let used = || replicas.devices().iter().map(|cuda| cuda.memory_use().bytes).collect::<Vec<_>>();
    let mut left = Vec::new();
    for number in 1..4 {
        assert_eq!(replicas.average(&mut grads, &found).err(), Some(Error::Foreign));
        assert_eq!(meetings(&replicas), [2 * number; 2], "before, and after what there was");
        left.push(used());
    }
    assert_eq!(left[1], left[2], "nothing is lost");
    assert!(!grads.is_joint);
    Ok(())
}

#[test]
fn what_no_device_can_be_told_to_wait_for_is_nobodys_again() -> Result<(), Error> {
    let Some(replicas) = replicas() else { return Ok(()) };
    let (_, found) = gradients(&replicas)?;
    let layout = Layout::of(vec![Some((DType::F32, vec![300]))]);
    let room = |_, cuda: &Cuda| {
        let like = Gradients::from(vec![Named::new("w", None)]);
        AverageBuffers::new(cuda, &layout, &like, 192, 2)
    };
    let cuda = &replicas.devices()[0];
    let before = cuda.memory_use().bytes;
    let rooms = replicas.each(room)?;
    let during = cuda.memory_use().bytes;
    let averaging = Average { replicas: &replicas, layout: Layout::of(vec![]), rooms };
    replicas.come_apart("for a test");
    averaging.abandon(&found);
    assert!(before < during && cuda.memory_use().bytes == during);
    Ok(())
}
