//! The paper's definition or the released code's.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// Which definition of a computation runs where a paper and its released code give different
/// numbers.
///
/// Parsed from and displayed as `paper` and `released`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Variant {
    /// What the paper says.
    #[default]
    Paper,
    /// What the released code does, its quirks included.
    Released,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paper => "paper",
            Self::Released => "released",
        })
    }
}

impl FromStr for Variant {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "paper" => Ok(Self::Paper),
            "released" => Ok(Self::Released),
            _ => Err(Error::UnknownVariant(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_variant_is_read_as_it_is_displayed() -> Result<()> {
        for variant in [Variant::Paper, Variant::Released] {
            assert_eq!(variant.to_string().parse::<Variant>()?, variant);
        }
        Ok(())
    }

    #[test]
    fn an_unknown_variant_is_an_error_that_names_the_known_ones() {
        expect!["unknown variant `Paper`, expected `paper` or `released`"]
            .assert_eq(&"Paper".parse::<Variant>().unwrap_err().to_string());
    }
}
