//! What can be wrong before a kernel runs.

use binade_core::ErrorKind;

use crate::Capability;

/// A PTX text that cannot be run exactly. Lines are the text's, from 1.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ParseError {
    /// The text is not PTX as the interpreter reads it.
    #[error("PTX line {line}: expected {expected}, found `{found}`")]
    Syntax {
        /// Where.
        line: u32,
        /// What could have stood there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A directive that the interpreter has no meaning for.
    #[error("PTX line {line}: directive `{name}` is not supported")]
    Directive {
        /// Where.
        line: u32,
        /// With its point.
        name: String,
    },
    /// An opcode whose exact spelling, all suffixes included, is not in the table.
    #[error(
        "PTX line {line}: unknown instruction form `{form}`; add it to the table in `isa` with its exact meaning"
    )]
    Form {
        /// Where.
        line: u32,
        /// The opcode with all suffixes.
        form: String,
    },
    /// A known opcode with operands that it does not take.
    #[error("PTX line {line}: `{form}`: operand {index}: expected {expected}, found {found}")]
    Operand {
        /// Where.
        line: u32,
        /// The opcode with all suffixes.
        form: &'static str,
        /// From 1.
        index: usize,
        /// What the form takes.
        expected: String,
        /// What the text has.
        found: String,
    },
    /// A known opcode with too few or too many operands.
    #[error("PTX line {line}: `{form}` takes {expected} operands, found {found}")]
    Operands {
        /// Where.
        line: u32,
        /// The opcode with all suffixes.
        form: &'static str,
        /// What the form takes.
        expected: usize,
        /// What the text has.
        found: usize,
    },
    /// A label or an entry that the text has already.
    #[error("PTX line {line}: `{name}` is there already")]
    Twice {
        /// Where the second one is.
        line: u32,
        /// As written.
        name: String,
    },
    /// A register, label or variable that nothing declares.
    #[error("PTX line {line}: `{name}` is not declared")]
    Undeclared {
        /// Where.
        line: u32,
        /// As written.
        name: String,
    },
    /// Arithmetic that a host cannot repeat bit for bit, under `Strictness::Reproducible`.
    #[error(
        "PTX line {line}: `{form}` is not reproducible: write the rounding (`.rn`) and keep subnormals, or parse with `Strictness::Any`"
    )]
    NotReproducible {
        /// Where.
        line: u32,
        /// The opcode with all suffixes.
        form: &'static str,
    },
    /// An instruction that the module's target does not have.
    #[error(
        "PTX line {line}: `{form}` needs compute capability {needs}, the module's target is {target}"
    )]
    Target {
        /// Where.
        line: u32,
        /// The opcode with all suffixes.
        form: &'static str,
        /// The least that has it.
        needs: Capability,
        /// The module's.
        target: Capability,
    },
}

impl binade_core::Error for ParseError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Syntax { .. } | Self::Undeclared { .. } | Self::Twice { .. } => {
                ErrorKind::InvalidArgument
            }
            _ => ErrorKind::Unsupported,
        }
    }
}

/// A launch that cannot be made.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LaunchError {
    /// The module has no such entry.
    #[error("the module has no entry `{name}`; it has {}", .has.join(", "))]
    NoEntry {
        /// What was asked for.
        name: String,
        /// What there is.
        has: Vec<String>,
    },
    /// More or fewer arguments than parameters.
    #[error("`{kernel}` takes {expected} arguments, {found} were given")]
    ArgumentCount {
        /// The entry.
        kernel: String,
        /// Its parameters.
        expected: usize,
        /// The call's arguments.
        found: usize,
    },
    /// An argument whose type is not the parameter's.
    #[error(
        "`{kernel}`: argument {index}: parameter `{parameter}` is {expected}, {found} was given"
    )]
    Argument {
        /// The entry.
        kernel: String,
        /// From 0.
        index: usize,
        /// The parameter's name in the PTX.
        parameter: String,
        /// Type and bytes of the parameter.
        expected: String,
        /// The argument.
        found: String,
    },
    /// The module is built for a newer GPU than this one.
    #[error("the module's target is compute capability {target}, the device's is {device}")]
    TooNew {
        /// The module's.
        target: Capability,
        /// The device's.
        device: Capability,
    },
    /// A grid or block dimension of zero, or beyond what a GPU takes.
    #[error("`{what}` of {value} is outside 1 to {most}")]
    Dimension {
        /// `grid.x` and the like.
        what: &'static str,
        /// What was asked for.
        value: u64,
        /// The most.
        most: u64,
    },
    /// More shared memory than a block may have.
    #[error("{bytes} bytes of shared memory a block, at most {most}")]
    SharedBytes {
        /// Static and dynamic together.
        bytes: u64,
        /// The most.
        most: u64,
    },
}

impl binade_core::Error for LaunchError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::TooNew { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::InvalidArgument,
        }
    }
}

/// A host access to device memory that no allocation holds whole.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{bytes} bytes at {address:#x} are in no allocation")]
pub struct MemoryError {
    /// Where.
    pub address: u64,
    /// How many.
    pub bytes: usize,
}

impl binade_core::Error for MemoryError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}
