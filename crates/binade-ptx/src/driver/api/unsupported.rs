//! Functions that cudarc may call and that are not supported. A caller gets a code where a missing symbol would be a panic.

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
    };
}

unsupported! {
    cuMemAllocManaged cuMemAdvise_v2 cuMemPrefetchAsync_v2 cuStreamAttachMemAsync
    cuImportExternalMemory cuDestroyExternalMemory cuExternalMemoryGetMappedBuffer
    cuLaunchCooperativeKernel cuOccupancyMaxActiveClusters cuOccupancyMaxPotentialClusterSize
    cuProfilerStart cuProfilerStop
}
