//! JSON with a fixed number of decimals, and files replaced in one step.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use crate::{Error, Result};

/// The number of decimals a float is written with is six; this is ten to that power.
const DECIMALS: usize = 6;

/// Returns the value as indented JSON with a final newline.
pub(super) fn pretty<T: Serialize>(value: &T) -> Result<String> {
    let mut bytes = to_bytes(value, PrettyFormatter::new())?;
    bytes.push(b'\n');
    Ok(String::from_utf8(bytes).expect("a JSON serializer writes UTF-8"))
}

/// Returns the value as JSON on one line, without a newline.
pub(super) fn compact<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    to_bytes(value, CompactFormatter)
}

/// Reads a whole text file.
pub(super) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_owned(), action: "reading", source })
}

/// Writes a file next to its final place and renames it, so that no reader ever sees half of it.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    std::fs::write(&partial, bytes).and_then(|()| std::fs::rename(&partial, path)).map_err(|source| Error::Io {
        path: path.to_owned(),
        action: "writing",
        source,
    })
}

/// Reads a number, or not-a-number where the file has `null`.
pub(crate) fn number_or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Number::deserialize(deserializer)?.0)
}

/// Reads a map of numbers, with not-a-number where the file has `null`.
pub(super) fn numbers_or_nan<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<BTreeMap<String, f64>, D::Error> {
    let numbers = BTreeMap::<String, Number>::deserialize(deserializer)?;
    Ok(numbers.into_iter().map(|(key, value)| (key, value.0)).collect())
}

/// Reads pairs of numbers, with not-a-number where the file has `null`.
pub(super) fn points_or_nan<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<(f64, f64)>, D::Error> {
    let points = Vec::<(Number, Number)>::deserialize(deserializer)?;
    Ok(points.into_iter().map(|(x, y)| (x.0, y.0)).collect())
}

/// A number as JSON can hold it: `null` stands for one that is not finite.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Option::<f64>::deserialize(deserializer)?;
        Ok(Self(value.unwrap_or(f64::NAN)))
    }
}

fn to_bytes<T: Serialize, F: Formatter>(value: &T, formatter: F) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Rounded { inner: formatter });
    value.serialize(&mut serializer).map_err(Error::Serialize)?;
    Ok(bytes)
}

/// Writes floats rounded and leaves the layout to another formatter.
struct Rounded<F> {
    inner: F,
}

/// The float nearest to `value` written with [`DECIMALS`] decimals. Rounding in decimal rather than by scaling, so that
/// a rounded value stays what it is: scaling drifts by one unit in the last place once floats lie as far apart as the
/// decimals.
fn rounded(value: f64) -> f64 {
    // Beyond 2^53 a float has no decimals left to round; what is not finite has none either.
    if value.is_nan() || value.abs() >= 9_007_199_254_740_992.0 {
        return value;
    }
    let rounded: f64 = format!("{value:.DECIMALS$}").parse().expect("a formatted float is a float");
    // Adding zero turns a negative zero into a plain one.
    rounded + 0.0
}

impl<F: Formatter> Formatter for Rounded<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        self.inner.write_f64(writer, rounded(value))
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.inner.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.inner.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn floats_have_six_decimals_and_no_negative_zero() {
        let values = [0.1 + 0.2, -1e-9, 2.0 / 3.0, 1e300, f64::NAN, 5e-7, 3.0];
        let json = String::from_utf8(compact(&values).unwrap()).unwrap();
        expect!["[0.3,0.0,0.666667,1e+300,null,0.0,3.0]"].assert_eq(&json);
    }

    #[test]
    fn null_is_read_as_not_a_number() {
        #[derive(Deserialize)]
        struct Row {
            #[serde(deserialize_with = "points_or_nan")]
            points: Vec<(f64, f64)>,
        }
        let row: Row = serde_json::from_str(r#"{"points": [[1, 2.5], [2, null]]}"#).unwrap();
        assert_eq!(row.points[0], (1.0, 2.5));
        assert!(row.points[1].1.is_nan());
    }

    proptest! {
        #[test]
        fn rounding_twice_is_rounding_once(value in -1e12_f64..1e12) {
            prop_assert_eq!(rounded(rounded(value)).to_bits(), rounded(value).to_bits());
            prop_assert!((rounded(value) - value).abs() <= 1e-6 + value.abs() * 1e-15);
        }
    }
}
