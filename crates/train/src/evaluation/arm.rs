//! The arms of an evaluation by name: what chooses the code that a prompt shows.

use std::fmt;

/// The encoder before training, as a retriever of an evaluation.
pub const UNTRAINED: &str = "untrained";

/// The encoder after training.
pub const TRAINED: &str = "trained";

/// What chooses the code that a prompt shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arm {
    /// `none`: no code from other files.
    None,
    /// `given`: the code that a benchmark's file itself shows.
    Given,
    /// `random`: one candidate of the cluster.
    Random,
    /// `bm25`: the most similar candidates by BM25.
    Bm25,
    /// `jaccard`: the windows most similar as sets of tokens, in `RepoCoder`'s prompt; its first iteration.
    Jaccard,
    /// `repocoder` or `repocoder_NAME`: windows by sets of tokens or by a dense retriever, retrieved again with what was
    /// written; `repocoder_adaptive` ends where a further iteration would change nothing.
    RepoCoder {
        /// The dense retriever; sets of tokens if there is none.
        retriever: Option<String>,
        /// Whether the number of iterations is adaptive.
        is_adaptive: bool,
    },
    /// `NAME` or `NAME_without_stop`: the most similar candidates by a dense retriever.
    Dense {
        /// The retriever.
        retriever: String,
        /// Whether the stop candidate takes part.
        with_stop: bool,
    },
    /// `best_of_random` or `best_of_NAME`: of as many candidates as a retriever ranks, the one that the evaluator, who
    /// knows the target, likes best, or none of them. No retriever can know that: it is the ceiling (an oracle), and
    /// with random candidates it says how much of the ceiling is luck in choosing among many.
    BestOf {
        /// What proposes; random candidates of the cluster if there is none.
        retriever: Option<String>,
    },
}

impl Arm {
    /// Reads a name; `retrievers` are those that an experiment knows.
    #[must_use]
    pub fn parse(name: &str, retrievers: &[&str]) -> Option<Self> {
        let known = |name: &str| retrievers.contains(&name).then(|| name.to_owned());
        Some(match name {
            "none" => Self::None,
            "given" => Self::Given,
            "random" => Self::Random,
            "bm25" => Self::Bm25,
            "best_of_random" => Self::BestOf { retriever: None },
            "jaccard" => Self::Jaccard,
            "repocoder" => Self::RepoCoder { retriever: None, is_adaptive: false },
            "repocoder_adaptive" => Self::RepoCoder { retriever: None, is_adaptive: true },
            _ => {
                if let Some(retriever) = known(name) {
                    Self::Dense { retriever, with_stop: true }
                } else if let Some(retriever) = name.strip_suffix("_without_stop").and_then(known) {
                    Self::Dense { retriever, with_stop: false }
                } else if let Some(retriever) = name.strip_prefix("repocoder_").and_then(known) {
                    Self::RepoCoder { retriever: Some(retriever), is_adaptive: false }
                } else {
                    Self::BestOf { retriever: Some(name.strip_prefix("best_of_").and_then(known)?) }
                }
            }
        })
    }

    /// Returns the names that [`Self::parse`] reads, for messages.
    #[must_use]
    pub fn names(retrievers: &[&str]) -> String {
        let of_retrievers = |pattern: &dyn Fn(&str) -> String| -> Vec<String> {
            retrievers.iter().map(|retriever| pattern(retriever)).collect()
        };
        let fixed = ["none", "given", "random", "bm25", "jaccard", "repocoder", "repocoder_adaptive", "best_of_random"];
        let fixed = fixed.map(str::to_owned).to_vec();
        let lists = [
            fixed,
            of_retrievers(&str::to_owned),
            of_retrievers(&|name| format!("{name}_without_stop")),
            of_retrievers(&|name| format!("best_of_{name}")),
            of_retrievers(&|name| format!("repocoder_{name}")),
        ];
        lists.concat().join(", ")
    }

    /// Returns whether the arm retrieves windows and writes by turns.
    #[must_use]
    pub fn iterates(&self) -> bool {
        matches!(self, Self::Jaccard | Self::RepoCoder { .. })
    }

    /// Returns whether the arm needs the files of the repository.
    #[must_use]
    pub fn retrieves(&self) -> bool {
        !matches!(self, Self::None | Self::Given)
    }

    /// Returns the retriever that the arm needs.
    #[must_use]
    pub fn retriever(&self) -> Option<&str> {
        match self {
            Self::None | Self::Given | Self::Random | Self::Bm25 | Self::Jaccard => None,
            Self::Dense { retriever, .. } => Some(retriever),
            Self::BestOf { retriever } | Self::RepoCoder { retriever, .. } => retriever.as_deref(),
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Given => f.write_str("given"),
            Self::Random => f.write_str("random"),
            Self::Bm25 => f.write_str("bm25"),
            Self::Dense { retriever, with_stop: true } => f.write_str(retriever),
            Self::Dense { retriever, with_stop: false } => write!(f, "{retriever}_without_stop"),
            Self::Jaccard => f.write_str("jaccard"),
            Self::RepoCoder { retriever: None, is_adaptive: false } => f.write_str("repocoder"),
            Self::RepoCoder { retriever: None, is_adaptive: true } => f.write_str("repocoder_adaptive"),
            Self::RepoCoder { retriever: Some(retriever), .. } => write!(f, "repocoder_{retriever}"),
            Self::BestOf { retriever } => write!(f, "best_of_{}", retriever.as_deref().unwrap_or("random")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_reads_back_from_its_name() {
        let retrievers = ["untrained", "trained", "sft"];
        for name in Arm::names(&retrievers).split(", ") {
            let arm = Arm::parse(name, &retrievers).unwrap();
            assert_eq!(arm.to_string(), name);
            assert!(arm.retriever().is_none_or(|retriever| name.contains(retriever)));
        }
        assert_eq!(Arm::parse("best_of_none", &retrievers), None);
        assert_eq!(Arm::parse("dpo", &retrievers), None);
    }
}
