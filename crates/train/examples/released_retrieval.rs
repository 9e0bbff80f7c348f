//! Compares what this workspace retrieves and shows in its released variants with the values that
//! `tests/golden/released_retrieval.py` wrote, on 1,000 files and 1,000 cursors; that script says how to run both.

#![allow(clippy::print_stdout, reason = "a program that prints its result")]

use std::path::Path;

use anyhow::{Context, bail, ensure};
use corpus::crawl::CrawledRepository;
use inference::complete::{Completion, CompletionRequest};
use inference::greedy::{Finish, Generated, Stop};
use inference::prompt::{self, Prompt, PromptRule};
use inference::repocoder::{self, RepoCoderRule, Similarity, WindowIndex, Writer};
use inference::strategies::{Arm, ChoiceRequest, Chosen, Stage, Strategy, choose};
use inference::windows::{WindowRule, lines, windows};
use inference::{Cursor, Variant};
use models::gguf::Gguf;
use models::{Tokenizer, Workers, gguf_tokenizer};
use repo::candidates::{
    Candidate, CandidateRule, CodeCandidate, SPLIT_LINES_MAX, SplitVariant, WINDOW_LINES, candidates, candidates_for,
};
use repo::source::SourceFile;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Files and cursors compared.
const N: usize = 1_000;

/// Windows retrieved by BM25, and shown.
const BM25: (usize, usize) = (100, 5);

/// Lines after the cursor that stand for what a model writes.
const WRITTEN_LINES: usize = 12;

const SPLIT: CandidateRule =
    CandidateRule::SplitAggregate { lines_max: SPLIT_LINES_MAX, variant: SplitVariant::Released };

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tokenizer", gguf, output] => Ok(tokenizer(gguf)?.save(Path::new(output))?),
        ["compare", files, gguf, golden] => compare(files, &tokenizer(gguf)?, golden),
        _ => bail!("give `tokenizer GGUF OUTPUT` or `compare FILES.parquet GGUF GOLDEN.json`"),
    }
}

fn tokenizer(path: &str) -> anyhow::Result<Tokenizer> {
    let path = Path::new(path);
    Ok(Tokenizer::from_inner(gguf_tokenizer::tokenizer(&Gguf::open(path)?)?, path)?)
}

fn compare(files: &str, tokenizer: &Tokenizer, golden: &str) -> anyhow::Result<()> {
    let repositories = corpus::table::read_files(Path::new(files))?;
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(golden)?)?;
    let n_files: usize = repositories.iter().map(|crawled| crawled.repository.files().len()).sum();
    ensure!(golden["n_files"] == n_files, "the values are of {} files, these are {n_files}", golden["n_files"]);
    let workers = Workers::new(std::thread::available_parallelism()?.get());
    let of_files = file_values(&repositories, &workers);
    let of_cursors = cursor_values(&repositories, tokenizer, &workers);
    let mut n_different = 0;
    for (name, values) in of_files.into_iter().chain(of_cursors) {
        let expected = golden[name].as_array().context("a list of values is missing")?;
        ensure!(expected.len() == values.len(), "{name}: {} values, not {}", values.len(), expected.len());
        let equal = expected.iter().zip(&values).map(|(expected, value)| expected == value);
        let different: Vec<usize> = equal.enumerate().filter(|(_, equal)| !equal).map(|(index, _)| index).collect();
        println!("{name}: {} of {} equal", values.len() - different.len(), values.len());
        if let Some(first) = different.first() {
            println!("  the first that differs is number {first}");
        }
        n_different += different.len();
    }
    ensure!(n_different == 0, "{n_different} values differ");
    Ok(())
}

type Values = Vec<(&'static str, Vec<String>)>;

fn file_values(repositories: &[CrawledRepository], workers: &Workers) -> Values {
    let all: Vec<&SourceFile> = repositories.iter().flat_map(|crawled| crawled.repository.files()).collect();
    let chosen: Vec<&SourceFile> = (0..N).map(|i| all[i * all.len() / N]).collect();
    let of = |values: &(dyn Fn(&SourceFile) -> String + Sync)| workers.map(chosen.clone(), |_, file| values(file));
    vec![
        ("split_aggregate", of(&|file| digest_candidates(&candidates(file, &SPLIT)))),
        (
            "fixed_windows",
            of(&|file| digest_candidates(&candidates(file, &CandidateRule::FixedWindow { lines: WINDOW_LINES }))),
        ),
        ("repocoder_windows", of(&digest_windows)),
    ]
}

fn digest_candidates(candidates: &[CodeCandidate]) -> String {
    let items = candidates.iter().flat_map(|candidate| {
        let (first, last) = candidate.listed;
        [first.to_string(), last.to_string(), candidate.code.clone()]
    });
    digest(items)
}

/// Windows of equal text are one; their places put them back in order.
fn digest_windows(file: &SourceFile) -> String {
    let windows = windows(&[file], WindowRule::default());
    let mut places: Vec<_> =
        windows.iter().flat_map(|window| window.locations.iter().map(|place| (&place.lines, &window.code))).collect();
    places.sort_by_key(|(lines, _)| (lines.start, lines.end));
    digest(places.into_iter().flat_map(|(lines, code)| [code.clone(), lines.start.to_string(), lines.end.to_string()]))
}

fn digest(items: impl IntoIterator<Item = String>) -> String {
    let joined = items.into_iter().collect::<Vec<_>>().join("\0");
    Sha256::digest(joined.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// A place in a file of a repository, by the same rule as in the script.
struct Place<'a> {
    repository: &'a CrawledRepository,
    file: &'a SourceFile,
    left_context: &'a str,
    written: String,
}

fn places(repositories: &[CrawledRepository]) -> Vec<Place<'_>> {
    let small = repositories.iter().filter(|crawled| (5..=100).contains(&crawled.repository.files().len()));
    let files = small.flat_map(|crawled| crawled.repository.files().iter().map(move |file| (crawled, file)));
    let usable: Vec<_> = files.filter(|(_, file)| lines(&file.text).len() >= 30).collect();
    let place = |i: usize| {
        let (repository, file) = usable[i * usable.len() / N];
        let lines = lines(&file.text);
        let hole = 10 + (i * 7_919) % (lines.len() - 20);
        let line = lines[hole];
        let columns = [0, line.chars().count() / 2, line.len() - line.trim_start_matches([' ', '\t']).len()];
        let column: usize = line.chars().take(columns[i % 3]).map(char::len_utf8).sum();
        let start = |line: usize| lines[line].as_ptr() as usize - file.text.as_ptr() as usize;
        let at = start(hole) + column;
        let end = if hole + WRITTEN_LINES < lines.len() { start(hole + WRITTEN_LINES) } else { file.text.len() };
        Place { repository, file, left_context: &file.text[..at], written: file.text[at..end].to_owned() }
    };
    (0..N).map(place).collect()
}

fn cursor_values(repositories: &[CrawledRepository], tokenizer: &Tokenizer, workers: &Workers) -> Values {
    let places = places(repositories);
    let mut rows: Vec<[String; 5]> = Vec::new();
    for places in places.chunk_by(|a, b| std::ptr::eq(a.repository, b.repository)) {
        let files: Vec<&SourceFile> = places[0].repository.repository.files().iter().collect();
        let index = WindowIndex::new(&files, WindowRule::default(), Similarity::Jaccard(tokenizer), workers);
        rows.extend(workers.map(places.iter().collect(), |_, place: &Place<'_>| {
            let [bm25, prompt] = rlcoder(place, &files, tokenizer);
            let [queries, retrieved, prompts] = repocoder(place, &index, tokenizer);
            [bm25, prompt, queries, retrieved, prompts]
        }));
    }
    let names = ["bm25", "rlcoder_prompts", "repocoder_queries", "repocoder_retrieved", "repocoder_prompts"];
    let column = |(index, name): (usize, &'static str)| (name, rows.iter().map(|row| row[index].clone()).collect());
    names.into_iter().enumerate().map(column).collect()
}

fn cursor<'a>(place: &Place<'a>) -> Cursor<'a> {
    Cursor {
        path: &place.file.path,
        language: place.file.language,
        left_context: place.left_context,
        right_context: "",
    }
}

fn prompt_rule() -> PromptRule {
    PromptRule { variant: Variant::Released, ..PromptRule::default() }
}

/// Returns the values of BM25's order and of the prompt that shows its best.
fn rlcoder(place: &Place<'_>, files: &[&SourceFile], tokenizer: &Tokenizer) -> [String; 2] {
    let candidates = candidates_for(files, &place.file.path, &SPLIT);
    let strategy = Strategy { bm25_variant: Variant::Released, ..Strategy::new(Arm::Bm25 { k: BM25.0 }) };
    let request = ChoiceRequest { cursor: cursor(place), candidates: &candidates };
    let chosen = choose(&strategy, &[request], Stage::Inference, &Workers::inline(), &|_| ()).remove(0);
    let kept = chosen.kept();
    let prompt = prompt::build(tokenizer, &prompt_rule(), cursor(place), &kept[..BM25.1.min(kept.len())]);
    let order = kept.iter().filter_map(|candidate| match candidate {
        Candidate::Code(code) => Some([code.path.clone(), code.listed.0.to_string(), code.listed.1.to_string()]),
        Candidate::Stop => None,
    });
    [digest(order.flatten()), digest(prompt.tokens.iter().map(u32::to_string))]
}

/// Returns the values of both iterations' queries, windows and prompts.
fn repocoder(place: &Place<'_>, index: &WindowIndex<'_>, tokenizer: &Tokenizer) -> [String; 3] {
    let writer = Rest { tokenizer, written: &place.written };
    let rule = RepoCoderRule { variant: Variant::Released, ..RepoCoderRule::default() };
    let request = CompletionRequest { cursor: cursor(place), candidates: &[], stop: Stop::Never, target: None };
    let iterated = repocoder::complete(&writer, &rule, index, &[request], &Workers::inline());
    let iterations = iterated.expect("a writer without a model does not fail").remove(0).iterations;
    let queries = iterations.iter().map(|completion| completion.chosen.query.clone());
    let ranked = iterations.iter().flat_map(|completion| &completion.chosen.ranked);
    let retrieved = ranked.filter_map(|ranked| match &ranked.candidate {
        Candidate::Code(code) => Some(code.code.clone()),
        Candidate::Stop => None,
    });
    let tokens = iterations.iter().flat_map(|completion| completion.prompt.tokens.iter().map(u32::to_string));
    let first = iterations[0].prompt.tokens.len().to_string();
    [digest(queries), digest(retrieved), digest([first].into_iter().chain(tokens))]
}

/// Writes what the file goes on with.
struct Rest<'a> {
    tokenizer: &'a Tokenizer,
    written: &'a str,
}

impl Writer for Rest<'_> {
    fn tokenizer(&self) -> &Tokenizer {
        self.tokenizer
    }

    fn prompt_rule(&self) -> PromptRule {
        prompt_rule()
    }

    fn write(
        &self,
        _requests: &[CompletionRequest<'_>],
        chosen: Vec<Chosen>,
        prompts: Vec<Prompt>,
    ) -> inference::Result<Vec<Completion>> {
        let completion = |(chosen, prompt): (Chosen, Prompt)| Completion {
            text: self.written.to_owned(),
            generated: Generated {
                tokens: Vec::new(),
                score: 0.0,
                log_probabilities: Vec::new(),
                finish: Finish::Stopped,
            },
            chosen,
            prompt,
            target_nll: Vec::new(),
        };
        Ok(chosen.into_iter().zip(prompts).map(completion).collect())
    }
}
