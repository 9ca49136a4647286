//! A wrapper of any device that counts calls, reports where the host reads, and refuses reads outside of windows.
//!
//! On a GPU a call returns before its work is done, and a host that reads a value waits for it. A training step without reads keeps the device busy.
//! A CPU does not show such reads; [`Counting`] shows them on any device.

/// Forwards methods to the device, each as a `launch`, or as a `look` if it reads. An argument that the device takes in another form is followed by
/// that form: `found: &Self::Found => &found.0`.
macro_rules! forward {
    ($($kind:ident $method:ident($($given:ident: $of:ty $(=> $inner:expr)?),*) -> $gives:ty;)*) => {$(
        #[track_caller]
        fn $method(&self, $($given: $of),*) -> Result<$gives, Self::Error> {
            $($(let $given = $inner;)?)*
            self.$kind(stringify!($method), |device| device.$method($($given),*))
        }
    )*};
}

mod calls;
mod error;
mod masters;
mod multi_tensor;
mod ops;
mod scaler;

pub use calls::{Calls, Window};
pub use error::CountingError;
pub use scaler::Counted;

use binade_core::Handle;
use calls::Tally;
use std::{fmt, panic::Location, sync::Arc};

/// Device that forwards every call to another device and counts it.
///
/// It implements each trait of training and of operations that `D` implements, on the same tensors, parameters, gradients, masters and scale. A clone
/// shares its counts with the original.
///
/// `download`, `is_raised`, `read`, `save_grads`, `save_rows`, `save`, `load` and `export_f32` read. A [`strict`](Self::strict) device refuses them
/// outside a [`window`](Self::window), except `read`, which resolves an outcome. Calls that need the host only, such as `shape` and `specs`, are not
/// counted.
///
/// A loss must implement [`Loss`](binade_grad_scaler::Loss) for the wrapper. A tensor, such as that of `binade-cpu`, implements it for every device
/// with the same scale, and gets its own device by [`AsRef`]:
/// `impl<D> Loss<D> for MyTensor where D: ScaleStore<Scale = MyScale, Error: From<MyError>> + AsRef<MyDevice>`. [`Counted`] implements it for any
/// other loss.
///
/// # Examples
///
/// ```
/// use binade_conformance::counting::Counting;
/// use binade_conformance::core::DType;
/// use binade_conformance::ops::{Download, Mul, Upload};
/// use binade_cpu::Cpu;
///
/// let device = Counting::strict(Cpu);
/// let x = device.upload(&[1.0, 2.0], &[2], DType::F32)?;
/// let y = device.mul(&x, &x)?;
/// assert!(device.download(&y).is_err(), "a read that nobody announced");
///
/// let window = device.window();
/// assert_eq!(device.download(&y)?, [1.0, 4.0]);
/// drop(window);
/// assert_eq!((device.reads(), device.calls().len()), (1, 3));
/// # Ok::<(), binade_conformance::counting::CountingError<binade_cpu::Error>>(())
/// ```
#[derive(Clone)]
pub struct Counting<D> {
    device: D,
    tally: Arc<Tally>,
}

impl<D> Counting<D> {
    /// Creates a wrapper that counts.
    pub fn new(device: D) -> Self {
        Self { device, tally: Arc::new(Tally::new(false)) }
    }

    /// Creates a wrapper that counts, and refuses reads outside a window.
    pub fn strict(device: D) -> Self {
        Self { device, tally: Arc::new(Tally::new(true)) }
    }

    /// Allows reads, on all threads, until the guard is dropped: the end of an epoch, an evaluation, a log line.
    pub fn window(&self) -> Window {
        Window::open(&self.tally)
    }

    /// Returns the calls so far by method and place, reads first.
    pub fn calls(&self) -> Vec<Calls> {
        self.tally.calls()
    }

    /// Returns the number of reads so far.
    pub fn reads(&self) -> u64 {
        self.calls().iter().filter(|calls| calls.place.is_some()).map(|calls| calls.count).sum()
    }
}

impl<D: Handle> Counting<D> {
    fn launch<T>(
        &self,
        method: &'static str,
        call: impl FnOnce(&D) -> Result<T, D::Error>,
    ) -> Result<T, CountingError<D::Error>> {
        self.tally.add(method, None);
        Ok(call(&self.device)?)
    }

    /// Makes a call that reads, unless the device is strict and no window is open.
    #[track_caller]
    fn look<T>(
        &self,
        method: &'static str,
        call: impl FnOnce(&D) -> Result<T, D::Error>,
    ) -> Result<T, CountingError<D::Error>> {
        let place = Location::caller();
        if !self.tally.allows_reads() {
            return Err(CountingError::Refused { method, place });
        }
        self.tally.add(method, Some(place));
        Ok(call(&self.device)?)
    }
}

impl<D: Handle> Handle for Counting<D> {
    type Tensor = D::Tensor;
    type Error = CountingError<D::Error>;
}

/// Returns the wrapped device, whose own calls are not counted.
impl<D> AsRef<D> for Counting<D> {
    fn as_ref(&self) -> &D {
        &self.device
    }
}

/// Prints one line for each method and place.
impl<D> fmt::Display for Counting<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.calls().iter().try_for_each(|calls| writeln!(f, "{calls}"))
    }
}

impl<D> fmt::Debug for Counting<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counting").field("calls", &self.calls()).finish_non_exhaustive()
    }
}
