//! Every atom leads back to the bytes it was read from.

use encoding_rs::Encoding;
use model::{Atom, Parsed};
use parse::{Hints, Limits};
use samples::{Dice, archive_of_bytes, office};

fn read(name: &str, bytes: &[u8]) -> Parsed {
    parse::parse(bytes, &Hints::of_filename(name), &Limits::default()).unwrap()
}

/// The bytes an atom names: of the file, or of a part of it.
fn cut(file: &[u8], atom: &Atom) -> Vec<u8> {
    let source = atom.source.as_ref().expect("every atom has a source");
    let whole = match &source.part {
        None => file.to_vec(),
        Some(name) => {
            let parts = samples::all_parts(file);
            let part = parts.into_iter().find(|(part, _)| part == name);
            part.expect("a part of the archive").1
        }
    };
    whole[source.start as usize..source.end as usize].to_vec()
}

/// Runs of Latin letters: what no format writes in another way.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphabetic());
    words.filter(|word| word.len() > 1)
}

fn assert_leads_back(name: &str, file: &[u8], encoding: &'static Encoding) {
    let parsed = read(name, file);
    assert!(!parsed.atoms.is_empty(), "{name} holds text");
    for atom in &parsed.atoms {
        let text = &parsed.text[atom.span.bytes()];
        let bytes = cut(file, atom);
        let (source, _) = encoding.decode_without_bom_handling(&bytes);
        for word in words(text) {
            assert!(
                source.contains(word),
                "{name}: `{word}` of {text:?} in {source:?}"
            );
        }
    }
}

#[test]
fn the_source_of_every_atom_holds_its_words() {
    for sample in samples::all() {
        match sample.name.rsplit('.').next() {
            // Pages and boxes say it there.
            Some("pdf") => {}
            // Its words are kept in a part of their own; the rows that show them are named.
            Some("xlsx") => assert_names_rows(&sample.bytes),
            _ => assert_leads_back(&sample.name, &sample.bytes, encoding_rs::UTF_8),
        }
    }
}

fn assert_names_rows(file: &[u8]) {
    let parsed = read("a.xlsx", file);
    let begins = |atom: &Atom| {
        let cut = String::from_utf8(cut(file, atom)).unwrap();
        cut.split([' ', '>']).next().unwrap().to_owned()
    };
    let begins: Vec<String> = parsed.atoms.iter().map(begins).collect();
    assert_eq!(begins, ["<sheet", "<row"]);
}

/// Blocks of a document nobody wrote: each a few words found nowhere else in it.
fn blocks(dice: &mut Dice) -> Vec<Vec<String>> {
    let count = 1 + dice.roll(12);
    let block = |dice: &mut Dice, n: usize| -> Vec<String> {
        let words = 1 + dice.roll(9);
        let word = |w: usize| {
            let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
            format!(
                "w{}{}{}{}",
                letter(n),
                letter(n / 26),
                letter(w),
                letter(w + 7)
            )
        };
        (0..words).map(word).collect()
    };
    (0..count).map(|n| block(dice, n)).collect()
}

/// Between two words: what a format may put there.
fn between(dice: &mut Dice, signs: &[&str]) -> String {
    signs[dice.roll(signs.len())].to_owned()
}

fn written(dice: &mut Dice, words: &[String], signs: &[&str]) -> String {
    let mut out = String::new();
    for word in words {
        out.push_str(word);
        out.push_str(&between(dice, signs));
    }
    out
}

/// The words of one block are in its cut, those of no other are.
fn assert_cuts_blocks(
    name: &str,
    file: &[u8],
    blocks: &[Vec<String>],
    encoding: &'static Encoding,
) {
    let parsed = read(name, file);
    assert_eq!(parsed.atoms.len(), blocks.len(), "{name}: {}", parsed.text);
    for (atom, words) in parsed.atoms.iter().zip(blocks) {
        let bytes = cut(file, atom);
        let (source, _) = encoding.decode_without_bom_handling(&bytes);
        for word in words {
            assert!(source.contains(word.as_str()), "{name}: {word} in {source}");
        }
        let others = blocks.iter().filter(|other| *other != words).flatten();
        for word in others {
            assert!(
                !source.contains(word.as_str()),
                "{name}: {word} in {source}"
            );
        }
    }
}

const SEEDS: u64 = 200;

fn for_seeds(test: impl Fn(&mut Dice)) {
    for seed in 0..SEEDS {
        test(&mut Dice::new(seed));
    }
}

#[test]
fn blocks_of_a_page_are_cut_by_their_own_bytes() {
    let inline = [
        " ",
        "\r\n",
        "&nbsp;",
        "&#228; ",
        " <b>und</b> ",
        "<!-- x --> ",
        " \u{fc} ",
    ];
    let outer = ["p", "div", "h2", "li", "blockquote", "pre"];
    for_seeds(|dice| {
        let blocks = blocks(dice);
        let mut page = "<html><body>".to_owned();
        for words in &blocks {
            let tag = outer[dice.roll(outer.len())];
            let text = written(dice, words, &inline);
            page.push_str(&format!("<{tag} class='a>b'>{text}</{tag}>\n"));
        }
        let encodings = [encoding_rs::UTF_8, encoding_rs::WINDOWS_1252];
        let encoding = encodings[dice.roll(2)];
        let page = page.replace(
            "<html>",
            &format!("<html><meta charset='{}'>", encoding.name()),
        );
        let (bytes, _, _) = encoding.encode(&page);
        assert_cuts_blocks("a.html", &bytes, &blocks, encoding);
        let wide: Vec<u8> = format!("\u{feff}{page}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_cuts_blocks("a.html", &wide, &blocks, encoding_rs::UTF_16LE);
    });
}

#[test]
fn paragraphs_of_office_files_are_cut_by_their_own_bytes() {
    for_seeds(|dice| {
        let blocks = blocks(dice);
        let (mut docx, mut odt) = (String::new(), String::new());
        for words in &blocks {
            let split = [
                "</w:t></w:r><w:r><w:t xml:space='preserve'> ",
                " ",
                " &amp; ",
            ];
            let text = written(dice, words, &split);
            docx.push_str(&format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"));
            let text = written(
                dice,
                words,
                &["<text:s/>", " ", "<text:span> </text:span>", "\u{e4} "],
            );
            odt.push_str(&format!("<text:p>{text}</text:p>\n"));
        }
        let file = office::docx(&docx);
        let parsed = read("a.docx", &file);
        assert_eq!(parsed.atoms.len(), blocks.len() + 1, "and a running head");
        for (atom, words) in parsed.atoms[1..].iter().zip(&blocks) {
            let source = String::from_utf8(cut(&file, atom)).unwrap();
            assert!(source.starts_with("<w:p>") && source.ends_with("</w:p>"));
            assert!(words.iter().all(|word| source.contains(word.as_str())));
        }
        let content = office::odt_content(&odt);
        let parts: [(&str, &[u8]); 2] = [office::ODT_MIMETYPE, ("content.xml", content.as_bytes())];
        assert_cuts_blocks(
            "a.odt",
            &archive_of_bytes(&parts),
            &blocks,
            encoding_rs::UTF_8,
        );
    });
}

#[test]
fn paragraphs_of_rich_text_mail_and_json_are_cut_by_their_own_bytes() {
    for_seeds(|dice| {
        let blocks = blocks(dice);
        let (mut rtf, mut mail, mut json) = (String::new(), String::new(), Vec::new());
        for words in &blocks {
            let text = written(
                dice,
                words,
                &[" ", "\\'e9 ", "{\\b  und }", "\\u228? ", "\r\n "],
            );
            rtf.push_str(&format!("\\pard {text}\\par\r\n"));
            mail.push_str(&written(dice, words, &[" ", "\r\n", ", "]));
            mail.push_str("\r\n\r\n");
            json.push(format!(
                "\"{}\"",
                written(dice, words, &[" ", "\\n", "\\u00e4 "])
            ));
        }
        let rtf = format!("{{\\rtf1\\ansi {rtf}}}");
        assert_cuts_blocks("a.rtf", rtf.as_bytes(), &blocks, encoding_rs::UTF_8);
        // Beyond a few, values are paragraphs of their own.
        let fill = (0..40).map(|n| format!("\"{n}\""));
        let values: Vec<String> = json.into_iter().chain(fill).collect();
        let parsed_blocks = |file: &[u8]| read("a.json", file).atoms[..blocks.len()].to_vec();
        let file = format!("[{}]", values.join(" ,\n"));
        for (atom, words) in parsed_blocks(file.as_bytes()).iter().zip(&blocks) {
            let source = String::from_utf8(cut(file.as_bytes(), atom)).unwrap();
            assert!(source.starts_with('"') && source.ends_with('"'));
            assert!(words.iter().all(|word| source.contains(word.as_str())));
        }
        let head = "From: a@b.c\r\nTo: d@e.f\r\nDate: Mon, 2 Mar 2026 10:00:00 +0100\r\nMessage-ID: <1@e>\r\n";
        let kinds = [
            "Content-Type: text/plain; charset=us-ascii\r\n\r\n",
            "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n",
        ];
        let mail = format!("{head}{}{mail}", kinds[dice.roll(2)]);
        let parsed = read("a.eml", mail.as_bytes());
        assert_eq!(
            parsed.atoms.len(),
            blocks.len() + 1,
            "and who wrote to whom"
        );
        for (atom, words) in parsed.atoms[1..].iter().zip(&blocks) {
            let source = String::from_utf8(cut(mail.as_bytes(), atom)).unwrap();
            assert!(
                words.iter().all(|word| source.contains(word.as_str())),
                "{source}"
            );
            assert!(source.len() < mail.len() - head.len());
        }
    });
}
