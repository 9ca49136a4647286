//! Choice of a product's algorithm by time, if requested.

use super::{
    lt::{Addresses, Handle, Plan},
    products::{has_none, refused},
};
use crate::{Cuda, Error};
use cudarc::driver::{CudaEvent, sys::CUevent_flags};

/// Number of products that are timed together: one launch is too short for the clock.
const REPEATS: usize = 4;

impl Cuda {
    /// Returns the plan with its fastest algorithm first. Each is timed, if there are several: the host waits for it. The products
    /// are of the operands that the first call gives, and are written where its result will be.
    pub(super) fn fastest(
        &self,
        handle: &Handle,
        mut plan: Plan,
        at: Addresses,
    ) -> Result<Plan, Error> {
        if plan.algorithms() == 1 {
            return Ok(plan);
        }
        let event = || {
            let event = self.stream().context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
            self.check("event", event)
        };
        let events = [event()?, event()?];
        let mut times = Vec::new();
        for algorithm in 0..plan.algorithms() {
            plan.turn_to(algorithm);
            times.push(self.time(handle, &plan, at, &events)?);
            plan.turn_to(algorithm);
        }
        plan.turn_to(least(&times));
        Ok(plan)
    }

    /// Returns the milliseconds of some products by the plan's first algorithm, behind one that loads its kernels; `None` if the
    /// library refuses them.
    fn time(
        &self,
        handle: &Handle,
        plan: &Plan,
        at: Addresses,
        [start, end]: &[CudaEvent; 2],
    ) -> Result<Option<f32>, Error> {
        let submitted = self.with_stream("time a product", |stream| {
            for number in 0..=REPEATS {
                if number == 1 {
                    self.check("event", start.record(stream))?;
                }
                match handle.multiply(stream, plan, at) {
                    Err(status) if has_none(status) => return Ok(false),
                    multiplied => multiplied.map_err(|status| refused("multiply", status))?,
                }
            }
            self.check("event", end.record(stream))?;
            Ok::<_, Error>(true)
        })??;
        if !submitted {
            return Ok(None);
        }
        self.elapsed_ms(start, end).map(Some)
    }
}

/// Returns the place of the least time; the first place if there is none.
fn least(times: &[Option<f32>]) -> usize {
    let known = times.iter().enumerate().filter_map(|(place, time)| Some((place, (*time)?)));
    known.min_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::least;

    #[test]
    fn the_least_time_is_found_among_refusals() {
        assert_eq!(least(&[None, Some(3.0), Some(1.0), None, Some(2.0)]), 2);
        assert_eq!(least(&[None, None]), 0);
        assert_eq!(least(&[Some(1.0), Some(1.0)]), 0, "the library's better guess");
    }
}
