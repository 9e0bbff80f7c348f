//! Work split over threads that each run one-thread kernels.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads that each compute whole items with one-thread kernels.
///
/// On a CPU, matrix products scale with threads but element-wise operations do not, so that several items side by side
/// beat one item on several threads. A kernel splits its work by the thread pool it runs in; each worker has a pool of
/// one thread.
#[derive(Debug)]
pub struct Workers {
    pools: Vec<ThreadPool>,
}

impl Workers {
    /// Starts `n` workers; 0 counts as 1.
    ///
    /// # Panics
    ///
    /// Panics if the system refuses to start a thread.
    #[must_use]
    pub fn new(n: usize) -> Self {
        let pool = |index| {
            ThreadPoolBuilder::new()
                .num_threads(1)
                .thread_name(move |_| format!("worker-{index}"))
                .build()
                .expect("the system can start a thread")
        };
        keep_freed_memory();
        Self { pools: (0..n.max(1)).map(pool).collect() }
    }

    /// Returns workers that compute on the calling thread, for a device that parallelizes by itself (a GPU).
    #[must_use]
    pub fn inline() -> Self {
        Self { pools: Vec::new() }
    }

    /// Returns the number of items computed at once, at least 1.
    #[must_use]
    pub fn n(&self) -> usize {
        self.pools.len().max(1)
    }

    /// Applies `f` to every item and its index, and returns the results in the order of the items.
    ///
    /// Items are started in order. The results do not depend on the number of workers.
    ///
    /// # Panics
    ///
    /// Panics if `f` does.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, f: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
        if self.pools.is_empty() {
            return items.into_iter().enumerate().map(|(i, item)| f(i, item)).collect();
        }
        let queue = Queue::new(items);
        let work = || queue.by_ref().map(|(i, item)| (i, f(i, item))).collect();
        let mut results = self.run(&work);
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Runs `work` once in every pool and concatenates what it returns.
    fn run<R: Send>(&self, work: &(impl Fn() -> Vec<R> + Sync)) -> Vec<R> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = self.pools.iter().map(|pool| scope.spawn(|| pool.install(work))).collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }
}

/// Makes the C library keep what is freed for the next allocation, where it would give it back to the system.
///
/// The GNU library keeps blocks up to the size of the largest mapped block it has freed, 32 MiB at most, and twice as
/// much at the end of each heap; until then every tensor is mapped, cleared and unmapped anew, a fifth of the time.
fn keep_freed_memory() {
    drop(std::hint::black_box(vec![0_u8; (32 << 20) - (64 << 10)]));
}

/// Items handed out one at a time, each to whoever asks first.
struct Queue<T> {
    items: Vec<Mutex<Option<T>>>,
    next: AtomicUsize,
}

impl<T> Queue<T> {
    fn new(items: Vec<T>) -> Self {
        Self { items: items.into_iter().map(|item| Mutex::new(Some(item))).collect(), next: AtomicUsize::new(0) }
    }

    /// Iterates over the items that nobody else takes meanwhile.
    fn by_ref(&self) -> impl Iterator<Item = (usize, T)> {
        std::iter::from_fn(|| {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let mut slot = self.items.get(index)?.lock().unwrap_or_else(PoisonError::into_inner);
            slot.take().map(|item| (index, item))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items_for_any_number_of_workers() {
        let expected: Vec<usize> = (0..100).map(|i| i * i + i).collect();
        for workers in [Workers::inline(), Workers::new(0), Workers::new(1), Workers::new(4)] {
            assert_eq!(workers.map((0..100).collect(), |index, item: usize| item * item + index), expected);
        }
    }

    #[test]
    fn every_worker_has_one_thread() {
        let threads = Workers::new(3).map(vec![(); 8], |_, ()| rayon::current_num_threads());
        assert_eq!(threads, [1; 8]);
    }

    #[test]
    fn no_items_give_no_results() {
        assert!(Workers::new(2).map(Vec::<u8>::new(), |_, item| item).is_empty());
    }

    #[test]
    #[should_panic(expected = "three")]
    fn a_panic_in_an_item_reaches_the_caller() {
        Workers::new(2).map(vec![1, 2, 3], |_, item| assert!(item != 3, "three"));
    }
}
