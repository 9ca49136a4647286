//! Numbers of parameters: kernels and shaders know no names.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Numbers of names, by which a device calls parameters. A number is given once, and kept as long as this lives.
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
        let mut known = self.lock();
        if let Some(number) = known.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(known.names.len()).unwrap_or(u32::MAX);
        known.names.push(name.clone());
        known.numbers.insert(name.clone(), number);
        number
    }

    /// Returns the name that has this number.
    pub fn name(&self, number: u32) -> Option<Arc<str>> {
        self.lock().names.get(number as usize).cloned()
    }

    /// Locks the table. It is whole even after a panic, since no change of it can stop halfway.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let names = Names::default();
        let [a, b] = ["a", "b"].map(Arc::from);
        assert_eq!([&a, &b, &a].map(|name| names.number(name)), [0, 1, 0]);
        assert_eq!((names.name(1), names.name(2)), (Some(b), None));
    }
}
