//! Layouts that host and kernels share.

/// Declares structures as kernels have them, each field by its type, and asserts their sizes in bytes where they are given.
#[macro_export]
macro_rules! layouts {
    ($(
        $(#[$doc:meta])+
        $name:ident $(($bytes:literal))? { $($type:ty: $($field:ident),+;)+ }
    )+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        pub(crate) struct $name {
            $($(pub(crate) $field: $type,)+)+
        }

        $(const _: () = assert!(size_of::<$name>() == $bytes);)?
    )+};
}
