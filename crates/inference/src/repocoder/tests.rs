//! Iterations with a scripted writer, the leak guard, and a real decoder.

use std::cell::Cell;

use expect_test::expect;
use models::Decoder;
use proptest::prelude::*;
use repo::candidates::Candidate;
use repo::language::Language;
use repo::source::SourceFile;

use super::*;
use crate::fixtures::{self, file};
use crate::greedy::{Finish, Generated, Stop};
use crate::prompt::Shown;
use crate::retriever::{Retriever, RetrieverLimits, similarity};
use crate::strategies::{Arm, Strategy as Choice};
use crate::{Cursor, Seam};

/// A writer that follows a script: what it writes is a function of the prompt's text.
struct Script<F> {
    tokenizer: Tokenizer,
    rule: PromptRule,
    write: F,
}

impl<F: Fn(&str) -> String> Writer for Script<F> {
    fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    fn prompt_rule(&self) -> PromptRule {
        self.rule
    }

    fn write(
        &self,
        requests: &[CompletionRequest<'_>],
        chosen: Vec<Chosen>,
        prompts: Vec<Prompt>,
    ) -> Result<Vec<Completion>> {
        assert!(requests.len() == chosen.len() && chosen.len() == prompts.len());
        let generated =
            Generated { tokens: Vec::new(), score: 0.0, log_probabilities: Vec::new(), finish: Finish::Stopped };
        let completion = |(chosen, prompt): (Chosen, Prompt)| Completion {
            text: (self.write)(&self.tokenizer.decode(&prompt.tokens)),
            generated: generated.clone(),
            chosen,
            prompt,
            target_nll: Vec::new(),
        };
        Ok(chosen.into_iter().zip(prompts).map(completion).collect())
    }
}

fn script<F: Fn(&str) -> String>(rule: PromptRule, write: F) -> Script<F> {
    Script { tokenizer: fixtures::tokenizer(), rule, write }
}

fn roomy() -> PromptRule {
    PromptRule { cross_tokens_max: 4_000, context_tokens_max: 8_000, ..PromptRule::default() }
}

fn request(left_context: &str) -> CompletionRequest<'_> {
    let cursor = Cursor { path: "main.py", language: Language::Python, left_context, right_context: "" };
    CompletionRequest { cursor, candidates: &[], stop: Stop::Never, target: None }
}

fn run<F: Fn(&str) -> String>(
    writer: &Script<F>,
    rule: &RepoCoderRule,
    files: &[SourceFile],
    left_context: &str,
) -> Iterated {
    let files: Vec<&SourceFile> = files.iter().collect();
    let workers = Workers::inline();
    let index = WindowIndex::new(&files, rule.windows, Similarity::Jaccard(&writer.tokenizer), &workers);
    complete(writer, rule, &index, &[request(left_context)], &workers).unwrap().remove(0)
}

fn cross(writer: &Script<impl Fn(&str) -> String>, completion: &Completion) -> String {
    let text = writer.tokenizer.decode(&completion.prompt.tokens);
    let end = text.rfind(&format!("{}\n\n", "-".repeat(50))).map_or(0, |at| at + 52);
    text[..end].to_owned()
}

const SMALL: WindowRule = WindowRule { lines: 4, step: 2 };

fn shop() -> Vec<SourceFile> {
    vec![
        file(
            "cart.py",
            "class Cart:\n    def total(self):\n        return sum(self.items)\n\n    def clear(self):\n        self.items = []\n",
        ),
        file("main.py", "import cart\n\ncart = Cart()\nprint(cart.total())\nsecret = 1\n"),
    ]
}

#[test]
fn the_first_iteration_shows_what_follows_similar_code_and_later_ones_the_code_itself() {
    let rule = RepoCoderRule { windows: SMALL, top_k: 1, ..RepoCoderRule::default() };
    let writer = script(roomy(), |_| "    def clear(self):\n        self.items = []\n".to_owned());
    let left = "import cart\n\nclass Cart:\n";
    let iterated = run(&writer, &rule, &shop(), left);
    let shown: Vec<String> =
        iterated.iterations.iter().map(|completion| writer.tokenizer.decode(&completion.prompt.tokens)).collect();
    expect![[r"
        # Here are some relevant code fragments from other files of the repo:
        # --------------------------------------------------
        # the below code fragment can be found in:
        # cart.py
        # --------------------------------------------------
        # class Cart:
        #     def total(self):
        #         return sum(self.items)
        # 
        # --------------------------------------------------

        import cart

        class Cart:

        =====
        # Here are some relevant code fragments from other files of the repo:
        # --------------------------------------------------
        # the below code fragment can be found in:
        # cart.py
        # --------------------------------------------------
        #         return sum(self.items)
        # 
        #     def clear(self):
        #         self.items = []
        # --------------------------------------------------

        import cart

        class Cart:
    "]]
    .assert_eq(&shown.join("\n=====\n"));
    let queries: Vec<&str> = iterated.iterations.iter().map(|completion| completion.chosen.query.as_str()).collect();
    assert_eq!(queries, [left.trim_end(), "\nclass Cart:\n    def clear(self):\n        self.items = []"]);
    assert_eq!(iterated.end, End::Limit);
}

#[test]
fn the_released_code_leaves_blank_lines_out_of_later_queries_only() {
    let writer = script(roomy(), |_| "a\n\n\nb\n".to_owned());
    let queries = |variant| {
        let rule = RepoCoderRule { windows: SMALL, variant, ..RepoCoderRule::default() };
        let iterated = run(&writer, &rule, &shop(), "x = 1\n\ny = ");
        iterated.iterations.iter().map(|completion| completion.chosen.query.clone()).collect::<Vec<_>>()
    };
    assert_eq!(queries(Variant::Paper), ["x = 1\n\ny = ", "x = 1\n\ny = a\n"]);
    assert_eq!(queries(Variant::Released), ["x = 1\n\ny = ", "x = 1\ny = a\nb"]);
}

#[test]
fn indentation_before_the_cursor_is_no_line_of_the_first_query_but_belongs_to_what_is_written() {
    let rule = RepoCoderRule { windows: SMALL, ..RepoCoderRule::default() };
    let writer = script(roomy(), |_| "return x\n".to_owned());
    let iterated = run(&writer, &rule, &shop(), "def f(x):\n    ");
    assert_eq!(iterated.iterations[0].chosen.query, "def f(x):");
    assert_eq!(iterated.iterations[1].chosen.query, "def f(x):\n    return x");
}

#[test]
fn the_most_similar_block_is_last_and_one_that_does_not_fit_is_passed_over() {
    let line = |word: &str| format!("{word} = {word}({word})\n");
    let long = [line("alpha"), line("beta").repeat(30)].concat();
    let files =
        [file("far.py", &line("alpha")), file("long.py", &long), file("near.py", &(line("alpha") + &line("gamma")))];
    let windows = WindowRule { lines: 80, step: 40 };
    let rule = RepoCoderRule { windows, iterations_max: 1, ..RepoCoderRule::default() };
    let left = line("alpha") + &line("gamma");
    let show = |cross_tokens_max: usize, blocks_max: usize| {
        let writer = script(PromptRule { cross_tokens_max, ..roomy() }, |_| String::new());
        let iterated = run(&writer, &RepoCoderRule { blocks_max, ..rule }, &files, &left);
        let text = cross(&writer, &iterated.iterations[0]);
        let paths = text.lines().filter_map(|line| line.strip_prefix("# ")?.strip_suffix(".py")).map(str::to_owned);
        (paths.collect::<Vec<_>>(), iterated.iterations[0].prompt.shown.clone())
    };
    assert_eq!(show(4_000, 10), (vec!["long".to_owned(), "far".into(), "near".into()], vec![Shown::Whole; 3]));
    let block = |text: &str| fixtures::tokenizer().encode(text).len();
    let frame = "# the below code fragment can be found in:\n# near.py\n".to_owned()
        + &format!("# {}\n", "-".repeat(50)).repeat(2);
    let budget = 20 + 2 * block(&frame) + 2 * block(&left) + 60;
    assert_eq!(show(budget, 10), (vec!["far".to_owned(), "near".into()], vec![Shown::Whole, Shown::Whole, Shown::Not]));
    assert_eq!(show(4_000, 1), (vec!["near".to_owned()], vec![Shown::Whole, Shown::Not, Shown::Not]));
    assert_eq!(show(21, 10).0, Vec::<String>::new());
}

#[test]
fn adaptive_iterations_end_where_windows_or_text_stay_the_same() {
    let rule =
        RepoCoderRule { windows: SMALL, iterations_max: 9, is_adaptive: true, top_k: 1, ..RepoCoderRule::default() };
    let count = |text: &dyn Fn(&str) -> String, rule: &RepoCoderRule| {
        let iterated = run(&script(roomy(), text), rule, &shop(), "import cart\n\nclass Cart:\n");
        (iterated.iterations.len(), iterated.end)
    };
    let calls = Cell::new(0);
    let [cleared, summed] = ["    def clear(self):\n        self.items = []\n", "        return sum(self.items)\n"];
    let restless = |_: &str| {
        calls.set(calls.get() + 1);
        if calls.get() % 2 == 1 { cleared.to_owned() } else { summed.to_owned() }
    };
    assert_eq!(count(&|_| String::new(), &rule), (1, End::SameWindows));
    assert_eq!(count(&|_| cleared.to_owned(), &rule), (2, End::SameText));
    assert_eq!(count(&|_| cleared.to_owned(), &RepoCoderRule { is_adaptive: false, ..rule }), (9, End::Limit));
    assert_eq!(count(&restless, &rule), (9, End::Limit));
    assert_eq!(count(&restless, &RepoCoderRule { iterations_max: 0, ..rule }), (0, End::Limit));
}

fn completer<'a>(decoder: &'a Decoder, workers: &'a Workers) -> Completer<'a> {
    let strategy = Choice::new(Arm::None);
    let rule = PromptRule { cross_tokens_max: 60, context_tokens_max: 112, ..PromptRule::default() };
    let prompt = PromptRule { seam: Seam::Moved, ..rule };
    Completer { decoder, workers, strategy, prompt, tokens_max: 8 }
}

#[test]
fn several_cursors_give_what_each_gives_alone_for_any_number_of_workers() {
    let decoder = fixtures::decoder();
    let workers = Workers::new(2);
    let shop = shop();
    let files: Vec<&SourceFile> = shop.iter().collect();
    let rule = RepoCoderRule { windows: WindowRule { lines: 1, step: 1 }, ..RepoCoderRule::default() };
    let index = WindowIndex::new(&files, rule.windows, Similarity::Jaccard(decoder.tokenizer()), &workers);
    let requests = ["import cart\n\ncart", "class Cart:\n    ", ""].map(request);
    let together = complete(&completer(&decoder, &workers), &rule, &index, &requests, &workers).unwrap();
    for (request, together) in requests.iter().zip(together) {
        let inline = Workers::inline();
        let alone = complete(&completer(&decoder, &inline), &rule, &index, &[*request], &inline).unwrap().remove(0);
        assert_eq!(alone, together);
        assert_eq!(alone.iterations.len(), 2);
    }
}

#[test]
fn a_dense_retriever_ranks_windows_as_it_ranks_candidates() {
    let (encoder, workers) = (fixtures::encoder(), Workers::inline());
    let retriever = Retriever { encoder: &encoder, workers: &workers, limits: RetrieverLimits::default() };
    let shop = shop();
    let files: Vec<&SourceFile> = shop.iter().collect();
    let index = WindowIndex::new(&files, SMALL, Similarity::Dense(retriever), &workers);
    let guard = LeakGuard { path: "main.py", context_start: 0 };
    let top = index.top(&[("class Cart".to_owned(), guard)], 9, Variant::Paper, &workers).remove(0);
    assert_eq!(top.len(), 3);
    assert!(top.is_sorted_by(|a, b| a.1 >= b.1));
    let query = retriever.embed_queries(&["class Cart"], &|_| ());
    for (window, expected) in top {
        let location = &index.window(window).locations[0];
        let (path, lines) = (&location.path, location.lines.clone());
        let code = index.window(window).code.clone();
        let candidate = index::candidate(path, Language::Python, lines, code);
        let text = Candidate::Code(candidate).text(Language::Python);
        let text = retriever.embed_candidates(&[text], &|_| ());
        assert!((f64::from(similarity(query.vector(0), text.vector(0))) - expected).abs() < 1e-5);
    }
}

#[test]
fn equally_similar_windows_are_ordered_as_the_variant_orders_them() {
    let tokenizer = fixtures::tokenizer();
    let (files, workers) = ([file("a.py", "x = 1\n"), file("b.py", "1 = x\n")], Workers::inline());
    let files: Vec<&SourceFile> = files.iter().collect();
    let index = WindowIndex::new(&files, SMALL, Similarity::Jaccard(&tokenizer), &workers);
    let guard = LeakGuard { path: "main.py", context_start: 0 };
    let order = |variant| {
        index.top(&[("zzz".to_owned(), guard)], 2, variant, &workers)[0].iter().map(|(i, _)| *i).collect::<Vec<_>>()
    };
    assert_eq!(order(Variant::Paper), [0, 1]);
    assert_eq!(order(Variant::Released), [1, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every line of the cursor's file has a word of its own, so that any of them would be recognized in a prompt; some
    /// lines are those of another file, which may be shown from there.
    #[test]
    fn no_line_that_the_prompt_shows_itself_or_after_it_comes_from_the_cursors_file(
        shared in prop::collection::vec(any::<bool>(), 1..60),
        (cursor, within) in (0.0_f64..1.0, 0_usize..8),
        context_tokens in 0_usize..200,
        (lines, step) in (1_usize..8, 1_usize..5),
        is_released: bool,
        written in 0_usize..60,
    ) {
        let own: Vec<String> = shared.iter().enumerate().map(|(i, is_shared)| {
            if *is_shared { format!("both{i}q = 1") } else { format!("own{i}q = 1") }
        }).collect();
        let other: Vec<String> = shared.iter().enumerate().map(|(i, _)| format!("both{i}q = 1")).collect();
        let files = [file("main.py", &(own.join("\n") + "\n")), file("other.py", &(other.join("\n") + "\n"))];
        let hole = (cursor * own.len() as f64) as usize;
        let begun = &own[hole][..within.min(own[hole].len() - 1)];
        let left = own[..hole].iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat() + begun;
        let variant = if is_released { Variant::Released } else { Variant::Paper };
        let windows = WindowRule { lines, step };
        let rule = RepoCoderRule { windows, variant, top_k: 100, blocks_max: 100, ..RepoCoderRule::default() };
        // What is written is a line of the file, so that later queries look for exactly what must not be found.
        let target = own[written.min(own.len() - 1)].clone() + "\n";
        let prompt_rule = PromptRule { cross_tokens_max: 4_000, context_tokens_max: 4_000 + context_tokens, ..PromptRule::default() };
        let writer = script(prompt_rule, |_| target.clone());
        let iterated = run(&writer, &rule, &files, &left);
        for completion in &iterated.iterations {
            let first_shown = left[..completion.prompt.left_bytes_dropped].matches('\n').count();
            let cross = cross(&writer, completion);
            for (i, _) in shared.iter().enumerate().filter(|(i, is_shared)| *i >= first_shown && !**is_shared) {
                prop_assert!(!cross.contains(&format!("own{i}q")), "line {i} of {first_shown}.. in\n{cross}");
            }
            for ranked in &completion.chosen.ranked {
                let Candidate::Code(code) = &ranked.candidate else { unreachable!("windows are code") };
                prop_assert!(code.path != "main.py" || code.lines.end <= first_shown);
            }
            prop_assert!(completion.prompt.left_bytes_dropped <= left.len());
        }
    }
}
