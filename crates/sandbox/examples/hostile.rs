//! `hostile FOLDER`: reads files made to hurt in confined children of 256 MiB and holds what
//! becomes of each against what must. Files it has no expectation for must end in an answer.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use model::Parsed;
use parse::Hints;
use sandbox::{Error, Fault, Program, Sandbox, Settings};

const CHILD: &str = "parse-child";

/// What must become of a file.
#[derive(Debug, Clone, Copy)]
enum Must {
    /// Its text holds this.
    Say(&'static str),
    /// It is refused, or its text holds this.
    SayOrRefuse(&'static str),
    /// It is refused with a reason.
    Refuse,
    /// There is nothing in it, which is no error.
    BeEmpty,
    /// It is refused, or nothing in it.
    BeEmptyOrRefuse,
}

use Must::{BeEmpty, BeEmptyOrRefuse, Refuse, Say, SayOrRefuse};

/// By the beginning of the file's name; the first that fits counts.
const EXPECTED: &[(&str, Must)] = &[
    ("bomb-document", Refuse),
    ("bomb-media", SayOrRefuse("visible text")),
    ("bomb-20000", SayOrRefuse("many entries")),
    // One of its overlapping parts is read, and it holds nothing but zeros.
    ("bomb-overlap", BeEmptyOrRefuse),
    ("nested-30", Say("level 29")),
    ("xxe-file", SayOrRefuse("before")),
    ("xxe-http", SayOrRefuse("before")),
    ("xxe-param", SayOrRefuse("a")),
    ("traversal", SayOrRefuse("ok")),
    ("external-rel", Say("ok")),
    ("rel-cycle", Say("ok")),
    ("missing-document", Refuse),
    ("empty.docx", Refuse),
    ("empty.pdf", Refuse),
    ("empty.", BeEmpty),
    ("truncated-half", Refuse),
    ("docx-as.pdf", SayOrRefuse("hello")),
    ("pdf-as.docx", Refuse),
    ("png-as", BeEmptyOrRefuse),
    ("elf-as", Refuse),
    ("deep-div", Say("deep text")),
    ("deep-mixed", SayOrRefuse("end")),
    ("deep-list", SayOrRefuse("leaf")),
    ("attrs-100k", Say("text")),
    ("unclosed-comment", Say("before")),
    ("script-hidden", Say("visible")),
    ("utf16le-bom", Say("Grüße 你好")),
    ("meta-shift-jis", Say("日本語テキスト")),
    ("meta-lies", Say("caf")),
    ("data-uri", Say("after")),
    ("one-line", Say("word word")),
    ("no-space", Say("xxxx")),
    ("cjk-no-space", Say("漢字仮名交じり文")),
    ("bidi-override", Say("user")),
    ("invalid-utf8", Say("end")),
    ("crlf-cr-lf", Say("d")),
    ("utf16be", Say("hello 世界")),
    ("gb18030", Say("中文文本编码测试")),
    ("md-frontmatter", Say("Title")),
    ("pdf-flate", BeEmptyOrRefuse),
    ("pdf-length-lie", SayOrRefuse("hello")),
    ("pdf-prev-self", SayOrRefuse("hello")),
    ("pdf-bt-1M", SayOrRefuse("aaa")),
    ("pdf-size-huge", SayOrRefuse("hello")),
    ("pdf-xref-count", SayOrRefuse("hello")),
    ("pdf-no-xref", SayOrRefuse("hello")),
    ("pdf-truncated", BeEmptyOrRefuse),
    ("pdf-garbage-before", SayOrRefuse("hello")),
    ("pdf-garbage-after", Say("hello")),
    ("pdf-header-only", Refuse),
];

/// What no file may get into its text: contents of this machine's files, scripts, styles,
/// pictures packed into an address, entities written out.
const NEVER: &[&str] = &[
    "root:",
    "SCRIPT_TEXT",
    "STYLE_TEXT",
    "AAAAAAAA",
    "lollollol",
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1).ok_or("which folder?")?;
    if argument == CHILD {
        return Ok(sandbox::child_main());
    }
    let settings = Settings {
        children: 1,
        cpu: Duration::from_secs(10),
        wall: Duration::from_secs(60),
        memory_bytes: 256 << 20,
        ..Settings::default()
    };
    let program = Program::new(std::env::current_exe()?, &[CHILD]);
    let sandbox = Sandbox::new(settings, program);
    let mut files: Vec<_> = std::fs::read_dir(argument)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let mut wrong = 0;
    for file in files.iter().filter(|file| file.is_file()) {
        wrong += u32::from(!as_expected(&sandbox, file).await?);
    }
    let largest = sandbox.largest_child() >> 20;
    println!(
        "{} files, {wrong} not as they must; largest child {largest} MiB",
        files.len()
    );
    Ok(if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn as_expected(sandbox: &Sandbox, file: &Path) -> std::io::Result<bool> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let begun = Instant::now();
    let bytes = std::fs::read(file)?;
    let ended = sandbox
        .parse(bytes.into(), Hints::of_filename(&*name))
        .await;
    let took = begun.elapsed();
    let must = EXPECTED.iter().find(|(start, _)| name.starts_with(start));
    let good = fits(&ended, must.map(|(_, must)| *must));
    let became = match &ended {
        Ok(parsed) => format!(
            "{} bytes of text, {} gaps",
            parsed.text.len(),
            parsed.gaps.len()
        ),
        Err(error) => error.to_string(),
    };
    let mark = if good { "ok" } else { "WRONG" };
    println!("{mark:<5} {name:<32} {took:>8.1?}  {became}");
    Ok(good)
}

fn fits(ended: &Result<Parsed, Error>, must: Option<Must>) -> bool {
    let parsed = match ended {
        Ok(parsed) => parsed,
        Err(error) => {
            let allowed = !matches!(must, Some(Say(_) | BeEmpty));
            return allowed && error.fault() != Fault::Ours;
        }
    };
    let says = match must {
        Some(Say(words) | SayOrRefuse(words)) => parsed.text.contains(words),
        Some(Refuse) => false,
        Some(BeEmpty | BeEmptyOrRefuse) => parsed.text.is_empty(),
        None => true,
    };
    says && !NEVER.iter().any(|words| parsed.text.contains(words))
}
