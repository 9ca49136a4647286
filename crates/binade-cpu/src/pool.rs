//! Large buffers that wait to be used again. The system's allocator returns memory of tens of megabytes to the system at once. Clearing and mapping
//! each page of the next such buffer then takes longer than most operations.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// Least size in bytes of a buffer that the pool keeps: the allocator keeps smaller ones itself.
pub(crate) const LEAST: usize = 1 << 17;

/// Number of returned buffers after which an unused one is freed: as many as in some training steps.
const PATIENCE: u64 = 128;

/// Element type of buffers, with the buffers that wait.
pub(crate) trait Pooled: Copy + Default + Send + 'static {
    /// Returns the buffers of this type.
    fn pool() -> &'static Pool<Self>;
}

/// Buffers that wait.
pub(crate) struct Pool<T> {
    free: Mutex<Free<T>>,
}

struct Free<T> {
    /// Number of buffers given back so far.
    given: u64,
    /// Buffers, each with that number when it came.
    buffers: Vec<(u64, Vec<T>)>,
}

impl<T> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self { free: Mutex::new(Free { given: 0, buffers: Vec::new() }) }
    }
}

/// Implements [`Pooled`] for types.
macro_rules! pooled {
    ($($element:ty),+ $(,)?) => {
        $(impl $crate::pool::Pooled for $element {
            fn pool() -> &'static $crate::pool::Pool<Self> {
                static POOL: $crate::pool::Pool<$element> = $crate::pool::Pool::new();
                &POOL
            }
        })+
    };
}
pub(crate) use pooled;

/// Returns true if a buffer of this capacity is kept.
fn is_large<T>(capacity: usize) -> bool {
    capacity.saturating_mul(size_of::<T>()) >= LEAST
}

/// Returns an empty vector with room for `len` elements.
pub(crate) fn take<T: Pooled>(len: usize) -> Vec<T> {
    let mut buffer =
        reused(len, room::<T>(len)).unwrap_or_else(|| Vec::with_capacity(room::<T>(len)));
    buffer.clear();
    buffer
}

/// Returns a vector of `len` elements of any values, for a result that is written whole.
pub(crate) fn scratch<T: Pooled>(len: usize) -> Vec<T> {
    let mut buffer = at_least(len, room::<T>(len));
    buffer.truncate(len);
    buffer
}

/// Returns a vector of at least `len` elements of any values. A reused buffer has a capacity of `most` at most.
fn at_least<T: Pooled>(len: usize, most: usize) -> Vec<T> {
    // New zeros of the system cost nothing until they are touched.
    let mut buffer = reused(len, most).unwrap_or_else(|| vec![T::default(); room::<T>(len)]);
    if buffer.len() < len {
        buffer.resize(len, T::default());
    }
    buffer
}

/// Returns the capacity of a new buffer of `len` elements. A large buffer has room for at most an eighth more, so that buffers of nearly the same
/// length can replace each other.
fn room<T: Pooled>(len: usize) -> usize {
    if is_large::<T>(len) {
        len.next_multiple_of((len.next_power_of_two() / 16).max(1))
    } else {
        len
    }
}

/// Returns a buffer that waits and has room for `len` elements and for `most` at most, with the elements of its last use. If none fits, as much
/// waiting memory is freed: waiting and used buffers together never exceed the peak of used ones.
fn reused<T: Pooled>(len: usize, most: usize) -> Option<Vec<T>> {
    if !is_large::<T>(len) {
        return None;
    }
    let room = room::<T>(len);
    let mut free = T::pool().free.lock().unwrap_or_else(PoisonError::into_inner);
    let fits = |(_, buffer): &(u64, Vec<T>)| (len..=most).contains(&buffer.capacity());
    // The last given is the likeliest to be in a cache.
    if let Some(place) = free.buffers.iter().rposition(fits) {
        return Some(free.buffers.remove(place).1);
    }
    let mut freed = 0;
    let old = free.buffers.iter().take_while(|(_, buffer)| {
        let goes = freed < room;
        freed += buffer.capacity();
        goes
    });
    let old = old.count();
    let old: Vec<_> = free.buffers.drain(..old).collect();
    // Freeing large buffers is slow.
    drop(free);
    drop(old);
    None
}

/// Keeps a vector's memory for [`take`], if it is large.
pub(crate) fn give<T: Pooled>(buffer: Vec<T>) {
    if !is_large::<T>(buffer.capacity()) {
        return;
    }
    let mut free = T::pool().free.lock().unwrap_or_else(PoisonError::into_inner);
    free.given += 1;
    let now = free.given;
    free.buffers.push((now, buffer));
    let old = free.buffers.partition_point(|(came, _)| came + PATIENCE < now);
    let freed: Vec<_> = free.buffers.drain(..old).collect();
    // Freeing large buffers is slow.
    drop(free);
    drop(freed);
}

/// Elements whose memory is given back when they are dropped.
#[derive(Debug)]
pub(crate) struct Buffer<T: Pooled> {
    /// Elements, and more behind them in a buffer that is longer.
    values: Vec<T>,
    len: usize,
}

/// Largest capacity of a short-lived buffer, as a multiple of its length.
const SPARE: usize = 8;

impl<T: Pooled> Buffer<T> {
    /// Returns `len` elements of arbitrary values for short use: their memory may be larger.
    pub(crate) fn scratch(len: usize) -> Self {
        Self { values: at_least(len, len.saturating_mul(SPARE)), len }
    }
}

impl<T: Pooled> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Self { len: values.len(), values }
    }
}

impl<T: Pooled> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[..self.len]
    }
}

impl<T: Pooled> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.len]
    }
}

impl<T: Pooled> Drop for Buffer<T> {
    fn drop(&mut self) {
        give(std::mem::take(&mut self.values));
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST, PATIENCE, give, scratch, take};

    /// Element that no other test has.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Own(u8);
    pooled!(Own);

    #[test]
    fn a_large_buffer_is_taken_again_until_nobody_wants_it() {
        let waiting = || <Own as super::Pooled>::pool().free.lock().unwrap().buffers.len();
        let first = take::<Own>(LEAST);
        let place = first.as_ptr();
        give(first);
        let small = take::<Own>(LEAST / 2);
        assert_ne!(small.as_ptr(), place, "a small one is the allocator's");
        let again = take::<Own>(LEAST - LEAST / 32);
        assert_eq!((again.as_ptr() == place, again.len()), (false, 0), "below the least");
        let again = take::<Own>(LEAST);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
        give(again);
        let again = scratch::<Own>(LEAST);
        assert_eq!((again.as_ptr(), again.len()), (place, LEAST));
        give(again);
        let again = take::<Own>(LEAST);
        assert_eq!(
            (again.as_ptr(), again.len()),
            (place, 0),
            "after elements that were left in it"
        );

        give(again);
        let larger = take::<Own>(2 * LEAST);
        assert_eq!(waiting(), 0, "it has no room, and goes for one that has");
        give(take::<Own>(LEAST));
        give(larger);
        for _ in 0..=PATIENCE {
            give(take::<Own>(2 * LEAST));
        }
        assert_eq!(waiting(), 1, "the one that nobody took is gone");
    }
}
