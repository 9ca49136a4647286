//! Names in an entry: registers by scope, variables, labels.

use std::collections::HashMap;

use crate::{
    ParseError,
    isa::{Class, Space},
};

/// A declared register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub(super) number: usize,
    pub(super) class: Class,
}

/// A variable's place in its state space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    pub(super) space: Space,
    pub(super) offset: u64,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    /// Innermost last.
    scopes: Vec<HashMap<String, Register>>,
    pub(super) registers: usize,
    pub(super) symbols: HashMap<String, Symbol>,
    /// A label's number is its place here.
    labels: Vec<Label>,
}

/// A label: where it stands, once seen, and where it was first named.
#[derive(Debug)]
struct Label {
    name: String,
    target: Option<usize>,
    line: u32,
}

impl Names {
    pub(super) fn open(&mut self) {
        self.scopes.push(HashMap::new());
    }

    /// Closes a scope; whether another is still open.
    pub(super) fn close(&mut self) -> bool {
        self.scopes.pop();
        !self.scopes.is_empty()
    }

    pub(super) fn declare(&mut self, name: String, class: Class) {
        let register = Register { number: self.registers, class };
        self.registers += 1;
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, register);
        }
    }

    pub(super) fn register(&self, name: &str) -> Option<Register> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    /// The number of a label that is named here, seen already or not.
    pub(super) fn label(&mut self, name: &str, line: u32) -> usize {
        if let Some(number) = self.labels.iter().position(|label| label.name == name) {
            return number;
        }
        self.labels.push(Label { name: name.to_owned(), target: None, line });
        self.labels.len() - 1
    }

    pub(super) fn place_label(
        &mut self,
        name: &str,
        line: u32,
        target: usize,
    ) -> Result<(), ParseError> {
        let number = self.label(name, line);
        match self.labels[number].target.replace(target) {
            None => Ok(()),
            Some(_) => Err(ParseError::Twice { line, name: name.to_owned() }),
        }
    }

    /// Where a label stands, once the whole body is read.
    pub(super) fn target(&self, number: usize) -> Result<usize, ParseError> {
        let Label { name, target, line } = &self.labels[number];
        target.ok_or_else(|| ParseError::Undeclared { line: *line, name: name.clone() })
    }
}
