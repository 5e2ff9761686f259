//! Which way of cutting finds what was asked for: span recall, precision and overlap
//! (IoU) of the five best chunks, by strategy, size, overlap and embedder input. The trials
//! `as ingested` have the headings marked and embed what an ingest embeds.
//!
//! Needs the evaluation set (`EVAL_DIR`, or `../shared/eval` beside the project), its scorer
//! run by `python3`, and the local model's folder.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use model::{Atom, AtomKind, Chunk, ChunkPolicy, Parsed, Span, Strategy, TokenCounter};
use pipeline::query::{self, Answer};
use pipeline::{chunk, units};
use providers::{Embedder, LocalEmbedder, LocalSettings};
use serde::Deserialize;

use crate::peers::eval_folder;
use crate::report::Report;

const BEST: usize = 5;
/// What is counted rather than shared out.
const CHUNKS: &str = "chunks";
const TOKENS: &str = "tokens a chunk";

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let Some(folder) = eval_folder() else {
        println!("chunk_eval: no evaluation set here (EVAL_DIR), nothing measured");
        return Ok(());
    };
    let mut eval = Eval::open(&folder)?;
    for trial in trials() {
        let scores = eval.score(&trial)?;
        for (what, value) in scores {
            report.figure(format!("{}: {what}", trial.name), value, unit(what));
        }
    }
    Ok(())
}

fn unit(what: &str) -> &'static str {
    match what {
        CHUNKS | TOKENS => "",
        _ => "%",
    }
}

struct Trial {
    name: String,
    policy: ChunkPolicy,
    headings: bool,
    input: fn(&Chunk, &dyn TokenCounter) -> String,
}

fn trials() -> Vec<Trial> {
    let text: fn(&Chunk, &dyn TokenCounter) -> String = |chunk, _| chunk.text.clone();
    let trial = |strategy: Strategy, sizes: (u32, u32, u32), headings: bool| Trial {
        name: format!(
            "{strategy} {}/{}/{}{}",
            sizes.0,
            sizes.1,
            sizes.2,
            if headings { " headings" } else { "" }
        ),
        policy: ChunkPolicy::new(strategy, sizes, 254).expect("within the model"),
        headings,
        input: text,
    };
    let mut trials = Vec::new();
    for strategy in Strategy::ALL {
        trials.push(trial(strategy, (200, 254, 30), false));
    }
    for strategy in [Strategy::Structural, Strategy::Sentence] {
        for sizes in [
            (200, 254, 0),
            (130, 200, 0),
            (130, 200, 30),
            (100, 254, 0),
            (60, 128, 0),
        ] {
            trials.push(trial(strategy, sizes, false));
        }
    }
    let as_ingested = |strategy: Strategy, sizes: (u32, u32, u32)| {
        let mut ingested = trial(strategy, sizes, true);
        ingested.name += " as ingested";
        ingested.input = |chunk, tokens| chunk::embedder_input(chunk, 254, tokens).0;
        ingested
    };
    for strategy in Strategy::ALL {
        trials.push(as_ingested(strategy, (200, 254, 30)));
    }
    for sizes in [(200, 254, 0), (130, 200, 0), (130, 200, 30)] {
        trials.push(as_ingested(Strategy::Structural, sizes));
    }
    trials.push(trial(Strategy::Structural, (200, 254, 30), true));
    trials
}

#[derive(Deserialize)]
struct Question {
    question: String,
    corpus: String,
    references: Vec<(u64, u64)>,
}

struct Eval {
    folder: PathBuf,
    corpora: Vec<(String, String)>,
    questions: Vec<(Question, Vec<f32>)>,
    embedder: LocalEmbedder,
    runtime: tokio::runtime::Runtime,
    known: HashMap<String, Vec<f32>>,
}

impl Eval {
    fn open(folder: &Path) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let weights = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../.tools/models/all-MiniLM-L6-v2"
        );
        let embedder = LocalEmbedder::open(&LocalSettings::of(weights))?;
        let mut asked = Vec::new();
        for question in questions(folder)? {
            let vector = runtime.block_on(embedder.embed_query(&question.question))?;
            asked.push((question, vector));
        }
        let corpus = |name: &str| -> anyhow::Result<_> {
            let path = folder.join(format!("chunk_eval/corpora/{name}.md"));
            Ok((name.to_owned(), std::fs::read_to_string(path)?))
        };
        Ok(Self {
            folder: folder.to_owned(),
            corpora: vec![corpus("state_of_the_union")?, corpus("wikitexts")?],
            questions: asked,
            embedder,
            runtime,
            known: HashMap::new(),
        })
    }

    fn score(&mut self, trial: &Trial) -> anyhow::Result<Vec<(&'static str, f64)>> {
        let mut chunks = Vec::new();
        let counter = self.embedder.tokens();
        for (name, text) in &self.corpora {
            for unit in units::units(&parsed(text, trial.headings)) {
                let made = chunk::chunk(&unit, trial.policy, &*counter);
                chunks.extend(made.into_iter().map(|chunk| (name.clone(), chunk)));
            }
        }
        for (_, chunk) in &chunks {
            ensure!(
                counter.count(&chunk.text) == chunk.tokens as usize,
                "counts add up"
            );
        }
        let inputs: Vec<String> = chunks
            .iter()
            .map(|(_, chunk)| (trial.input)(chunk, &*counter))
            .collect();
        self.embed(&inputs)?;
        let vectors: Vec<&Vec<f32>> = inputs.iter().map(|input| &self.known[input]).collect();
        let tokens: u32 = chunks.iter().map(|(_, chunk)| chunk.tokens).sum();
        let mut scores = vec![
            (CHUNKS, chunks.len() as f64),
            (TOKENS, f64::from(tokens) / chunks.len() as f64),
        ];
        scores.extend(self.ceiling(&chunks)?);
        scores.extend(self.retrieved(&chunks, &vectors)?);
        scores.extend(self.answered(&chunks, &vectors));
        Ok(scores)
    }

    fn embed(&mut self, inputs: &[String]) -> anyhow::Result<()> {
        let new: Vec<String> = inputs
            .iter()
            .filter(|i| !self.known.contains_key(*i))
            .cloned()
            .collect();
        let vectors = self.runtime.block_on(self.embedder.embed_passages(&new))?;
        self.known.extend(new.into_iter().zip(vectors));
        Ok(())
    }

    fn ceiling(&self, chunks: &[(String, Chunk)]) -> anyhow::Result<Vec<(&'static str, f64)>> {
        let line = |(corpus, chunk): &(String, Chunk)| serde_json::json!({"corpus": corpus, "start": chunk.span.char_start, "end": chunk.span.char_end});
        let said = self.scorer(&["--chunks"], chunks.iter().map(line))?;
        Ok(vec![("precision_omega", after(&said, "precision_omega")?)])
    }

    fn retrieved(
        &self,
        chunks: &[(String, Chunk)],
        vectors: &[&Vec<f32>],
    ) -> anyhow::Result<Vec<(&'static str, f64)>> {
        let lines = self
            .questions
            .iter()
            .enumerate()
            .map(|(q, (question, vector))| {
                let spans: Vec<[u64; 2]> = best(vector, chunks, vectors, |_| true)
                    .into_iter()
                    .map(|at| span(&chunks[at], at, &question.corpus))
                    .collect();
                serde_json::json!({"q": q, "retrieved": spans})
            });
        let said = self.scorer(&[], lines)?;
        Ok(vec![
            ("recall", after(&said, "recall")?),
            ("precision", after(&said, "precision")?),
            ("IoU", after(&said, "IoU")?),
        ])
    }

    /// Extractive answers from the five best chunks: how often one is given, and stands in what
    /// should have been found; how often one is given from a corpus that does not hold it.
    fn answered(
        &self,
        chunks: &[(String, Chunk)],
        vectors: &[&Vec<f32>],
    ) -> Vec<(&'static str, f64)> {
        let (mut given, mut right, mut wrong) = (0, 0, 0);
        for (question, vector) in &self.questions {
            let own = best(vector, chunks, vectors, |corpus| corpus == question.corpus);
            if let Some((start, end)) = answer(question, chunks, &own) {
                given += 1;
                let hits = |(from, to): &(u64, u64)| start < *to && *from < end;
                right += usize::from(question.references.iter().any(hits));
            }
            let other = best(vector, chunks, vectors, |corpus| corpus != question.corpus);
            wrong += usize::from(answer(question, chunks, &other).is_some());
        }
        let share = |count: usize| 100.0 * count as f64 / self.questions.len() as f64;
        vec![
            ("answered", share(given)),
            ("answered in a reference", share(right)),
            ("answered from the other corpus", share(wrong)),
        ]
    }

    /// Gives the lines to the set's own scorer and answers with its last line, that of all questions.
    fn scorer(
        &self,
        arguments: &[&str],
        lines: impl Iterator<Item = serde_json::Value>,
    ) -> anyhow::Result<String> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/out/chunk_eval.jsonl");
        let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
        std::fs::write(file, lines.join("\n"))?;
        let script = self.folder.join("tools/chunk_score.py");
        let output = Command::new("python3")
            .arg(script)
            .args(arguments)
            .arg(file)
            .output()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let said = String::from_utf8(output.stdout)?;
        Ok(said.lines().last().unwrap_or_default().to_owned())
    }
}

/// The five best chunks for a question, among those of the corpora asked for.
fn best(
    question: &[f32],
    chunks: &[(String, Chunk)],
    vectors: &[&Vec<f32>],
    among: impl Fn(&str) -> bool,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..chunks.len())
        .filter(|at| among(&chunks[*at].0))
        .collect();
    let score = |at: &usize| dot(question, vectors[*at]);
    order.sort_by(|a, b| score(b).total_cmp(&score(a)));
    order.truncate(BEST);
    order
}

/// A chunk of another corpus takes a place and matches nothing.
fn span((corpus, chunk): &(String, Chunk), at: usize, asked: &str) -> [u64; 2] {
    let away = match corpus == asked {
        true => 0,
        false => (1 + at as u64) * 1_000_000,
    };
    [chunk.span.char_start + away, chunk.span.char_end + away]
}

/// The place of the sentence that answers best.
fn answer(question: &Question, chunks: &[(String, Chunk)], best: &[usize]) -> Option<(u64, u64)> {
    let passages: Vec<&str> = best.iter().map(|&at| chunks[at].1.text.as_str()).collect();
    let Answer::Supported(found) = query::answer(&question.question, &passages, 1) else {
        return None;
    };
    let (chunk, range) = (&chunks[best[found[0].passage]].1, &found[0].range);
    let chars = |to: usize| chunk.span.char_start + chunk.text[..to].chars().count() as u64;
    Some((chars(range.start), chars(range.end)))
}

fn after(line: &str, name: &str) -> anyhow::Result<f64> {
    let mut words = line.split_whitespace().skip_while(|word| *word != name);
    let value = words
        .nth(1)
        .with_context(|| format!("no {name} in `{line}`"))?;
    Ok(value.parse()?)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn questions(folder: &Path) -> anyhow::Result<Vec<Question>> {
    let script = "import csv,json,sys
for q in csv.DictReader(open(sys.argv[1],newline='')):
    spans=[[r['start_index'],r['end_index']] for r in json.loads(q['references'])]
    print(json.dumps({'question':q['question'],'corpus':q['corpus_id'],'references':spans}))";
    let path = folder.join("chunk_eval/questions_df.csv");
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(path)
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let said = String::from_utf8(output.stdout)?;
    said.lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

/// The file as it is, a paragraph a line; ` = Title = ` is a heading where headings are asked for.
fn parsed(text: &str, headings: bool) -> Parsed {
    let mut atoms = Vec::new();
    let (mut byte, mut char) = (0, 0);
    for line in text.split_inclusive('\n') {
        let body = line.trim();
        if !body.is_empty() {
            let before = line.len() - line.trim_start().len();
            let start = Span {
                byte_start: byte + before as u64,
                byte_end: byte + (before + body.len()) as u64,
                char_start: char + before as u64,
                char_end: char + before as u64 + body.chars().count() as u64,
            };
            let level = body.chars().filter(|c| *c == '=').count() as u8 / 2;
            let kind = match headings && level > 0 && body.starts_with('=') && body.ends_with('=') {
                true => AtomKind::Heading { level },
                false => AtomKind::Paragraph,
            };
            atoms.push(Atom {
                kind,
                span: start,
                boxes: Vec::new(),
                source: None,
                anchor: None,
                links: Vec::new(),
            });
        }
        byte += line.len() as u64;
        char += line.chars().count() as u64;
    }
    Parsed {
        text: text.to_owned(),
        atoms,
        ..Parsed::default()
    }
}
