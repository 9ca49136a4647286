//! Functions that exist and are not supported. A caller gets a code where a missing symbol would be a panic.

/// Defines functions that return `NotSupported`. In C's calling conventions the caller clears the arguments away, so a function
/// may leave all of them unread.
macro_rules! unsupported {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> std::ffi::c_int {
                $crate::driver::code::Code::NotSupported as std::ffi::c_int
            }
        )*
        pub(super) const SYMBOLS: &[(&str, *const ())] =
            &[$((stringify!($name), $name as *const ())),*];
    };
}

unsupported! {
    // Managed memory, memory of other processes, and pools shared among devices or processes.
    cuMemAllocManaged cuMemAdvise cuMemAdvise_v2 cuMemPrefetchAsync cuMemPrefetchAsync_v2
    cuStreamAttachMemAsync
    cuMemHostGetDevicePointer_v2 cuPointerGetAttributes cuPointerSetAttribute
    cuImportExternalMemory cuDestroyExternalMemory cuExternalMemoryGetMappedBuffer
    cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle
    cuMemPoolSetAccess cuMemPoolGetAccess cuMemPoolExportToShareableHandle
    cuMemPoolImportFromShareableHandle cuMemPoolExportPointer cuMemPoolImportPointer
    // Copies and fills of rectangles, and copies that find out by themselves what they are.
    cuMemcpy cuMemcpyAsync cuMemcpy2D_v2 cuMemcpy2DAsync_v2 cuMemcpy3D_v2 cuMemcpy3DAsync_v2
    cuMemsetD2D8_v2 cuMemsetD2D32_v2 cuMemsetD2D8Async cuMemsetD2D32Async
    // Blocks run one after another, so those of a grid cannot wait for each other.
    cuLaunchCooperativeKernel cuOccupancyMaxActiveClusters cuOccupancyMaxPotentialClusterSize
    // Modules other than PTX text.
    cuModuleLoadFatBinary cuLinkCreate_v2 cuLinkAddData_v2 cuLinkComplete cuLinkDestroy
    cuLibraryLoadData cuLibraryLoadFromFile cuLibraryUnload cuLibraryGetKernel
    cuLibraryGetModule cuKernelGetFunction cuFuncGetModule cuFuncGetName
    // Graphs made by hand, or looked into.
    cuGraphAddKernelNode_v2 cuGraphAddMemcpyNode cuGraphAddMemsetNode cuGraphAddHostNode
    cuGraphAddEmptyNode cuGraphAddEventRecordNode cuGraphAddEventWaitNode
    cuGraphAddMemAllocNode cuGraphAddMemFreeNode cuGraphAddChildGraphNode
    cuGraphGetRootNodes cuGraphGetEdges cuGraphExecUpdate_v2
    cuGraphInstantiateWithParams cuGraphExecKernelNodeSetParams_v2 cuGraphDebugDotPrint
    cuDeviceGraphMemTrim cuStreamBeginCaptureToGraph cuStreamUpdateCaptureDependencies_v2
    // Streams that wait for memory, and callbacks in an older form than host functions.
    cuStreamAddCallback cuStreamWaitValue32_v2 cuStreamWriteValue32_v2
    cuProfilerStart cuProfilerStop
}
