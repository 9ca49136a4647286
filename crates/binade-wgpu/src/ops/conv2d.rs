//! Two-dimensional convolution: windows of images as the columns of a matrix, then a matrix product.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::operands::by_group;
use crate::{
    Result, Tensor, Wgpu,
    dispatch::structs::{self, code, count},
};
use binade_core::DType;
use binade_gpu::{Conv2dKernels, Driver, Gemm, Geometry, Layer, Matrices};

impl Conv2dKernels for Wgpu {
    const TAKES_CHANNELS_LAST: bool = false;

    fn launch_conv2d(
        &self,
        x: [&Tensor; 2],
        bias: Option<&Tensor>,
        layer: &Layer,
    ) -> Result<Tensor> {
        let [input, weight] = x;
        let result = self.unset(input.dtype(), &layer.shape())?;
        let ([m, k], groups) = (layer.product(), layer.of.config.groups);
        let (windows, batch) = (layer.of.windows(), layer.of.images);
        let columns = self.columns(input, &layer.of)?;
        let b = Matrices { row: batch * windows, ..Matrices::dense(&columns, 1, windows) };
        let c = Matrices::dense(&result, layer.outputs, windows);
        let group_steps = [m * k, k * batch * windows, m * windows];
        let gemm = Gemm::of(layer.weight(weight), b, c, [m, windows, k]);
        self.gemm(&Gemm { batch, groups, group_steps, ..gemm }, bias)?;
        Ok(result)
    }

    fn launch_conv2d_backward(
        &self,
        [grad, input, weight]: [&Tensor; 3],
        layer: &Layer,
        of_input: Option<&Tensor>,
        of_weight: &Tensor,
    ) -> Result {
        if let Some(to) = of_input {
            self.conv2d_input(grad, weight, layer, to)?;
        }
        self.conv2d_weight(grad, input, layer, of_weight)
    }
}

impl Wgpu {
    /// Computes `Wᵀ·grad`, in f32 until each pixel has been summed up.
    fn conv2d_input(&self, grad: &Tensor, weight: &Tensor, layer: &Layer, to: &Tensor) -> Result {
        let ([m, k], groups) = (layer.product(), layer.of.config.groups);
        let (windows, batch) = (layer.of.windows(), layer.of.images);
        let columns = self.unset(DType::F32, &[layer.of.taps(), batch * windows])?;
        let a = layer.weight(weight).transposed();
        let b = Matrices::dense(grad, layer.outputs, windows);
        let c = Matrices { row: batch * windows, ..Matrices::dense(&columns, 1, windows) };
        let group_steps = [m * k, m * windows, k * batch * windows];
        let gemm = Gemm::of(a, b, c, [k, windows, m]);
        self.gemm(&Gemm { batch, groups, group_steps, ..gemm }, None)?;
        self.move_windows("conv2d_pixels", &columns, &layer.of, to)
    }

    /// Computes `Σ grad·columnsᵀ` over the images.
    fn conv2d_weight(&self, grad: &Tensor, input: &Tensor, layer: &Layer, to: &Tensor) -> Result {
        let ([m, k], groups) = (layer.product(), layer.of.config.groups);
        let windows = layer.of.windows();
        let all = layer.of.images * windows;
        let columns = self.columns(input, &layer.of)?;
        let of_grad = Geometry::of_pixels(layer.of.images, layer.outputs, windows);
        let by_output = self.columns(grad, &of_grad)?;
        let a = Matrices::dense(&by_output, layer.outputs, all);
        let b = Matrices::dense(&columns, layer.of.taps(), all).transposed();
        let c = Matrices::dense(to, layer.outputs, k);
        let group_steps = [m * all, k * all, m * k];
        let gemm = Gemm::of(a, b, c, [m, k, all]);
        self.gemm(&Gemm { groups, group_steps, ..gemm }, None)
    }

    /// Returns the windows of images as `[taps, images · windows]`.
    fn columns(&self, input: &Tensor, of: &Geometry) -> Result<Tensor> {
        let result = self.unset(input.dtype(), &[of.taps(), of.images * of.windows()])?;
        self.move_windows("conv2d_columns", input, of, &result)?;
        Ok(result)
    }

    /// Moves pixels to the windows that contain them, or sums them up from there.
    fn move_windows(
        &self,
        shader: &'static str,
        from: &Tensor,
        of: &Geometry,
        to: &Tensor,
    ) -> Result {
        if to.is_empty() {
            return Ok(());
        }
        let ((input, start), (output, _)) = (self.whole(from)?, self.whole(to)?);
        let params = structs::Convolution {
            len: count(to.len()),
            dtype: code("conv2d", from.dtype())?,
            starts: [start, 0],
            to: code("conv2d", to.dtype())?,
            images: count(of.images),
            channels: count(of.channels),
            image: of.image.map(count),
            kernel: of.kernel.map(count),
            output: of.output.map(count),
            stride: of.config.stride.map(count),
            padding: of.config.padding.map(count),
            dilation: of.config.dilation.map(count),
        };
        self.dispatch(shader, &params, vec![input, output], by_group(to.len()))
    }
}
