//! Exact duplicates: of files with one content, the first by manifest order and path stays.
//!
//! Copies within a repository are dropped too: a copy among the candidates would hold the target itself.

use std::collections::BTreeMap;

use crate::crawl::ReadRepository;
use crate::filter::DropReason;

/// Drops every file whose content came before, unless it is shorter than `bytes_min`.
pub(crate) fn drop_duplicates(repositories: &mut [ReadRepository], bytes_min: usize) {
    let mut first_places: BTreeMap<String, String> = BTreeMap::new();
    for repository in repositories {
        let name = repository.name.clone();
        repository.drop_files(|file| {
            if file.source.text.len() < bytes_min {
                return None;
            }
            let place = format!("{name}: {}", file.source.path);
            match first_places.get(&file.hash) {
                Some(first) => Some((DropReason::Duplicate, format!("as {first}"))),
                None => first_places.insert(file.hash.clone(), place).and(None),
            }
        });
    }
}
