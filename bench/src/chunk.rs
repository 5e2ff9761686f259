//! How fast text is cut: each strategy beside the tokenizer alone, and beside the splitters
//! people use, with the same tokenizer on the same text in the same run.
//!
//! All of them work on one thread and are measured in seconds of CPU, so that a neighbour on
//! the machine counts for none of them. The text is `CHUNK_MB` (50) documents of a megabyte
//! each: on one text of fifty, chonkie's sentences take time that grows with its square.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::ensure;
use model::{Atom, AtomKind, ChunkPolicy, Parsed, Span, Strategy, TokenCounter};
use pipeline::{chunk, units};
use providers::tokenize::Tokenizer;
use serde::Deserialize;

use crate::report::{Report, cpu_time};

const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../.tools");
const PACKAGES: [&str; 4] = [
    "langchain-text-splitters==1.1.3",
    "chonkie==1.7.0",
    "semchunk==4.1.1",
    "tokenizers==0.23.3",
];
const RATE: &str = "MB/cpu-s";
const TOKENIZER: &str = "models/all-MiniLM-L6-v2/tokenizer.json";

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let megabytes = std::env::var("CHUNK_MB").map_or(Ok(50), |mb| mb.parse())?;
    let tokens = Tokenizer::open(format!("{TOOLS}/{TOKENIZER}").as_ref())?;
    let docs = documents(megabytes);
    let size = docs.iter().map(|doc| doc.text.len()).sum::<usize>() as f64 / f64::from(1 << 20);
    report.figure(format!("text, {megabytes} documents"), size, "MB");

    let rate =
        |of: &dyn Fn(&Parsed) -> usize| size / seconds(|| docs.iter().map(of).sum::<usize>());
    let alone = rate(&|doc| tokens.count(&doc.text));
    report.figure("tokenizer alone", alone, RATE);
    let estimate = rate(&|doc| chunk::Estimate.count(&doc.text));
    report.figure("estimate alone", estimate, RATE);
    let sentences = rate(&|doc| chunk::sentences(&doc.text).len());
    report.figure("sentences alone", sentences, RATE);
    report.figure("units alone", rate(&|doc| units::units(doc).len()), RATE);

    let units: Vec<_> = docs.iter().flat_map(units::units).collect();
    for strategy in Strategy::ALL {
        let policy = ChunkPolicy::for_limit(254).with_strategy(strategy);
        let mut made = 0;
        let rate = size
            / seconds(|| {
                made = units
                    .iter()
                    .map(|unit| chunk::chunk(unit, policy, &tokens).len())
                    .sum();
            });
        report.against(
            format!("{strategy}, {made} chunks"),
            rate,
            RATE,
            ("tokenizer alone", alone),
        );
    }
    for (name, ratio) in estimate_error(&units, &tokens) {
        report.figure(
            format!("estimate over exact count, {name} of all chunks"),
            ratio,
            "",
        );
    }
    let policy = ChunkPolicy::for_limit(254);
    let ours = rate(&|doc| cut(doc, policy, &tokens));
    for (name, peer) in peers(&docs, policy)? {
        let name = format!("{name}, {} chunks, longest {}", peer.chunks, peer.longest);
        report.against(
            "structural with units",
            ours,
            RATE,
            (&name, size / peer.seconds),
        );
    }
    Ok(())
}

fn cut(doc: &Parsed, policy: ChunkPolicy, tokens: &Tokenizer) -> usize {
    let chunks = |unit: &model::Unit| chunk::chunk(unit, policy, tokens).len();
    units::units(doc).iter().map(chunks).sum()
}

/// How far the estimate is off on chunks of the default policy.
fn estimate_error(units: &[model::Unit], tokens: &Tokenizer) -> [(&'static str, f64); 3] {
    let policy = ChunkPolicy::for_limit(254);
    let chunks = units
        .iter()
        .flat_map(|unit| chunk::chunk(unit, policy, tokens));
    let ratio = |c: model::Chunk| chunk::Estimate.count(&c.text) as f64 / f64::from(c.tokens);
    let mut ratios: Vec<f64> = chunks.map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: usize| ratios[(ratios.len() - 1) * share / 100];
    [("lowest", at(0)), ("median", at(50)), ("highest", at(100))]
}

/// Of CPU, once: nobody gets a second try.
fn seconds<T>(work: impl FnOnce() -> T) -> f64 {
    let used = cpu_time();
    std::hint::black_box(work());
    (cpu_time() - used).as_secs_f64()
}

#[derive(Deserialize)]
struct Peer {
    seconds: f64,
    chunks: usize,
    longest: usize,
}

fn peers(docs: &[Parsed], policy: ChunkPolicy) -> anyhow::Result<BTreeMap<String, Peer>> {
    let python = crate::peers::python("chunk", &PACKAGES)?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/chunk.py");
    let sizes = [policy.target(), policy.overlap()].map(|size| size.to_string());
    let mut child = Command::new(python)
        .args([script, &format!("{TOOLS}/{TOKENIZER}")])
        .args(sizes)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let texts: Vec<&str> = docs.iter().map(|doc| &*doc.text).collect();
    let texts = serde_json::to_vec(&texts)?;
    child.stdin.take().expect("piped").write_all(&texts)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the peers' script failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// English-like texts with headings, paragraphs of a few sentences, names and numbers, of a
/// megabyte each.
fn documents(count: u64) -> Vec<Parsed> {
    let document = |seed| {
        let mut writer = Writer {
            state: seed,
            ..Writer::default()
        };
        while writer.doc.text.len() < 1 << 20 {
            writer.section();
        }
        writer.doc
    };
    (0..count).map(document).collect()
}

const WORDS: &[&str] = &[
    "the",
    "of",
    "and",
    "a",
    "to",
    "in",
    "is",
    "that",
    "it",
    "was",
    "for",
    "on",
    "with",
    "as",
    "by",
    "be",
    "at",
    "this",
    "which",
    "or",
    "from",
    "have",
    "not",
    "are",
    "but",
    "had",
    "their",
    "when",
    "after",
    "between",
    "system",
    "water",
    "history",
    "government",
    "language",
    "pressure",
    "measured",
    "following",
    "temperature",
    "university",
    "development",
    "production",
    "different",
    "important",
    "structure",
    "analysis",
    "boundary",
    "experiment",
    "international",
    "population",
    "equipment",
    "description",
    "supported",
    "particularly",
    "configuration",
    "transmission",
    "sedimentary",
    "electromagnetic",
    "constitutional",
    "archaeologist",
    "photosynthesis",
    "Wellington",
    "Kowalski",
    "Bordeaux",
    "Montgomery",
    "hydrochloride",
    "counterintuitive",
];

#[derive(Default)]
struct Writer {
    doc: Parsed,
    chars: u64,
    state: u64,
    sections: u32,
}

impl Writer {
    fn section(&mut self) {
        self.sections += 1;
        let words = self.words(4);
        let heading = format!("{} {words}", self.sections);
        let level = 1 + (self.next(3) as u8);
        self.block(AtomKind::Heading { level }, &heading);
        for _ in 0..2 + self.next(7) {
            let sentences: Vec<String> = (0..2 + self.next(6)).map(|_| self.sentence()).collect();
            self.block(AtomKind::Paragraph, &sentences.join(" "));
        }
    }

    fn sentence(&mut self) -> String {
        let length = 6 + self.next(18);
        let words = self.words(length);
        let end = [".", ".", ".", ", in 1987.", "?", " (see 4.2)."][self.next(6)];
        let (first, rest) = words.split_at(1);
        format!("{}{rest}{end}", first.to_uppercase())
    }

    fn words(&mut self, count: usize) -> String {
        // The square of a uniform number: the first words of the list are the common ones.
        let word = |writer: &mut Self| {
            let at = writer.next(1000);
            WORDS[at * at * WORDS.len() / 1_000_000]
        };
        let words: Vec<&str> = (0..count).map(|_| word(self)).collect();
        words.join(" ")
    }

    fn block(&mut self, kind: AtomKind, text: &str) {
        let byte_start = self.doc.text.len() as u64;
        self.doc.atoms.push(Atom {
            kind,
            span: Span {
                byte_start,
                byte_end: byte_start + text.len() as u64,
                char_start: self.chars,
                char_end: self.chars + text.len() as u64,
            },
            boxes: Vec::new(),
            source: None,
            anchor: None,
            links: Vec::new(),
        });
        self.doc.text.push_str(text);
        self.doc.text.push_str("\n\n");
        self.chars += text.len() as u64 + 2;
    }

    fn next(&mut self, below: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.state >> 33) as usize % below
    }
}
