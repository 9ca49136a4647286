//! Batch normalisation: its running statistics are buffers, in `f32` and without a gradient, beside parameters in sixteen bits.

use crate::{Result, values};
use binade::core::Error as _;
use binade::prelude::*;
use binade_candle::{
    Candle, RUNNING_STATS, backward, casting_var_builder, ops, params, set_map, split_buffers,
    var_builder,
};
use candle_core::{DType as Type, Device, Result as CandleResult, Tensor};
use candle_nn::{BatchNorm, Linear, Module, ModuleT, VarBuilder, VarMap};

const LOW: [(Type, DType); 2] = [(Type::BF16, DType::BF16), (Type::F16, DType::F16)];

/// Two layers and candle's own batch normalisation between them.
struct Net {
    first: Linear,
    norm: BatchNorm,
    last: Linear,
}

impl Net {
    /// Makes the layers; `norm` builds the normalisation, which may be in another type.
    fn new(vb: &VarBuilder<'_>, norm: &VarBuilder<'_>) -> CandleResult<Self> {
        Ok(Self {
            first: candle_nn::linear(3, 8, vb.pp("first"))?,
            norm: candle_nn::batch_norm(8, 1e-5, norm.pp("norm"))?,
            last: candle_nn::linear(8, 1, vb.pp("last"))?,
        })
    }

    /// Mean squared error on 64 points, the normalisation computed in `norm`.
    fn loss(&self, norm: Type, train: bool) -> CandleResult<Tensor> {
        let dtype = self.first.weight().dtype();
        let rows = (0..64_u8).flat_map(|i| {
            let t = f32::from(i) / 32.0 - 1.0;
            [t, t * t, (5.0 * t).sin()]
        });
        let x = Tensor::from_iter(rows, &Device::Cpu)?.reshape((64, 3))?;
        let y = (x.narrow(1, 0, 1)?.sqr()? + x.narrow(1, 2, 1)?)?;
        let hidden = self.first.forward(&x.to_dtype(dtype)?)?.to_dtype(norm)?;
        let hidden = self.norm.forward_t(&hidden, train)?.to_dtype(dtype)?;
        let output = self.last.forward(&hidden.tanh()?)?.to_dtype(Type::F32)?;
        candle_nn::loss::mse(&output, &y)
    }
}

/// Map with the parameters and running statistics of a [`Net`].
fn map() -> Result<VarMap> {
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, Type::F32, &Device::Cpu);
    Net::new(&vb, &vb)?;
    // candle draws them from a generator without a seed.
    let vars = map.data().lock().map_err(|error| error.to_string())?;
    for (name, scale) in
        [("first.weight", 1.0), ("first.bias", 0.25), ("last.weight", 0.5), ("last.bias", 0.0)]
    {
        let var = &vars[name];
        let count = u8::try_from(var.elem_count())?;
        let values = (1..=count).map(|i| scale * (f32::from(i) * 2.4).sin());
        var.set(&Tensor::from_iter(values, &Device::Cpu)?.reshape(var.shape())?)?;
    }
    drop(vars);
    Ok(map)
}

/// Runs 150 steps, none of whose reports may name a missing gradient; returns the first loss and the last.
fn train(
    amp: &mut Amp<Candle>,
    mut loss: impl FnMut() -> CandleResult<Tensor>,
) -> Result<[f32; 2]> {
    let mut losses = Vec::new();
    for _ in 0..150 {
        let loss = loss()?;
        losses.push(loss.to_scalar::<f32>()?);
        let params = &amp.optimizer.params;
        let grads = amp.scaler.scale(&loss)?.backward(|loss| backward(loss, params))?;
        let step = grads.unscale()?.step(&mut amp.optimizer)?;
        let step = amp.scaler.update(step)?.resolve()?;
        assert_eq!(step.report().missing().count(), 0, "{}", step.report());
    }
    Ok([losses[0], losses[149]])
}

fn moved(buffers: &[Named<Tensor>]) -> Result {
    for (buffer, start) in buffers.iter().zip([0.0, 1.0]) {
        let now = values(&buffer.value)?;
        assert_eq!(buffer.value.dtype(), Type::F32);
        assert!(now.iter().all(|x| x.is_finite() && *x != start), "{now:?}");
    }
    Ok(())
}

#[test]
fn candles_own_layer_trains_in_half_beside_its_buffers_and_is_evaluated_in_f32() -> Result {
    for (low, dtype) in LOW {
        let map = map()?;
        let [trained, buffers] = split_buffers(params(&map), &RUNNING_STATS)?;
        let (model, rule) = (Model::new(trained), UpdateRule::adam(0.01));
        let mut amp = initialize(Candle, model, rule, OptLevel::O2.with(dtype))?;
        let vb = var_builder(amp.optimizer.params.iter().chain(&buffers));
        let net = Net::new(&vb, &vb)?;
        let [first, last] = train(&mut amp, || net.loss(low, true))?;
        assert!(last < first / 20.0, "{dtype}: {first} to {last}");
        moved(&buffers)?;
        assert!(
            net.loss(low, false).is_err(),
            "candle evaluates in half now: say so in the README"
        );

        set_map(&map, &amp.optimizer.export_f32()?)?;
        let vb = VarBuilder::from_varmap(&map, Type::F32, &Device::Cpu);
        let evaluated = Net::new(&vb, &vb)?.loss(Type::F32, false)?.to_scalar::<f32>()?;
        assert!(evaluated < first / 20.0, "{dtype}: {evaluated}");
    }
    Ok(())
}

#[test]
fn a_view_of_each_pass_leaves_the_normalisation_in_f32_by_its_builder() -> Result {
    for (low, dtype) in LOW {
        let map = map()?;
        let [trained, buffers] = split_buffers(params(&map), &RUNNING_STATS)?;
        let (model, rule) = (Model::new(trained), UpdateRule::adam(0.01));
        let mut amp = initialize(Candle, model, rule, OptLevel::O1.with(dtype))?;
        let vb = casting_var_builder(&map, low, &Device::Cpu);
        let wide = vb.clone().set_dtype(Type::F32);
        let [first, last] = train(&mut amp, || Net::new(&vb, &wide)?.loss(Type::F32, true))?;
        assert!(last < first / 20.0, "{dtype}: {first} to {last}");
        moved(&buffers)?;
        let evaluated = Net::new(&vb, &wide)?.loss(Type::F32, false)?.to_scalar::<f32>()?;
        assert!(evaluated < first / 20.0, "{dtype}: {evaluated}");
    }
    Ok(())
}

#[test]
fn a_buffer_that_is_not_there_or_not_in_f32_is_refused_by_name() -> Result {
    let map = map()?;
    let typo = split_buffers(params(&map), &["running_mean", "running_varr"]);
    let typo = typo.err().ok_or("it was taken")?;
    assert!(typo.to_string().starts_with("`running_varr`: no parameter has that name"), "{typo}");
    // Only whole parts of a name count: `running_mean` ends with `mean`.
    let part = split_buffers(params(&map), &["mean"]).err().ok_or("it was taken")?;
    assert_eq!(part.kind(), ErrorKind::Mismatch);

    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, Type::F16, &Device::Cpu);
    candle_nn::batch_norm(2, 1e-5, vb.pp("norm"))?;
    let low = split_buffers(params(&map), &RUNNING_STATS).err().ok_or("it was taken")?;
    assert!(low.to_string().starts_with("`norm.running_mean`: it is a buffer"), "{low}");
    Ok(())
}

#[test]
fn running_statistics_that_could_not_be_set_are_refused() -> Result {
    let ones = |shape: &[usize]| Tensor::ones(shape, Type::F32, &Device::Cpu);
    let (x, row) = (ones(&[4, 3])?, ones(&[3])?);
    let region = Region::f16().off();
    let scope = region.open(&Candle);
    let error = ops::batch_norm(&scope, "", [&x, &row, &row], [&row, &row], 0.1, 1e-5);
    let error = error.err().ok_or("it was taken")?;
    assert!(error.to_string().starts_with("`running_mean` is a tensor and no `Var`"), "{error}");
    assert!(ops::batch_norm_inference(&scope, "", [&x, &row, &row], [&row, &row], 1e-5).is_ok());
    Ok(())
}
