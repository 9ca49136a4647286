//! Sets of tensors: launches and waiting. The kit holds the values.

use crate::support::{Device as _, Result, named, noise, own, vector};
use binade_core::{DType, Error as _, ErrorKind, GradSet as _, MultiTensor as _, Named, Norm};
use binade_cuda::{Cuda, Tensor};

crate::tests![
    each_call_is_one_launch_over_1000_tensors_and_reads_nothing,
    other_handles_tensors_and_types_without_arithmetic_are_refused,
    a_norm_of_one_long_tensor_is_that_of_all,
];

/// Returns 1,000 small tensors of three types.
fn set_of_1000(cuda: &Cuda, seed: u64) -> Vec<Named<Tensor>> {
    let types = [DType::BF16, DType::F16, DType::F32].into_iter().cycle();
    let one = |(place, dtype): (u64, DType)| {
        let values = noise(seed + place, (place % 50) as usize);
        Named::new(format!("w{place}"), vector(cuda, &values, dtype))
    };
    (0..1000).zip(types).map(one).collect()
}

fn each_call_is_one_launch_over_1000_tensors_and_reads_nothing() -> Result {
    let cuda = own();
    let (x, y) = (set_of_1000(&cuda, 1), set_of_1000(&cuda, 2));
    let launches = |call: &dyn Fn() -> std::result::Result<(), binade_cuda::Error>| {
        let before = cuda.counters();
        call()?;
        let after = cuda.counters();
        Ok::<_, binade_cuda::Error>([after.launches - before.launches, after.syncs - before.syncs])
    };
    assert_eq!(launches(&|| cuda.scale_all(0.5, &x).map(drop))?, [1, 0]);
    assert_eq!(launches(&|| cuda.axpby((0.5, &x), (2.0, &y)).map(drop))?, [1, 0]);
    assert_eq!(launches(&|| cuda.norms(&x, Norm::L2).map(drop))?, [1, 0]);
    assert_eq!(launches(&|| cuda.norms(&x, Norm::Infinity).map(drop))?, [1, 0]);
    assert_eq!(launches(&|| cuda.cast_all(&x, &[DType::F16; 1000]).map(drop))?, [1, 0]);
    let (mut to, finding) = cuda.scale_all(1.0, &x)?;
    // One that assigns, and one that marks what has begun.
    let before = cuda.counters();
    cuda.assign(&mut to, &y, &finding)?;
    let after = cuda.counters();
    assert_eq!([after.launches - before.launches, after.syncs - before.syncs], [2, 0]);
    assert!(!cuda.is_raised(&finding)?);
    Ok(())
}

fn other_handles_tensors_and_types_without_arithmetic_are_refused() -> Result {
    let (cuda, other) = (own(), own());
    let near = named(&[vector(&cuda, &[1.0], DType::F32)]);
    let far = named(&[vector(&other, &[1.0], DType::F32)]);
    let finding = cuda.scale_all(1.0, &near)?.1;
    let foreign = [
        cuda.scale_all(1.0, &far).map(drop),
        cuda.axpby((1.0, &near), (1.0, &far)).map(drop),
        cuda.axpby((1.0, &far), (1.0, &near)).map(drop),
        cuda.norms(&far, Norm::L2).map(drop),
        cuda.cast_all(&far, &[DType::F16]).map(drop),
        cuda.assign(&mut near.clone(), &far, &finding),
        cuda.assign(&mut near.clone(), &near, &other.scale_all(1.0, &far)?.1),
    ];
    for (number, refused) in foreign.into_iter().enumerate() {
        assert_eq!(refused, Err(binade_cuda::Error::Foreign), "{number}");
    }
    let eight = cuda.cast_all(&near, &[DType::E4M3])?;
    let kinds = [
        cuda.scale_all(1.0, &eight).map(drop),
        cuda.axpby((1.0, &near), (1.0, &eight)).map(drop),
        cuda.assign(&mut near.clone(), &eight, &finding),
        cuda.assign(&mut eight.clone(), &near, &finding),
    ];
    for refused in kinds {
        assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::Unsupported));
    }
    Ok(())
}

fn a_norm_of_one_long_tensor_is_that_of_all() -> Result {
    let cuda = own();
    let tensors = named(&[vector(&cuda, &noise(5, 8192 * 21 + 5), DType::F16)]);
    for norm in [Norm::L2, Norm::Infinity] {
        let norms = cuda.norms(&tensors, norm)?;
        assert_eq!(cuda.bits(&norms.each[0].value), cuda.bits(&norms.all), "{norm:?}");
    }
    Ok(())
}
