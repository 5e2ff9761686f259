//! From a file to its chunks: something put into the middle of a long document changes the chunks
//! beside it, whatever the document is written in.

use std::collections::{HashMap, HashSet};

use model::{ChunkPolicy, Unit};
use parse::{Hints, Limits};
use pipeline::chunk::{Estimate, chunk};
use pipeline::units::units;

const WORDS: &str = "the a of in and mill stone grain wheel water miller flour is was turned ground slowly \
    because every spring sluice furrows bolting hopper damsel quern bedstone runner 1847 Oxfordshire \
    undershot overshot breastshot tolerances reconstruction archaeologists watercourse granary";

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn words(&mut self, least: u64, more: u64) -> String {
        let known: Vec<&str> = WORDS.split_whitespace().collect();
        let count = least + self.below(more);
        let word = |_| known[self.below(known.len() as u64) as usize];
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    }

    fn sentences(&mut self, count: u64) -> String {
        let sentence = |_| format!("The {}.", self.words(6, 18));
        (0..count).map(sentence).collect::<Vec<_>>().join(" ")
    }
}

/// The chunks of each unit, made once: they are the same whenever the unit is.
type Made = HashMap<String, Vec<String>>;

/// A way to write a long document of many like parts.
struct Written {
    name: &'static str,
    parts: usize,
    /// The part of that number, as it would be written.
    part: fn(u64, &mut Chance) -> String,
    file: fn(&[String]) -> Vec<u8>,
}

impl Written {
    fn chunks(&self, parts: &[String], made: &mut Made) -> Vec<String> {
        let hints = Hints::of_filename(self.name);
        let parsed = parse::parse(&(self.file)(parts), &hints, &Limits::default());
        let policy = ChunkPolicy::for_limit(254);
        let units = units(&parsed.expect("it can be read"));
        let chunks = |unit: &Unit| {
            let known = made.entry(unit.text.clone());
            let made = known.or_insert_with(|| {
                let chunks = chunk(unit, policy, &Estimate).into_iter();
                chunks.map(|chunk| chunk.text).collect()
            });
            made.clone()
        };
        units.iter().flat_map(chunks).collect()
    }

    /// How many chunks of the document with one more part were not there before, for a part put
    /// into each of several places.
    fn changes(&self, seed: u64, places: u64) -> Vec<usize> {
        let (mut chance, mut made) = (Chance(seed), Made::new());
        let parts: Vec<String> = (0..self.parts as u64)
            .map(|n| (self.part)(n, &mut chance))
            .collect();
        let before = self.chunks(&parts, &mut made);
        assert!(
            (300..3000).contains(&before.len()),
            "{} of {}",
            before.len(),
            self.name
        );
        let before: HashSet<String> = before.into_iter().collect();
        let put_in = |_| {
            let mut parts = parts.clone();
            let place = parts.len() / 4 + chance.below(parts.len() as u64 / 2) as usize;
            parts.insert(place, (self.part)(place as u64, &mut chance));
            let after: HashSet<String> = self.chunks(&parts, &mut made).into_iter().collect();
            after.difference(&before).count()
        };
        (0..places).map(put_in).collect()
    }
}

fn joined(parts: &[String], by: &str) -> Vec<u8> {
    parts.join(by).into_bytes()
}

fn row(n: u64, chance: &mut Chance) -> String {
    let words = chance.words(2, 5);
    format!(
        "{},{words},{},{}",
        10_000 + n,
        chance.below(5000),
        chance.below(100)
    )
}

fn paragraph(_: u64, chance: &mut Chance) -> String {
    let count = 2 + chance.below(6);
    chance.sentences(count)
}

fn wrapped(_: u64, chance: &mut Chance) -> String {
    chance.words(10, 4)
}

/// Lines in which sentences end anywhere, now and then with the line.
fn wrapped_prose(_: u64, chance: &mut Chance) -> String {
    let (before, behind) = (chance.words(1, 11), chance.below(11));
    match behind {
        0 => format!("{before}."),
        more => format!("{before}. The {}", chance.words(more, 2)),
    }
}

fn logged(n: u64, chance: &mut Chance) -> String {
    let (hour, minute, second) = (n / 3600, n / 60 % 60, n % 60);
    let words = chance.words(6, 12);
    format!("2026-03-01T{hour:02}:{minute:02}:{second:02}Z INFO mill: {words}")
}

fn record(n: u64, chance: &mut Chance) -> String {
    let words = chance.words(8, 30);
    format!(r#"{{"level":"info","mill":{{"stone":{n}}},"text":"{words}"}}"#)
}

fn sheet(rows: &[String]) -> Vec<u8> {
    let x = r#"xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships""#;
    let cell = |text: &str| format!(r#"<c t="inlineStr"><is><t>{text}</t></is></c>"#);
    let row = |row: &str| {
        format!(
            "<row>{}</row>",
            row.split(',').map(cell).collect::<String>()
        )
    };
    let rows: String = std::iter::once("id,name,flour,bran")
        .chain(rows.iter().map(String::as_str))
        .map(row)
        .collect();
    samples::archive(&[
        (
            "xl/workbook.xml",
            &format!(
                r#"<workbook {x}><sheets><sheet name="Yield" sheetId="1" r:id="rId1"/></sheets></workbook>"#
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#,
        ),
        (
            "xl/worksheets/sheet1.xml",
            &format!("<worksheet {x}><sheetData>{rows}</sheetData></worksheet>"),
        ),
    ])
}

/// Puts something into several places of each document and counts.
fn at_most_five(all: &[Written]) {
    for written in all {
        let changes = written.changes(7, 6);
        let few = changes.iter().all(|changed| *changed <= 5);
        assert!(few, "{}: {changes:?}", written.name);
    }
}

#[test]
fn a_row_put_into_a_long_table_changes_at_most_five_chunks() {
    at_most_five(&[
        Written {
            name: "rows.csv",
            parts: 15_000,
            part: row,
            file: |rows| format!("id,name,flour,bran\n{}", rows.join("\n")).into_bytes(),
        },
        Written {
            name: "rows.xlsx",
            parts: 15_000,
            part: row,
            file: sheet,
        },
        Written {
            name: "rows.md",
            parts: 12_000,
            part: |n, chance| format!("| {} |", row(n, chance).replace(',', " | ")),
            file: |rows| {
                let header = "| id | name | flour | bran |\n|---|---|---|---|";
                format!("{header}\n{}", rows.join("\n")).into_bytes()
            },
        },
        Written {
            name: "rows.html",
            parts: 12_000,
            part: |n, chance| {
                let cells = row(n, chance).replace(',', "</td><td>");
                format!("<tr><td>{cells}</td></tr>")
            },
            file: |rows| {
                let header = "<tr><th>id</th><th>name</th><th>flour</th><th>bran</th></tr>";
                let rows = rows.join("\n");
                format!("<html><body><table>{header}{rows}</table></body></html>").into_bytes()
            },
        },
    ]);
}

/// The first field of all records is the same, and so are the headings made of their names.
#[test]
fn a_record_put_among_many_changes_at_most_five_chunks() {
    at_most_five(&[
        Written {
            name: "records.jsonl",
            parts: 5_000,
            part: record,
            file: |records| joined(records, "\n"),
        },
        Written {
            name: "records.json",
            parts: 5_000,
            part: record,
            file: |records| format!("[{}]", records.join(",\n")).into_bytes(),
        },
    ]);
}

#[test]
fn a_line_put_into_a_text_without_blank_lines_changes_at_most_five_chunks() {
    at_most_five(&[
        Written {
            name: "mill.log",
            parts: 8_000,
            part: logged,
            file: |lines| joined(lines, "\n"),
        },
        Written {
            name: "wrapped.txt",
            parts: 16_000,
            part: wrapped,
            file: |lines| joined(lines, "\n"),
        },
        Written {
            name: "wrapped-prose.txt",
            parts: 16_000,
            part: wrapped_prose,
            file: |lines| joined(lines, "\n"),
        },
        Written {
            name: "one-paragraph.txt",
            parts: 2_600,
            part: paragraph,
            file: |lines| joined(lines, "\n"),
        },
        Written {
            name: "one-line.txt",
            parts: 2_600,
            part: paragraph,
            file: |parts| joined(parts, " "),
        },
    ]);
}

#[test]
fn a_paragraph_put_into_a_long_text_changes_at_most_five_chunks() {
    at_most_five(&[
        Written {
            name: "paragraphs.txt",
            parts: 2_600,
            part: paragraph,
            file: |parts| joined(parts, "\n\n"),
        },
        Written {
            name: "paragraphs.md",
            parts: 2_600,
            part: paragraph,
            file: |parts| joined(parts, "\n\n"),
        },
        Written {
            name: "paragraphs.html",
            parts: 2_600,
            part: paragraph,
            file: |parts| {
                let parts = parts.join("</p>\n<p>");
                format!("<html><body><p>{parts}</p></body></html>").into_bytes()
            },
        },
    ]);
}
