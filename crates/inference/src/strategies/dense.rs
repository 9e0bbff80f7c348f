//! The second stage of retrieval: similarity of vectors, the stop candidate included.

use std::ops::Range;

use repo::candidates::Candidate;

use super::{ChoiceRequest, Chosen, Stage};
use crate::batches::Progress;
use crate::retriever::{Retriever, rank, similarity};

/// The most similar candidates by a dense retriever, of those that BM25 lets through.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a> {
    /// The retriever.
    pub retriever: Retriever<'a>,
    /// How many candidates BM25 lets through.
    pub prefilter_k: usize,
    /// How many candidates are ranked, the stop candidate included.
    pub k: usize,
    /// Whether the stop candidate takes part.
    pub with_stop: bool,
}

/// What BM25 lets through for one request.
pub(super) struct Filtered {
    pub(super) query: String,
    /// Indices of the request's candidates, best first.
    pub(super) indices: Vec<usize>,
}

impl Dense<'_> {
    /// Ranks the candidates that BM25 let through for each request.
    pub(super) fn rerank(
        &self,
        requests: &[ChoiceRequest<'_>],
        filtered: Vec<Filtered>,
        stage: Stage,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Vec<Chosen> {
        let similarities = self.similarities(requests, &filtered, progress);
        let rows = requests.iter().zip(filtered).zip(similarities);
        rows.map(|((request, Filtered { query, indices }), similarities)| {
            let ranked = arrange(&similarities, self.with_stop, self.k, stage).into_iter();
            Chosen::new(
                query,
                ranked.map(|(position, similarity)| (candidate(request, &indices, position), similarity)),
            )
        })
        .collect()
    }

    /// Returns the similarity of every request's candidates to its query, the stop candidate last.
    fn similarities(
        &self,
        requests: &[ChoiceRequest<'_>],
        filtered: &[Filtered],
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Vec<Vec<f32>> {
        let (texts, spans) = self.texts(requests, filtered);
        let queries: Vec<&str> = filtered.iter().map(|filtered| filtered.query.as_str()).collect();
        let queries = self.retriever.embed_queries(&queries, &|_| ());
        let candidates = self.retriever.embed_candidates(&texts, progress);
        let similarities = |(query, span): (usize, Range<usize>)| {
            span.map(|text| similarity(queries.vector(query), candidates.vector(text))).collect()
        };
        spans.into_iter().enumerate().map(similarities).collect()
    }

    /// Returns the texts of all requests' candidates in one list, and the span of each request.
    fn texts(&self, requests: &[ChoiceRequest<'_>], filtered: &[Filtered]) -> (Vec<String>, Vec<Range<usize>>) {
        let mut texts = Vec::new();
        let mut spans = Vec::new();
        for (request, Filtered { indices, .. }) in requests.iter().zip(filtered) {
            let start = texts.len();
            let positions = 0..indices.len() + usize::from(self.with_stop);
            let candidates = positions.map(|position| candidate(request, indices, position));
            texts.extend(candidates.map(|candidate| candidate.text(request.cursor.language)));
            spans.push(start..texts.len());
        }
        (texts, spans)
    }
}

/// Returns the candidate at a position among those BM25 let through; after the last stands the stop candidate.
fn candidate(request: &ChoiceRequest<'_>, indices: &[usize], position: usize) -> Candidate {
    indices.get(position).map_or(Candidate::Stop, |&index| request.code(index))
}

/// Returns the positions chosen by similarity, with it; with a stop candidate, that is the last position.
fn arrange(similarities: &[f32], with_stop: bool, k: usize, stage: Stage) -> Vec<(usize, f32)> {
    match similarities.split_last() {
        Some((&stop, code)) if with_stop && stage == Stage::Training => {
            let best = rank(code).into_iter().take(k.saturating_sub(1));
            best.chain([(code.len(), stop)]).collect()
        }
        _ => rank(similarities).into_iter().take(k).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIMILARITIES: [f32; 5] = [0.1, 0.8, 0.3, 0.8, 0.5];

    fn positions(with_stop: bool, k: usize, stage: Stage) -> Vec<usize> {
        arrange(&SIMILARITIES, with_stop, k, stage).into_iter().map(|(position, _)| position).collect()
    }

    #[test]
    fn in_training_the_stop_candidate_follows_the_best_others() {
        assert_eq!(positions(true, 3, Stage::Training), [1, 3, 4]);
        assert_eq!(positions(true, 10, Stage::Training), [1, 3, 2, 0, 4]);
        assert_eq!(positions(true, 1, Stage::Training), [4]);
    }

    #[test]
    fn in_inference_the_stop_candidate_ranks_among_the_others() {
        assert_eq!(positions(true, 3, Stage::Inference), [1, 3, 4]);
        assert_eq!(positions(true, 4, Stage::Inference), [1, 3, 4, 2]);
        assert_eq!(positions(true, 2, Stage::Inference), [1, 3]);
    }

    #[test]
    fn without_a_stop_candidate_both_stages_agree() {
        assert_eq!(positions(false, 3, Stage::Training), [1, 3, 4]);
        assert_eq!(positions(false, 9, Stage::Inference), [1, 3, 4, 2, 0]);
        assert!(arrange(&[], false, 3, Stage::Training).is_empty());
    }

    #[test]
    fn a_request_without_code_leaves_the_stop_candidate() {
        assert_eq!(arrange(&[0.2], true, 10, Stage::Training), [(0, 0.2)]);
        assert_eq!(arrange(&[0.2], true, 10, Stage::Inference), [(0, 0.2)]);
    }

    proptest! {
        #[test]
        fn nothing_left_out_is_more_similar_than_a_chosen_candidate(
            similarities in prop::collection::vec(-1.0_f32..1.0, 1..20),
            k in 1_usize..12,
        ) {
            let chosen = arrange(&similarities, true, k, Stage::Training);
            prop_assert_eq!(chosen.len(), k.min(similarities.len()));
            prop_assert_eq!(chosen[chosen.len() - 1].0, similarities.len() - 1);
            let least = chosen[..chosen.len() - 1].iter().map(|(_, s)| *s).fold(f32::INFINITY, f32::min);
            let left_out = (0..similarities.len()).filter(|i| chosen.iter().all(|(j, _)| i != j));
            prop_assert!(left_out.into_iter().all(|i| similarities[i] <= least));
        }
    }
}
