//! Weights that another program has trained, such as torchvision's.

use crate::Result;
use crate::model::Net;
use binade::core::{DType, Named, RawTensor};
use binade_checkpoint::read_safetensors;
use binade_example_shared::program::Trains;
use std::path::Path;

/// Replaces parameters and running statistics by those of a safetensors file, which has them by torchvision's names.
pub(crate) fn load<D: Trains>(
    file: &Path,
    device: &D,
    net: &mut Net<D>,
    params: &mut [Named<D::Tensor>],
) -> Result<()> {
    replace(file, device, net, params)
        .map_err(|why| format!("--pretrained {}: {why}", file.display()).into())
}

fn replace<D: Trains>(
    file: &Path,
    device: &D,
    net: &mut Net<D>,
    params: &mut [Named<D::Tensor>],
) -> Result<()> {
    let saved = read_safetensors(&std::fs::read(file)?)?;
    for (param, (name, shape)) in params.iter_mut().zip(net.resnet.shapes()) {
        let there = saved.get(name).ok_or_else(|| format!("it has no `{name}`"))?;
        let values = there.to_f32().filter(|_| there.spec().shape == shape).ok_or_else(|| {
            let spec = there.spec();
            format!("its `{name}` is {spec}, and this model's is {shape:?}; is it another model, or of other classes?")
        })?;
        param.value = device.upload(&values, shape, DType::F32)?;
    }
    let running = |name: &str| saved.get(name).and_then(RawTensor::to_f32);
    match net.set_running(device, running)? {
        Some(name) => Err(format!("it has no `{name}`").into()),
        None => Ok(()),
    }
}
