//! How the candidates that a prompt shows are chosen.

mod chosen;
mod dense;

use models::Workers;
use repo::candidates::{Candidate, CodeCandidate};

use crate::batches::Progress;
use crate::bm25::{self, Bm25};
use crate::query::{QUERY_LINES_MAX, query};
use crate::{Cursor, Variant};
use dense::Filtered;

pub use chosen::{Chosen, Ranked};
pub use dense::Dense;

/// What chooses candidates.
#[derive(Debug, Clone, Copy)]
pub enum Arm<'a> {
    /// Nothing: no code from other files is shown.
    None,
    /// The most similar candidates by BM25.
    Bm25 {
        /// How many.
        k: usize,
    },
    /// The most similar candidates by a dense retriever, of those that BM25 lets through.
    Dense(Dense<'a>),
}

/// What chooses candidates, and from what query.
#[derive(Debug, Clone, Copy)]
pub struct Strategy<'a> {
    /// What chooses.
    pub arm: Arm<'a>,
    /// Non-blank lines of the left context in a query.
    pub query_lines_max: usize,
    /// How BM25 reads a query: in lower case, as it reads candidates (paper), or as it is (released code), where a
    /// word with a capital letter matches nothing.
    pub bm25_variant: Variant,
}

impl<'a> Strategy<'a> {
    /// Returns a strategy with the paper's query.
    #[must_use]
    pub fn new(arm: Arm<'a>) -> Self {
        Self { arm, query_lines_max: QUERY_LINES_MAX, bm25_variant: Variant::Paper }
    }
}

/// What the choice is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Rewards: the best `k - 1` candidates with the stop candidate after them, wherever it would rank.
    Training,
    /// A completion: the stop candidate ranks among the others, and ends the list where it stands.
    Inference,
}

/// A cursor and the candidates to choose from.
#[derive(Debug, Clone, Copy)]
pub struct ChoiceRequest<'a> {
    /// Where the completion is wanted.
    pub cursor: Cursor<'a>,
    /// Code from other files.
    pub candidates: &'a [CodeCandidate],
}

impl ChoiceRequest<'_> {
    fn code(&self, index: usize) -> Candidate {
        Candidate::Code(self.candidates[index].clone())
    }
}

/// Chooses candidates for many cursors at once; training and inference both come here.
///
/// BM25 runs on `workers`, one request on each; the retriever embeds the texts of all requests on its own workers, equal
/// texts once, and reports its progress.
#[must_use]
pub fn choose(
    strategy: &Strategy<'_>,
    requests: &[ChoiceRequest<'_>],
    stage: Stage,
    workers: &Workers,
    progress: &(dyn Fn(Progress) + Sync),
) -> Vec<Chosen> {
    match strategy.arm {
        Arm::None => vec![Chosen::default(); requests.len()],
        Arm::Bm25 { k } => workers.map(requests.to_vec(), |_, request| {
            let (query, filtered) = prefilter(strategy, &request, k);
            let ranked = filtered.into_iter().map(|(index, score)| (request.code(index), score as f32));
            Chosen::new(query, ranked)
        }),
        Arm::Dense(dense) => {
            let filtered = workers.map(requests.to_vec(), |_, request| {
                let (query, filtered) = prefilter(strategy, &request, dense.prefilter_k);
                Filtered { query, indices: filtered.into_iter().map(|(index, _)| index).collect() }
            });
            dense.rerank(requests, filtered, stage, progress)
        }
    }
}

/// Returns the query at a cursor and the `k` candidates that BM25 finds most similar to it, with their scores.
fn prefilter(strategy: &Strategy<'_>, request: &ChoiceRequest<'_>, k: usize) -> (String, Vec<(usize, f64)>) {
    let query = query(request.cursor.left_context, strategy.query_lines_max);
    let documents: Vec<_> = request.candidates.iter().map(|candidate| bm25::words(&candidate.code, true)).collect();
    let words = bm25::words(&query, strategy.bm25_variant == Variant::Paper);
    let filtered = Bm25::new(&documents).top(&words, k);
    (query, filtered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, code_candidate};
    use crate::retriever::{Retriever, RetrieverLimits, similarity};
    use models::encoder::Encoder;
    use repo::language::Language;

    const LEFT: &str = "from shapes import Circle\n\narea = Circle( 2 )";

    fn candidates() -> Vec<CodeCandidate> {
        let texts = [
            "class Square :",
            "class Circle( Shape ) :",
            "def area ( self ) :",
            "x = 2",
            "print ( area )",
            "Circle( 1 )",
        ];
        texts.iter().enumerate().map(|(i, text)| code_candidate(&format!("{i}.py"), text)).collect()
    }

    fn cursor(left_context: &str) -> Cursor<'_> {
        Cursor { path: "main.py", language: Language::Python, left_context, right_context: "" }
    }

    fn dense<'a>(encoder: &'a Encoder, workers: &'a Workers, k: usize, with_stop: bool) -> Strategy<'a> {
        let retriever = Retriever { encoder, workers, limits: RetrieverLimits::default() };
        Strategy::new(Arm::Dense(Dense { retriever, prefilter_k: 4, k, with_stop }))
    }

    fn run(strategy: &Strategy<'_>, candidates: &[CodeCandidate], stage: Stage) -> Chosen {
        let request = ChoiceRequest { cursor: cursor(LEFT), candidates };
        choose(strategy, &[request], stage, &Workers::inline(), &|_| ()).remove(0)
    }

    fn paths(chosen: &Chosen) -> Vec<&str> {
        let ranked = chosen.ranked.iter();
        ranked
            .map(|ranked| match &ranked.candidate {
                Candidate::Code(code) => code.path.as_str(),
                Candidate::Stop => "stop",
            })
            .collect()
    }

    #[test]
    fn the_first_arm_chooses_nothing() {
        assert_eq!(run(&Strategy::new(Arm::None), &candidates(), Stage::Inference), Chosen::default());
    }

    #[test]
    fn bm25_compares_the_query_with_the_code_alone() {
        let chosen = run(&Strategy::new(Arm::Bm25 { k: 3 }), &candidates(), Stage::Inference);
        assert_eq!(chosen.query, "from shapes import Circle\narea = Circle( 2 )");
        assert_eq!(paths(&chosen), ["3.py", "5.py", "4.py"]);
        assert!(chosen.ranked.is_sorted_by(|a, b| a.similarity >= b.similarity));
        assert_eq!(chosen.kept().len(), 3);
    }

    #[test]
    fn capital_letters_in_a_query_match_nothing_in_the_released_code() {
        let released = Strategy { bm25_variant: Variant::Released, ..Strategy::new(Arm::Bm25 { k: 2 }) };
        assert_eq!(paths(&run(&released, &candidates(), Stage::Inference)), ["3.py", "4.py"]);
    }

    #[test]
    fn training_appends_the_stop_candidate_to_the_best_that_bm25_let_through() {
        let (encoder, workers) = (fixtures::encoder(), Workers::new(2));
        let filtered = run(&Strategy::new(Arm::Bm25 { k: 4 }), &candidates(), Stage::Training);
        let chosen = run(&dense(&encoder, &workers, 3, true), &candidates(), Stage::Training);
        assert_eq!((chosen.ranked.len(), chosen.stopped_at()), (3, Some(2)));
        assert!(paths(&chosen)[..2].iter().all(|path| paths(&filtered).contains(path)));
        assert!(chosen.ranked[0].similarity >= chosen.ranked[1].similarity);
    }

    #[test]
    fn a_similarity_is_that_of_query_and_candidate_text() {
        let (encoder, workers) = (fixtures::encoder(), Workers::new(1));
        let retriever = Retriever { encoder: &encoder, workers: &workers, limits: RetrieverLimits::default() };
        let chosen = run(&dense(&encoder, &workers, 5, true), &candidates(), Stage::Training);
        let query = retriever.embed_queries(&[&chosen.query], &|_| ());
        for ranked in &chosen.ranked {
            let text = retriever.embed_candidates(&[ranked.candidate.text(Language::Python)], &|_| ());
            assert!((similarity(query.vector(0), text.vector(0)) - ranked.similarity).abs() < 1e-5);
        }
    }

    #[test]
    fn short_lists_are_not_filled() {
        let (encoder, workers) = (fixtures::encoder(), Workers::new(1));
        for stage in [Stage::Training, Stage::Inference] {
            let chosen = |candidates: &[CodeCandidate], with_stop| {
                run(&dense(&encoder, &workers, 10, with_stop), candidates, stage).ranked.len()
            };
            assert_eq!((chosen(&candidates(), true), chosen(&candidates(), false)), (5, 4));
            assert_eq!((chosen(&candidates()[..1], true), chosen(&candidates()[..1], false)), (2, 1));
            assert_eq!((chosen(&[], true), chosen(&[], false)), (1, 0));
        }
    }

    #[test]
    fn many_requests_at_once_give_what_each_gives_alone() {
        let (encoder, workers) = (fixtures::encoder(), Workers::new(2));
        let strategy = dense(&encoder, &workers, 3, true);
        let candidates = candidates();
        let lefts = [LEFT, "", "def area ( self ) :\n  return"];
        let requests: Vec<ChoiceRequest<'_>> = lefts
            .iter()
            .zip([&candidates[..], &candidates[2..], &[]])
            .map(|(left, candidates)| ChoiceRequest { cursor: cursor(left), candidates })
            .collect();
        let together = choose(&strategy, &requests, Stage::Inference, &Workers::new(2), &|_| ());
        for (request, chosen) in requests.iter().zip(&together) {
            let alone = choose(&strategy, &[*request], Stage::Inference, &Workers::inline(), &|_| ()).remove(0);
            assert_eq!(paths(&alone), paths(chosen));
            assert_eq!(alone.query, chosen.query);
        }
    }
}
