//! A custom tensor on ranks, with its three methods and one more.

use crate::common::each;
use crate::frameworks::{Failed, Framework, LIMIT, Rank, Shard, framework_tests};
use binade_core::{
    AmpTensor, DType, Error as _, ErrorKind, FoundInf, HostDevice, HostTensor, HostTypeError,
    Named, NamedGrads, Optimizer,
};
use binade_grad_scaler::{Scaler, Step};
use binade_ranks::{Group, RankOptimizer, Ranks, RanksError};

type Device = HostDevice<HostTensor>;
type Error = <Device as binade_core::Handle>::Error;

/// Weights and bias that are stored in `f32`, whose gradients are of another type.
struct Own {
    params: Vec<Named<HostTensor>>,
    dtype: DType,
}

impl Framework for Own {
    type Device = Device;

    fn device() -> Device {
        Device::new()
    }

    fn new(weights: &[f32], bias: f32, dtype: DType) -> Self {
        let param = |name: &str, values: &[f32]| Named::new(name, values.to_vec().into());
        Self { params: vec![param("w", weights), param("b", &[bias])], dtype }
    }

    fn broadcast(&mut self, rank: &Rank<Self>) -> Result<(), Failed<Self>> {
        rank.broadcast(&mut self.params)
    }

    fn check_equal(&self, rank: &Rank<Self>) -> Result<(), Failed<Self>> {
        rank.check_equal(&self.params)
    }

    fn step(
        &mut self,
        scaler: &mut Scaler<Rank<Self>>,
        shards: &[Shard],
    ) -> Result<Step, Failed<Self>> {
        let grad = |values: Vec<f32>| HostTensor::from(values).cast(self.dtype);
        // The gradient of each loss with respect to itself is 1.
        let losses = vec![HostTensor::from(vec![1.0_f32]); shards.len()];
        let grads = scaler.scale(&losses)?.backward(|scaled| {
            let set = |(scaled, shard): (&HostTensor, &Shard)| -> Result<_, Error> {
                let scale = scaled.to_f32()[0];
                let slopes = grad(shard.slopes.iter().map(|slope| slope * scale).collect())?;
                let bias = shard.has_bias.then(|| grad(vec![2.0 * scale])).transpose()?;
                Ok(vec![Named::new("w", Some(slopes)), Named::new("b", bias)])
            };
            scaled.iter().zip(shards).map(|of| Ok(set(of)?)).collect()
        })?;
        let step = grads.unscale()?.clip_norm(LIMIT)?.step(&mut RankOptimizer(self))?;
        scaler.update(step)?.resolve()
    }

    fn values(&self) -> Vec<f32> {
        self.params.iter().flat_map(|param| param.value.to_f32()).collect()
    }
}

/// Gradient descent at a rate of 1.
impl Optimizer<NamedGrads<HostTensor>, FoundInf> for Own {
    type Error = Error;

    fn step(&mut self, grads: NamedGrads<HostTensor>, found: &FoundInf) -> Result<(), Error> {
        for (param, grad) in self.params.iter_mut().zip(grads).filter(|_| !found.is_raised()) {
            let grad = grad.value.map_or_else(Vec::new, |grad| grad.to_f32());
            param.value.map_f32(&mut |index, x| x - grad.get(index).copied().unwrap_or_default());
        }
        Ok(())
    }
}

framework_tests!(Own);

/// Values of an average, or of a rank's own gradients.
fn values(grads: &NamedGrads<HostTensor>) -> Vec<Option<Vec<f32>>> {
    grads.iter().map(|grad| grad.value.as_ref().map(HostTensor::to_f32)).collect()
}

#[test]
fn a_loop_without_a_scaler_averages_its_gradients_in_place() {
    for grads in each(3, |group| {
        let own = [1.0_f32, 2.0, 6.0][group.rank()];
        let rank = Ranks::new(Device::new(), group);
        let grad = HostTensor::from(vec![own, -own]).cast(DType::BF16).unwrap();
        let only = (own > 1.0).then(|| HostTensor::from(vec![own]));
        let mut grads = vec![Named::new("w", Some(grad)), Named::new("b", only)];
        let found = rank.average(&mut grads).unwrap();
        assert!(!found.is_raised());
        assert_eq!(found.missing, ["b".into()]);
        grads
    }) {
        assert_eq!(values(&grads), [Some(vec![3.0, -3.0]), Some(vec![8.0 / 3.0])]);
    }
}

#[test]
fn what_is_not_finite_is_found_by_rank_and_leaves_each_rank_its_own() {
    let ran = each(3, |group| {
        let own = [1.0_f32, f32::NAN, f32::INFINITY][group.rank()];
        let rank = Ranks::new(Device::new(), group);
        let mut grads = vec![Named::new("w", Some(HostTensor::from(vec![5.0, own])))];
        let overflow = rank.average(&mut grads).unwrap().overflow.unwrap();
        assert_eq!((overflow.rank, &*overflow.parameter, overflow.index), (Some(1), "w", 1));
        (own, grads)
    });
    for (own, grads) in ran {
        assert_eq!(format!("{:?}", values(&grads)), format!("{:?}", [Some(vec![5.0, own])]));
    }
}

/// Tensor with only the three methods.
#[derive(Clone, Debug)]
struct Plain(Vec<f32>);

impl AmpTensor for Plain {
    type Error = HostTypeError;

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn cast(&self, to: DType) -> Result<Self, HostTypeError> {
        if to == DType::F32 { Ok(self.clone()) } else { Err(HostTypeError(to)) }
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        self.0.iter_mut().enumerate().for_each(|(index, x)| *x = f(index, *x));
    }
}

#[test]
fn a_tensor_of_three_methods_begins_alike_and_the_fourth_is_named_where_it_is_taken() {
    for (params, error) in each(2, |group| {
        let own = f32::from(u8::try_from(group.rank()).unwrap());
        let rank = Ranks::new(HostDevice::<Plain>::new(), group);
        let mut params = vec![Named::new("w", Plain(vec![1.0 + own, 2.0 * own]))];
        rank.broadcast(&mut params).unwrap();
        let mut grads = vec![Named::new("w", Some(Plain(vec![own])))];
        (params, rank.average(&mut grads).unwrap_err())
    }) {
        assert_eq!(params[0].value.0, [1.0, 0.0]);
        assert!(matches!(error, RanksError::Device(_)));
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("`AmpTensor::from_f32`"), "{error}");
    }
}
