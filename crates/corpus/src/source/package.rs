//! A package of a registry: its file, checked against the pinned sha256 before it is read.

use super::{PackageSpec, RawRepository, Reading, archive};
use crate::Result;
use crate::package::{self, Registry};

/// Fetches the package if the cache lacks it, and reads it as an archive.
pub(super) fn read(
    registry: Registry,
    spec: &PackageSpec,
    sha256: Option<&str>,
    reading: &Reading,
) -> Result<RawRepository> {
    let package = package::fetch(registry, spec, sha256, reading.cache, reading.offline)?;
    let mut raw = archive::read(&package.path, reading.filters)?;
    raw.version.clone_from(&spec.version);
    raw.revision = format!("sha256:{}", package.sha256);
    Ok(raw)
}
