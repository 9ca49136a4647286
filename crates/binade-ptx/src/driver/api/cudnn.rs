//! Functions of cuDNN that convolve images. Programs load that library by its own name.

use std::ffi::c_int;

use super::{
    abi::{In, Out},
    call::library_api,
};
use crate::driver::state::{
    ConvolutionSettings, DnnCall, DnnDescriptors, DnnStatus, DnnTensor, Handle, Pass,
};

/// Returns version 9.21.0, for which cudarc has bindings.
#[unsafe(no_mangle)]
extern "C" fn cudnnGetVersion() -> usize {
    92_100
}

library_api! {
    [DnnStatus]
    fn cudnnCreate(driver, handle: Out<Handle>) = handle.set(driver.dnn_create()?);
    fn cudnnDestroy(driver, handle: Handle) = driver.dnn.handles.delete(handle);
    fn cudnnSetStream(driver, handle: Handle, stream: Handle) = driver.dnn_set_stream(handle, stream);
    fn cudnnCreateTensorDescriptor(driver, tensor: Out<Handle>) = tensor.set(driver.dnn.tensors.insert(None));
    fn cudnnSetTensor4dDescriptor(
        driver, tensor: Handle, format: u32, kind: u32, n: c_int, c: c_int, h: c_int, w: c_int,
    ) = driver.dnn.tensors.set(tensor, Some(DnnTensor::new(kind, format, [n, c, h, w])?));
    fn cudnnDestroyTensorDescriptor(driver, tensor: Handle) = driver.dnn.tensors.delete(tensor);
    fn cudnnCreateFilterDescriptor(driver, filter: Out<Handle>) = filter.set(driver.dnn.filters.insert(None));
    fn cudnnSetFilter4dDescriptor(
        driver, filter: Handle, kind: u32, format: u32, k: c_int, c: c_int, h: c_int, w: c_int,
    ) = driver.dnn.filters.set(filter, Some(DnnTensor::new(kind, format, [k, c, h, w])?));
    fn cudnnDestroyFilterDescriptor(driver, filter: Handle) = driver.dnn.filters.delete(filter);
    fn cudnnCreateConvolutionDescriptor(driver, settings: Out<Handle>) = settings.set(driver.dnn.convolutions.insert(ConvolutionSettings::default()));
    fn cudnnSetConvolution2dDescriptor(
        driver, settings: Handle, up: c_int, left: c_int, down: c_int, right: c_int, dilation_down: c_int, dilation_right: c_int,
        mode: u32, sums: u32,
    ) = {
        driver.dnn.convolutions.get_mut(settings)?.set([[up, left], [down, right], [dilation_down, dilation_right]], mode, sums)
    };
    fn cudnnSetConvolutionGroupCount(driver, settings: Handle, groups: c_int) = driver.dnn.convolutions.get_mut(settings)?.set_groups(groups);
    fn cudnnSetConvolutionMathType(driver, settings: Handle, math: u32) = driver.dnn.convolutions.get_mut(settings)?.set_math(math);
    fn cudnnDestroyConvolutionDescriptor(driver, settings: Handle) = driver.dnn.convolutions.delete(settings);

    fn cudnnGetConvolutionForwardWorkspaceSize(
        driver, handle: Handle, x: Handle, w: Handle, settings: Handle, y: Handle, algorithm: u32, bytes: Out<usize>,
    ) = bytes.set(driver.dnn_workspace(DnnDescriptors { pass: Pass::Forward, handle, x, w, y, settings, algorithm })?);
    fn cudnnGetConvolutionBackwardDataWorkspaceSize(
        driver, handle: Handle, w: Handle, y: Handle, settings: Handle, x: Handle, algorithm: u32, bytes: Out<usize>,
    ) = bytes.set(driver.dnn_workspace(DnnDescriptors { pass: Pass::Data, handle, x, w, y, settings, algorithm })?);
    fn cudnnGetConvolutionBackwardFilterWorkspaceSize(
        driver, handle: Handle, x: Handle, y: Handle, settings: Handle, w: Handle, algorithm: u32, bytes: Out<usize>,
    ) = bytes.set(driver.dnn_workspace(DnnDescriptors { pass: Pass::Filter, handle, x, w, y, settings, algorithm })?);

    fn cudnnConvolutionForward(
        driver, handle: Handle, alpha: In<f32>, of_x: Handle, x: u64, of_w: Handle, w: u64, settings: Handle, algorithm: u32,
        workspace: u64, workspace_bytes: usize, beta: In<f32>, of_y: Handle, y: u64,
    ) = {
        let of = DnnDescriptors { pass: Pass::Forward, handle, x: of_x, w: of_w, y: of_y, settings, algorithm };
        driver.dnn_convolve(of, DnnCall { alpha: alpha.get()?, beta: beta.get()?, x, w, y, workspace, workspace_bytes })
    };
    fn cudnnConvolutionBackwardData(
        driver, handle: Handle, alpha: In<f32>, of_w: Handle, w: u64, of_y: Handle, y: u64, settings: Handle, algorithm: u32,
        workspace: u64, workspace_bytes: usize, beta: In<f32>, of_x: Handle, x: u64,
    ) = {
        let of = DnnDescriptors { pass: Pass::Data, handle, x: of_x, w: of_w, y: of_y, settings, algorithm };
        driver.dnn_convolve(of, DnnCall { alpha: alpha.get()?, beta: beta.get()?, x, w, y, workspace, workspace_bytes })
    };
    fn cudnnConvolutionBackwardFilter(
        driver, handle: Handle, alpha: In<f32>, of_x: Handle, x: u64, of_y: Handle, y: u64, settings: Handle, algorithm: u32,
        workspace: u64, workspace_bytes: usize, beta: In<f32>, of_w: Handle, w: u64,
    ) = {
        let of = DnnDescriptors { pass: Pass::Filter, handle, x: of_x, w: of_w, y: of_y, settings, algorithm };
        driver.dnn_convolve(of, DnnCall { alpha: alpha.get()?, beta: beta.get()?, x, w, y, workspace, workspace_bytes })
    };
}
