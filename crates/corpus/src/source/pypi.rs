//! A registry package: its wheel, checked against the pinned sha256 before it is read.

use super::{PackageSpec, RawRepository, Reading, archive};
use crate::{Result, package};

/// Fetches the wheel if the cache lacks it, and reads it as an archive.
pub(super) fn read(spec: &PackageSpec, sha256: Option<&str>, reading: &Reading) -> Result<RawRepository> {
    let wheel = package::fetch(spec, sha256, reading.cache, reading.offline)?;
    let mut raw = archive::read(&wheel.path, reading.filters)?;
    raw.version.clone_from(&spec.version);
    raw.revision = format!("sha256:{}", wheel.sha256);
    Ok(raw)
}
