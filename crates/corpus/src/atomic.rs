//! Files and directories that appear whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use tempfile::TempDir;

use crate::{Error, Result};

/// Writes a file through a temporary neighbor: written, flushed to disk, then renamed.
pub(crate) fn write_file<E: From<Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let directory = parent(path);
    std::fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
    let temporary = new_file(directory).map_err(Error::io("create a file in", directory))?;
    let mut writer = BufWriter::new(temporary.as_file());
    write(&mut writer)?;
    writer.flush().map_err(Error::io("write", path))?;
    drop(writer);
    temporary.as_file().sync_all().map_err(Error::io("flush", path))?;
    temporary.persist(path).map_err(|error| Error::io("replace", path)(error.error))?;
    Ok(sync_directory(directory)?)
}

/// Makes a temporary directory beside `path`, on the same file system, for [`publish_directory`].
pub(crate) fn directory_beside(path: &Path) -> Result<TempDir> {
    let directory = parent(path);
    std::fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
    tempfile::Builder::new()
        .prefix(".part-")
        .tempdir_in(directory)
        .map_err(Error::io("create a directory in", directory))
}

/// Renames a finished temporary directory to `path`. A directory that is already there and may be in use is kept unless
/// `replace` is set.
pub(crate) fn publish_directory(temporary: TempDir, path: &Path, replace: bool) -> Result<()> {
    if replace && path.exists() {
        std::fs::remove_dir_all(path).map_err(Error::io("remove", path))?;
    }
    match std::fs::rename(temporary.path(), path) {
        Ok(()) => {
            // The directory has moved: nothing is left to delete.
            drop(temporary.keep());
            sync_directory(parent(path))
        }
        Err(_) if path.is_dir() => Ok(()),
        Err(error) => Err(Error::io("create", path)(error)),
    }
}

/// Flushes a directory, so that a rename in it survives a crash.
pub(crate) fn sync_directory(directory: &Path) -> Result<()> {
    File::open(directory).and_then(|file| file.sync_all()).map_err(Error::io("flush", directory))
}

#[cfg(unix)]
fn new_file(directory: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;

    let permissions = std::fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".part-").permissions(permissions).tempfile_in(directory)
}

#[cfg(not(unix))]
fn new_file(directory: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(".part-").tempfile_in(directory)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_temporary_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table");
        std::fs::write(&path, "old").unwrap();
        let failed = write_file(&path, |writer| {
            writer.write_all(b"new").map_err(Error::io("write", Path::new("table")))?;
            Err(Error::TooManyEntries { limit: 0 })
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_written_file_replaces_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep").join("table");
        for text in ["one", "two"] {
            write_file(&path, |writer| {
                writer.write_all(text.as_bytes()).map_err(Error::io("write", Path::new("table")))
            })
            .unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
