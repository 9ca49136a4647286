//! Numbers of parameters: kernels and shaders know no names.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Numbers that a device uses instead of parameters' names. A name keeps its number for the lifetime of this value.
#[derive(Debug, Default)]
pub struct Names {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Names {
    /// Returns the number of `name`, a new one if it has none.
    pub fn number(&self, name: &Arc<str>) -> u32 {
        self.lock().number(name)
    }

    /// Returns the numbers of a set's names, in its order.
    ///
    /// Names of one set have consecutive numbers: a name that is the same allocation as the expected next one is not looked up.
    pub fn numbers<'n>(&self, set: impl Iterator<Item = &'n Arc<str>>) -> Vec<u32> {
        let mut known = self.lock();
        let mut next = 0;
        let number = |name| {
            let expected = known.names.get(next as usize);
            let is_next = expected.is_some_and(|expected| Arc::ptr_eq(expected, name));
            let number = if is_next { next } else { known.number(name) };
            next = number.saturating_add(1);
            number
        };
        set.map(number).collect()
    }

    /// Returns the name that has this number.
    pub fn name(&self, number: u32) -> Option<Arc<str>> {
        self.lock().names.get(number as usize).cloned()
    }

    /// Locks the table. The value is whole even after a panic, since no change can stop halfway.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn number(&mut self, name: &Arc<str>) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.clone());
        self.numbers.insert(name.clone(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_numbers_of_its_names_in_whatever_order() {
        let names = Names::default();
        let [a, b, c] = ["a", "b", "c"].map(Arc::<str>::from);
        let other: Arc<str> = "b".into();
        assert_eq!(names.numbers([&a, &b].into_iter()), [0, 1]);
        assert_eq!(names.numbers([&a, &b, &c].into_iter()), [0, 1, 2]);
        assert_eq!(names.numbers([&b, &c].into_iter()), [1, 2]);
        assert_eq!(names.numbers([&c, &a, &other].into_iter()), [2, 0, 1]);
        assert_eq!((names.number(&b), names.name(1), names.name(3)), (1, Some(b), None));
    }
}
