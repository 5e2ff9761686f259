//! `bench [TOPIC…]` runs the named topics, or all of them.
//!
//! Each topic prints a table and appends one JSON line per figure to
//! `bench/out/figures.jsonl`. A figure stands beside a peer or a limit taken in
//! the same run on the same input; see `report`.

mod catalog;
mod chunk;
mod chunk_eval;
mod coordinator;
mod corpus;
mod embed;
mod http;
mod index;
mod ingest;
mod ir;
mod large;
mod parse;
mod peers;
mod quantised;
mod report;
mod scale;
mod series;
mod source;
mod thread;

use std::process::ExitCode;

use report::Report;

type Topic = (&'static str, fn(&mut Report) -> anyhow::Result<()>);

const TOPICS: &[Topic] = &[
    ("catalog", catalog::run),
    ("chunk", chunk::run),
    ("chunk_eval", chunk_eval::run),
    ("coordinator", coordinator::run),
    ("embed", embed::run),
    ("embed-int8", quantised::run),
    ("embed-ir", ir::run),
    ("http", http::run),
    ("index", index::run),
    ("ingest", ingest::run),
    ("parse", parse::run),
    ("parse-large", large::run),
    ("scale", scale::run),
    ("series", series::run),
    ("thread", thread::run),
];

fn main() -> anyhow::Result<ExitCode> {
    // As the product does.
    sandbox::keep_few_arenas();
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted == ["parse-child"] {
        // Parsing runs in children of the same program, here too.
        return Ok(sandbox::child_main());
    }
    if let [first, file] = &wanted[..]
        && first == "read-alone"
    {
        large::read_alone(file)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let [first, folder, size] = &wanted[..]
        && first == "open-index"
    {
        index::open_index(folder.as_ref(), size.parse()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let known = |name: &String| TOPICS.iter().any(|(topic, _)| topic == name);
    if let Some(unknown) = wanted.iter().find(|name| !known(name)) {
        let names: Vec<_> = TOPICS.iter().map(|(name, _)| *name).collect();
        anyhow::bail!("no topic `{unknown}`; there are: {}", names.join(", "));
    }
    let wanted = |name: &&str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let mut failed = Vec::new();
    for (name, run) in TOPICS.iter().filter(|(name, _)| wanted(name)) {
        let mut report = Report::new(name)?;
        // One topic that cannot be run takes no other's figures with it.
        if let Err(error) = run(&mut report) {
            eprintln!("{name}: {error:#}");
            failed.push(*name);
        }
        report.print();
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("not measured to the end: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}
