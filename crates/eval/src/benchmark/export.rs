//! Samples in the formats of benchmarks, so that other people's tools can be run on them.

use std::path::{Component, Path};

use corpus::crawl::CrawledRepository;

use super::{BenchmarkTask, Format, crosscodeeval, repoeval};
use crate::{Error, Result};

/// Writes tasks as JSON lines, and returns how many the format cannot hold.
///
/// `RepoEval` knows whole lines only: a task whose target begins or ends within one is left out.
///
/// # Errors
///
/// Returns an error if the file cannot be written, or if the format is not one of JSON lines.
pub fn write_tasks(path: &Path, format: Format, tasks: &[BenchmarkTask]) -> Result<usize> {
    let mut lines = String::new();
    let mut n_left_out = 0;
    for (index, task) in tasks.iter().enumerate() {
        let line = match format {
            Format::CrossCodeEval => Some(serde_json::to_string(&crosscodeeval_line(task))),
            Format::RepoEval => repoeval_line(task, index).map(|line| serde_json::to_string(&line)),
            Format::Samples => return Err(super::problem(path, 0, "samples are exported, not imported".into())),
        };
        match line {
            Some(line) => lines.extend([line.map_err(Error::Serialize)?.as_str(), "\n"]),
            None => n_left_out += 1,
        }
    }
    std::fs::write(path, lines).map_err(|source| Error::Io { path: path.to_owned(), action: "writing", source })?;
    Ok(n_left_out)
}

/// Writes the files of repositories below a folder, each repository under its name.
///
/// # Errors
///
/// Returns an error if a file cannot be written, or if a path leads out of the folder.
pub fn write_repositories(folder: &Path, repositories: &[CrawledRepository]) -> Result<()> {
    for crawled in repositories {
        let repository = &crawled.repository;
        for file in repository.files() {
            let within = Path::new(&repository.name).join(&file.path);
            let path = folder.join(&within);
            if !within.components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(super::problem(&path, 0, "the path leads out of the folder".into()));
            }
            let io = |source| Error::Io { path: path.clone(), action: "writing", source };
            std::fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(io)?;
            std::fs::write(&path, &file.text).map_err(io)?;
        }
    }
    Ok(())
}

fn crosscodeeval_line(task: &BenchmarkTask) -> crosscodeeval::Line {
    let n_before = task.first_line + count_newlines(&task.left_context);
    crosscodeeval::Line {
        prompt: task.left_context.clone(),
        groundtruth: task.target.clone(),
        right_context: task.right_context.clone().unwrap_or_default(),
        metadata: crosscodeeval::Metadata {
            task_id: task.id.clone(),
            repository: task.repository.clone(),
            file: task.path.clone(),
            context_start_lineno: task.first_line,
            groundtruth_start_lineno: n_before,
            right_context_start_lineno: n_before + count_newlines(&task.target),
        },
        crossfile_context: None,
    }
}

/// Returns a line if the target is whole lines, which it takes the indentation of the first from the left context for.
fn repoeval_line(task: &BenchmarkTask, index: usize) -> Option<repoeval::Line> {
    let (before, indentation) = match task.left_context.rsplit_once('\n') {
        Some((before, indentation)) => (Some(before), indentation),
        None => (None, task.left_context.as_str()),
    };
    let right = task.right_context.as_deref().unwrap_or("\n");
    let ends_line = right.is_empty() || right.starts_with('\n');
    if !indentation.trim().is_empty() || !ends_line || task.target.ends_with('\n') || task.target.trim().is_empty() {
        return None;
    }
    let path = task.path.split('/').map(str::to_owned);
    Some(repoeval::Line {
        prompt: before.unwrap_or_default().to_owned(),
        metadata: repoeval::Metadata {
            task_id: format!("{}/{index}", task.repository),
            ground_truth: [indentation, &task.target].concat(),
            fpath_tuple: std::iter::once(task.repository.clone()).chain(path).collect(),
            context_start_lineno: task.first_line,
            line_no: task.first_line + before.map_or(0, |before| 1 + count_newlines(before)),
        },
    })
}

fn count_newlines(text: &str) -> usize {
    text.matches('\n').count()
}
