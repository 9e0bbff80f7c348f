//! Trigger insertion: `<COMP>` before each identifier that the completion tool knows (`ToolGen`, Algorithm 1).
//!
//! ```text
//! file -> functions -> docstring and code by the published rules -> identifiers of the body -> tool -> marks
//!                      \-> a drop reason, counted
//! ```
//!
//! A [`Mark`] is a byte offset in the function's own text, so the text itself is never changed: [`mark`] writes the
//! triggers into it and [`unmark`] takes them out again, to the byte. A function whose text holds a literal `<COMP>`
//! is dropped as [`DropReason::LiteralTrigger`], for a model that reads it could not tell the two apart; so deleting
//! every `<COMP>` from a marked function gives the original too. The released code writes `<unk>` there instead.

mod code;
mod docstring;
mod insert;
mod marks;
mod reason;
mod rules;
mod skip;

pub use code::bare;
pub use docstring::{clean, summary};
pub use insert::{Found, MarkedFunction, Tally, insert, insert_file};
pub use marks::{Mark, TRIGGER, mark, unmark};
pub use reason::DropReason;
pub use rules::{Context, Eligibility, Limits, Rules};
pub use skip::{is_builtin, is_skipped};

#[cfg(test)]
mod tests;
