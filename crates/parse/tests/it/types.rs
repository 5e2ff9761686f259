//! Texts are taken for what they are, whatever their first line looks like.

use model::Parsed;
use parse::{Format, Hints, Limits};

fn read(name: &str, bytes: &[u8]) -> Parsed {
    parse::parse(bytes, &Hints::of_filename(name), &Limits::default()).unwrap()
}

fn assert_is(format: Format, name: &str, bytes: &[u8]) {
    let told = Format::detect(bytes, &Hints::of_filename(name));
    assert_eq!(told, Ok(format), "{name}");
}

#[test]
fn a_first_line_that_is_json_does_not_make_a_file_json() {
    let prose = b"[1]\nOf the river and its mills.\n";
    assert_is(Format::Text, "a.txt", prose);
    assert_is(Format::Text, "a", prose);
    assert_is(Format::Markdown, "a.md", b"[2024]\n\n# Heading\n\nText.\n");
    assert_is(Format::Text, "a.txt", b"[1]\n[2]\n[3] See there.\n");
    assert_eq!(read("a.txt", b"{}\nTwo braces.\n").text, "{}\nTwo braces.");
}

#[test]
fn records_are_json_lines_over_blank_lines_as_lists_and_however_long() {
    let blank = b"{\"a\":1}\n\n{\"a\":2}\n";
    assert_is(Format::JsonLines, "a", blank);
    assert_is(Format::JsonLines, "a.jsonl", blank);
    assert_is(Format::JsonLines, "a", b"[1,\"first\"]\n[2,\"second\"]\n");
    let long = format!("{{\"a\":\"{}\"}}\n{{\"a\":\"end\"}}\n", "x".repeat(90_000));
    assert_is(Format::JsonLines, "a.jsonl", long.as_bytes());
    assert_eq!(read("a.jsonl", long.as_bytes()).atoms.len(), 2);
}

#[test]
fn json_over_many_lines_is_one_value_whatever_its_name() {
    let value = b"{\n  \"a\": [\n    1\n  ]\n}\n";
    for name in ["a.json", "a.jsonl", "a", "a.txt"] {
        assert_is(Format::Json, name, value);
    }
}

#[test]
fn a_text_that_begins_with_the_letters_of_a_recording_is_a_text() {
    assert_is(Format::Text, "a.txt", b"ID3 tags stand at the start.\n");
    assert_is(Format::Markdown, "a.md", b"RIFF is a container.\n");
    assert_is(Format::Text, "a.txt", b"BZh is how bzip2 begins.\n");
    let riff = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0";
    let mp3 = b"ID3\x03\0\0\0\0\0\x21TALB\0\0\0\x05";
    for bytes in [&riff[..], mp3, b"BZh91AY&SY\x9b\xd2"] {
        assert!(Format::detect(bytes, &Hints::default()).is_err());
    }
}

#[test]
fn letters_struck_over_are_read_once() {
    let manual = b"N\x08NA\x08AM\x08ME\x08E\n       l\x08ls\x08s [_\x08O_\x08P_\x08T]...\n";
    assert_eq!(read("ls.txt", manual).text, "NAME\n       ls [OPT]...");
}

#[test]
fn a_piece_of_a_page_is_one_without_a_name_too() {
    let piece = b"<div class=\"x\"><h2>Head</h2><p>Words.</p></div>";
    assert_is(Format::Html, "a", piece);
    assert_is(Format::Html, "a", b"<p>Words</p><ul><li>a<li>b</ul>");
    assert_is(Format::Text, "a.txt", piece);
    assert_is(Format::Text, "a", b"<p is how a paragraph begins\n");
    let readme = b"<div align=\"center\">Mill</div>\n\n# Mill\n\n## Use\n\n- [x] done\n";
    assert_is(Format::Markdown, "README", readme);
}

#[test]
fn sources_and_settings_are_read_as_they_stand() {
    let script = "# Settings of the mill\n# All of them\n\n# a helper\ndef __init__(self, *args, **kwargs):\n    y = [i][j]\n";
    let settings =
        "# Default values\n# for the mill\nlist:\n- one\n- two\nglob: \"*.txt\"\n# last\n";
    for name in ["a.py", "mill.d/a.conf", ".millrc"] {
        assert_is(Format::Text, name, script.as_bytes());
    }
    assert_eq!(read("a.yaml", settings.as_bytes()).text, settings.trim());
    let recipe =
        b"# comment\n# another\nFROM debian:12\n# three\nRUN apt-get update *foo* *bar*\n# four\n";
    assert_is(Format::Text, "Dockerfile", recipe);
    assert_is(
        Format::Text,
        "run",
        b"#!/bin/sh\n# One\n\n## Two\n\n- [ x ]\n",
    );
}

#[test]
fn what_is_written_as_markdown_is_told_by_more_than_its_titles() {
    let readme = b"# Mill\n\nOf mills.\n\n## Use\n\n- grind\n- sift\n";
    for name in ["README", "docs.d/README", "Notes 1.2"] {
        assert_is(Format::Markdown, name, readme);
    }
}

#[test]
fn a_memo_is_no_mail() {
    let memo = "To: All staff\nFrom: The Miller\nDate: 12 March 2024\nSubject: Grain\nReference: G-77\n\nText.\n";
    assert_eq!(read("memo.txt", memo.as_bytes()).text, memo.trim());
    assert_is(Format::Eml, "memo.eml", memo.as_bytes());
    let mail = format!("Message-ID: <1@example.org>\n{memo}");
    assert_is(Format::Eml, "mail.txt", mail.as_bytes());
}
