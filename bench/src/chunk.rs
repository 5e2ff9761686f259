//! How fast text is cut: each strategy beside the tokenizer alone, and beside the splitters
//! people use, with the same tokenizer on the same text in the same run.
//!
//! All of them work on one thread and are measured in seconds of CPU, so that a neighbour on
//! the machine counts for none of them. The text is `CHUNK_MB` (50) megabytes of this machine's
//! documentation, Markdown and HTML as they are read here, or as many as there are; no file is
//! larger than one, as chonkie's sentences take time that grows with the square of a text.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::ensure;
use model::{Atom, ChunkPolicy, ContentHash, Parsed, Span, Strategy, TokenCounter};
use pipeline::{chunk, units};
use providers::tokenize::Tokenizer;
use serde::Deserialize;

use crate::corpus::{self, Sizes};
use crate::report::{Report, cpu_time};

const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../.tools");
const PACKAGES: [&str; 4] = [
    "langchain-text-splitters==1.1.3",
    "chonkie==1.7.0",
    "semchunk==4.1.1",
    "tokenizers==0.23.3",
];
const SIZES: Sizes = (1 << 10, 1 << 20);
const RATE: &str = "MB/cpu-s";
const TOKENIZER: &str = "models/all-MiniLM-L6-v2/tokenizer.json";

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let megabytes: usize = std::env::var("CHUNK_MB").map_or(Ok(50), |mb| mb.parse())?;
    let tokens = Tokenizer::open(format!("{TOOLS}/{TOKENIZER}").as_ref())?;
    let docs = documents(megabytes << 20)?;
    let size = docs.iter().map(|doc| doc.text.len()).sum::<usize>() as f64 / f64::from(1 << 20);
    report.figure(format!("text, {} documents", docs.len()), size, "MB");

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

/// Documentation as it is read here, taken from all there is, up to so many bytes of it. What is
/// not indexed is left out, for the peers as well.
fn documents(bytes: usize) -> anyhow::Result<Vec<Parsed>> {
    let mut files = corpus::markdown(SIZES);
    files.extend(corpus::html(SIZES)?);
    files.sort_by_key(|path| ContentHash::of(path.as_os_str().as_encoded_bytes()));
    let (mut docs, mut total) = (Vec::new(), 0);
    for path in files {
        if total >= bytes {
            break;
        }
        let hints = parse::Hints {
            filename: path.file_name().map(|name| name.to_string_lossy().into()),
            media_type: None,
        };
        // What cannot be read is no text to cut.
        if let Ok(doc) = parse::parse(&std::fs::read(path)?, &hints, &parse::Limits::default()) {
            let doc = indexed(&doc);
            total += doc.text.len();
            docs.push(doc);
        }
    }
    Ok(docs)
}

/// The document without what is never indexed.
fn indexed(doc: &Parsed) -> Parsed {
    let mut kept = Parsed::default();
    let mut chars = 0;
    for atom in doc.atoms.iter().filter(|atom| atom.kind.is_indexed()) {
        let text = &doc.text[atom.span.bytes()];
        let (from, length) = (kept.text.len() as u64, text.chars().count() as u64);
        kept.atoms.push(Atom {
            span: Span {
                byte_start: from,
                byte_end: from + text.len() as u64,
                char_start: chars,
                char_end: chars + length,
            },
            ..atom.clone()
        });
        kept.text.push_str(text);
        kept.text.push_str("\n\n");
        chars += length + 2;
    }
    kept
}
