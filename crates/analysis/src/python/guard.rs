//! Which texts ty may see: it follows what is nested by recursion, which a hostile text makes arbitrarily deep.

use super::scan;

/// The longest text that ty sees, in bytes.
const BYTES_MAX: usize = 2 << 20;

/// The deepest that an expression may nest, by the bound of [`scan::nesting`].
const NESTING_MAX: usize = 500;

/// The most blocks within each other; Python itself takes 100.
const BLOCKS_MAX: usize = 100;

/// The most statements of a file: each may rest on the one before it.
const STATEMENTS_MAX: usize = 20_000;

/// The most functions of a file.
const FUNCTIONS_MAX: usize = 5_000;

/// The most classes of a file: each may be a base of the next.
const CLASSES_MAX: usize = 2_000;

/// The most branches of one function or of the code between functions: their paths multiply.
const BRANCHES_MAX: usize = 1_000;

/// Why a file is answered by its words alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The text is too long.
    Bytes,
    /// An expression may nest too deep.
    Nesting,
    /// Blocks nest too deep.
    Blocks,
    /// There are too many statements, functions, classes or branches.
    Statements,
    /// The inference gave up on a question about the file.
    Failure,
}

impl Limit {
    /// Returns the stable name under which reports count the limit.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Nesting => "nesting",
            Self::Blocks => "blocks",
            Self::Statements => "statements",
            Self::Failure => "failure",
        }
    }

    /// Returns the limit that `text` exceeds, if any.
    pub(super) fn of(text: &str) -> Option<Self> {
        if text.len() > BYTES_MAX {
            return Some(Self::Bytes);
        }
        let size = scan::size(text);
        if size.nesting > NESTING_MAX {
            Some(Self::Nesting)
        } else if scan::blocks(text) > BLOCKS_MAX {
            Some(Self::Blocks)
        } else {
            let is_long = size.n_statements > STATEMENTS_MAX
                || size.n_functions > FUNCTIONS_MAX
                || size.n_classes > CLASSES_MAX
                || size.n_branches > BRANCHES_MAX;
            is_long.then_some(Self::Statements)
        }
    }
}
