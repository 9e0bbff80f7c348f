//! What a program and its children use, as `/proc` tells it.

use std::fs;
use std::time::Duration;

/// Clock ticks per second in `/proc/PID/stat`: the same on every machine Linux runs on today.
const TICKS_PER_SECOND: u64 = 100;

/// A program and all its descendants, at one moment.
#[derive(Debug)]
pub(super) struct Tree {
    /// The program itself first.
    ids: Vec<u32>,
}

impl Tree {
    pub(super) fn of(id: u32) -> Self {
        let mut ids = vec![id];
        let mut next = 0;
        while let Some(id) = ids.get(next) {
            for child in children(*id) {
                // A number that was given away between two looks must not turn this into a ring.
                if !ids.contains(&child) {
                    ids.push(child);
                }
            }
            next += 1;
        }
        Self { ids }
    }

    pub(super) fn descendants(&self) -> &[u32] {
        &self.ids[1..]
    }

    /// Returns the processor time used by the processes, and by the children that they waited for.
    pub(super) fn cpu(&self) -> Duration {
        let ticks: u64 = self.ids.iter().filter_map(|id| ticks(&read(*id, "stat")?)).sum();
        Duration::from_millis(ticks * (1000 / TICKS_PER_SECOND))
    }

    /// Returns the resident memory; what processes share counts once for each.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.ids.iter().filter_map(|id| resident_bytes(&read(*id, "status")?)).sum()
    }
}

fn children(id: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

fn read(id: u32, name: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{id}/{name}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Sums the fields `utime`, `stime`, `cutime` and `cstime`, which follow a name that may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(4);
    times.map(|field| field.parse::<u64>().ok()).sum()
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_does_not_disturb_its_times() {
        let stat = "42 (a ) (b) S 1 42 42 0 -1 4194304 100 200 0 0 7 3 20 10 20 0 1 0 5 1000 10";
        assert_eq!(ticks(stat), Some(40));
        assert_eq!(ticks("42 (a"), None);
    }

    #[test]
    fn resident_memory_is_in_kib() {
        assert_eq!(resident_bytes("Name:\tsh\nVmRSS:\t    1968 kB\nVmData:\t 8 kB\n"), Some(1968 * 1024));
        assert_eq!(resident_bytes("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn this_program_uses_something() {
        let tree = Tree::of(std::process::id());
        assert!(tree.memory_bytes() > 1 << 20);
    }
}
