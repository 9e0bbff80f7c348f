//! The thread on which ty works.
//!
//! ty follows syntax, imports and types by recursion, so it gets a stack that no text within the limits exhausts. The
//! stack is reserved, not used: only what is touched takes memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

use super::Texts;
use super::database::{Database, Edit};
use super::view::View;

/// Enough for every statement of the longest text to rest on the one before it.
const STACK_BYTES: usize = 1 << 29;

type Task = Box<dyn FnOnce(&mut State) + Send>;

/// What the thread owns.
struct State {
    database: Database,
    edit: Option<Edit>,
}

/// A handle of the thread, which ends with it.
pub(super) struct Worker {
    tasks: Sender<Task>,
}

impl Worker {
    /// Starts a thread that knows the files of `texts`.
    pub(super) fn start(texts: &Arc<Texts>) -> Self {
        let (tasks, queue) = channel::<Task>();
        let texts = Arc::clone(texts);
        let work = move || {
            let mut state = State { database: Database::new(&texts), edit: None };
            for task in queue {
                task(&mut state);
            }
        };
        // Without a thread nobody listens, and every question is answered by words alone.
        let _thread = Builder::new().name("python".into()).stack_size(STACK_BYTES).spawn(work).ok();
        Self { tasks }
    }

    /// Answers a question about the byte of a file whose text differs from the repository's by `edited`; `None` if the
    /// answer ends in a panic, after which ty's database is sound.
    pub(super) fn ask<R: Send + 'static>(
        &self,
        path: &str,
        text: &Arc<str>,
        is_edited: bool,
        byte: usize,
        question: impl FnOnce(&View<'_>) -> R + Send + 'static,
    ) -> Option<R> {
        let (answer, answers) = channel();
        let (path, text) = (path.to_owned(), Arc::clone(text));
        let task = move |state: &mut State| {
            let found = catch_unwind(AssertUnwindSafe(|| {
                state.turn_to(&path, is_edited.then_some(&*text))?;
                Some(question(&View::new(&state.database, &path, &text, byte)?))
            }));
            // The asker waits, unless it is gone with the whole process.
            let _sent = answer.send(found.ok().flatten()).is_ok();
        };
        self.tasks.send(Box::new(task)).ok()?;
        answers.recv().ok().flatten()
    }
}

impl State {
    /// Makes the file at `path` have the text `edited`, and every other file the repository's.
    fn turn_to(&mut self, path: &str, edited: Option<&str>) -> Option<()> {
        let before = self.edit.take();
        match edited {
            None => self.database.restore(before),
            Some(text) => self.edit = Some(self.database.edit(before, path, text)?),
        }
        Some(())
    }
}
