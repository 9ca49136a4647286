//! Functions of cuDNN that convolve images. Programs load that library by a name of its own.

use std::ffi::c_int;

use super::{
    abi::{In, Out},
    call::library_api,
};
use crate::driver::state::{DnnCall, DnnDescriptors, DnnStatus, DnnTensor, Handle, Moves, Pass};

/// Version that `cudnnGetVersion` returns: 9.21.0, for which cudarc has bindings.
const VERSION: usize = 92_100;

#[unsafe(no_mangle)]
extern "C" fn cudnnGetVersion() -> usize {
    VERSION
}

library_api! {
    [DnnStatus]

    fn cudnnCreate(driver, handle: Out<Handle>) {
        Ok(handle.set(driver.dnn_create()?)?)
    }

    fn cudnnDestroy(driver, handle: Handle) {
        driver.dnn_destroy(handle)
    }

    fn cudnnSetStream(driver, handle: Handle, stream: Handle) {
        driver.dnn_set_stream(handle, stream)
    }

    fn cudnnCreateTensorDescriptor(driver, tensor: Out<Handle>) {
        Ok(tensor.set(driver.dnn_create_tensor())?)
    }

    fn cudnnSetTensor4dDescriptor(
        driver,
        tensor: Handle,
        format: u32,
        kind: u32,
        n: c_int,
        c: c_int,
        h: c_int,
        w: c_int,
    ) {
        driver.dnn_set_tensor(tensor, DnnTensor::new(kind, format, [n, c, h, w]))
    }

    fn cudnnDestroyTensorDescriptor(driver, tensor: Handle) {
        driver.dnn_destroy_tensor(tensor)
    }

    fn cudnnCreateFilterDescriptor(driver, filter: Out<Handle>) {
        Ok(filter.set(driver.dnn_create_filter())?)
    }

    fn cudnnSetFilter4dDescriptor(
        driver,
        filter: Handle,
        kind: u32,
        format: u32,
        k: c_int,
        c: c_int,
        h: c_int,
        w: c_int,
    ) {
        driver.dnn_set_filter(filter, DnnTensor::new(kind, format, [k, c, h, w]))
    }

    fn cudnnDestroyFilterDescriptor(driver, filter: Handle) {
        driver.dnn_destroy_filter(filter)
    }

    fn cudnnCreateConvolutionDescriptor(driver, how: Out<Handle>) {
        Ok(how.set(driver.dnn_create_how())?)
    }

    fn cudnnSetConvolution2dDescriptor(
        driver,
        how: Handle,
        up: c_int,
        left: c_int,
        down: c_int,
        right: c_int,
        dilation_down: c_int,
        dilation_right: c_int,
        mode: u32,
        sums: u32,
    ) {
        let (padding, stride) = ([up, left], [down, right]);
        let dilation = [dilation_down, dilation_right];
        driver.dnn_how(how)?.set(Moves { padding, stride, dilation, mode, sums })
    }

    fn cudnnSetConvolutionMathType(driver, how: Handle, math: u32) {
        driver.dnn_how(how)?.set_math(math)
    }

    fn cudnnDestroyConvolutionDescriptor(driver, how: Handle) {
        driver.dnn_destroy_how(how)
    }

    fn cudnnGetConvolutionForwardWorkspaceSize(
        driver,
        handle: Handle,
        x: Handle,
        w: Handle,
        how: Handle,
        y: Handle,
        algorithm: u32,
        bytes: Out<usize>,
    ) {
        let of = DnnDescriptors { pass: Pass::Forward, handle, x, w, y, how, algorithm };
        Ok(bytes.set(driver.dnn_workspace(of)?)?)
    }

    fn cudnnGetConvolutionBackwardDataWorkspaceSize(
        driver,
        handle: Handle,
        w: Handle,
        y: Handle,
        how: Handle,
        x: Handle,
        algorithm: u32,
        bytes: Out<usize>,
    ) {
        let of = DnnDescriptors { pass: Pass::Data, handle, x, w, y, how, algorithm };
        Ok(bytes.set(driver.dnn_workspace(of)?)?)
    }

    fn cudnnGetConvolutionBackwardFilterWorkspaceSize(
        driver,
        handle: Handle,
        x: Handle,
        y: Handle,
        how: Handle,
        w: Handle,
        algorithm: u32,
        bytes: Out<usize>,
    ) {
        let of = DnnDescriptors { pass: Pass::Filter, handle, x, w, y, how, algorithm };
        Ok(bytes.set(driver.dnn_workspace(of)?)?)
    }

    fn cudnnConvolutionForward(
        driver,
        handle: Handle,
        alpha: In<f32>,
        of_x: Handle,
        x: u64,
        of_w: Handle,
        w: u64,
        how: Handle,
        algorithm: u32,
        workspace: u64,
        workspace_bytes: usize,
        beta: In<f32>,
        of_y: Handle,
        y: u64,
    ) {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        let (pass, x_, w_, y_) = (Pass::Forward, of_x, of_w, of_y);
        let of = DnnDescriptors { pass, handle, x: x_, w: w_, y: y_, how, algorithm };
        driver.dnn_convolve(of, DnnCall { alpha, beta, x, w, y, workspace, workspace_bytes })
    }

    fn cudnnConvolutionBackwardData(
        driver,
        handle: Handle,
        alpha: In<f32>,
        of_w: Handle,
        w: u64,
        of_y: Handle,
        y: u64,
        how: Handle,
        algorithm: u32,
        workspace: u64,
        workspace_bytes: usize,
        beta: In<f32>,
        of_x: Handle,
        x: u64,
    ) {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        let (pass, x_, w_, y_) = (Pass::Data, of_x, of_w, of_y);
        let of = DnnDescriptors { pass, handle, x: x_, w: w_, y: y_, how, algorithm };
        driver.dnn_convolve(of, DnnCall { alpha, beta, x, w, y, workspace, workspace_bytes })
    }

    fn cudnnConvolutionBackwardFilter(
        driver,
        handle: Handle,
        alpha: In<f32>,
        of_x: Handle,
        x: u64,
        of_y: Handle,
        y: u64,
        how: Handle,
        algorithm: u32,
        workspace: u64,
        workspace_bytes: usize,
        beta: In<f32>,
        of_w: Handle,
        w: u64,
    ) {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        let (pass, x_, w_, y_) = (Pass::Filter, of_x, of_w, of_y);
        let of = DnnDescriptors { pass, handle, x: x_, w: w_, y: y_, how, algorithm };
        driver.dnn_convolve(of, DnnCall { alpha, beta, x, w, y, workspace, workspace_bytes })
    }
}
