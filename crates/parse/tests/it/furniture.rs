//! What repeats from page to page, and what only looks as if it did.

use std::io::Read;

use model::{AtomKind, Parsed};
use parse::{Hints, Limits};
use samples::pdf::{Page, packed, pdf};

fn read(bytes: &[u8]) -> Parsed {
    parse::parse(bytes, &Hints::default(), &Limits::default()).unwrap()
}

fn deflated(instructions: &str) -> Vec<u8> {
    let level = flate2::Compression::fast();
    let mut packed = flate2::read::ZlibEncoder::new(instructions.as_bytes(), level);
    let mut bytes = Vec::new();
    packed.read_to_end(&mut bytes).unwrap();
    bytes
}

fn line(size: u8, y: u16, text: &str) -> String {
    format!("BT /F {size} Tf 72 {y} Td ({text}) Tj ET\n")
}

fn pages(contents: impl Iterator<Item = String>) -> Parsed {
    let contents: Vec<Vec<u8>> = contents.map(|content| deflated(&content)).collect();
    read(&packed(&contents))
}

fn furniture(parsed: &Parsed) -> Vec<&str> {
    let found = parsed.atoms.iter();
    let found = found.filter(|atom| matches!(atom.kind, AtomKind::Furniture));
    found.map(|atom| &parsed.text[atom.span.bytes()]).collect()
}

#[test]
fn the_only_line_of_a_page_is_its_text_however_like_the_others() {
    let texts: Vec<String> = (1..=12).map(|n| format!("Sheet {n} of mill {n}")).collect();
    let all: Vec<Page<'_>> = texts.iter().map(|text| Page::Text(text)).collect();
    let parsed = read(&pdf(&all));
    assert_eq!(furniture(&parsed), [""; 0]);
    assert!(texts.iter().all(|text| parsed.text.contains(text.as_str())));
}

#[test]
fn a_title_larger_than_the_text_is_no_running_head() {
    let parsed = pages((1..=6).map(|n| {
        let points = (0..4).map(|at| line(11, 640 - 16 * at, "A point the miller makes"));
        line(20, 740, &format!("Harvest ({n}/6)")) + &points.collect::<String>()
    }));
    assert_eq!(furniture(&parsed), [""; 0]);
}

#[test]
fn titles_of_pages_with_little_text_are_no_running_heads() {
    let titles = ["Wheel", "Stone", "Sack", "Sieve", "Hopper", "Sluice"];
    let parsed = pages(titles.into_iter().map(|title| {
        let points = (0..4).map(|at| line(11, 640 - 16 * at, "A point the miller makes"));
        line(11, 740, title) + &points.collect::<String>()
    }));
    assert_eq!(furniture(&parsed), [""; 0]);
}

#[test]
fn sentences_that_differ_in_their_numbers_are_text() {
    let parsed = pages((1..=6).map(|n| {
        let question = format!(
            "Question {n}. How many sacks has the mill number {}?",
            n * 3
        );
        line(11, 740, &question) + &line(11, 400, "Room to answer")
    }));
    assert_eq!(furniture(&parsed), [""; 0]);
}

#[test]
fn lines_that_differ_in_a_number_of_their_own_are_text() {
    let parsed = pages((0..5).map(|n| {
        let card = [
            format!("Asset number {}", 71_000 + n * 37),
            format!("Bought 20{}-0{}-12", 10 + n, n + 1),
            format!("Price {} EUR", 1200 + n * 111),
        ];
        let lines = card.iter().zip([780, 766, 752]);
        let card: String = lines.map(|(text, y)| line(11, y, text)).collect();
        card + &line(11, 400, "It was inspected without any findings.")
    }));
    assert_eq!(furniture(&parsed), [""; 0]);
}

#[test]
fn a_head_with_the_number_of_its_chapter_and_of_the_page_is_furniture() {
    let parsed = pages((1..=6).map(|n| {
        let text = (0..20).map(|at| line(11, 640 - 16 * at, "What the miller wrote that year"));
        let head = format!("Chapter {} of the almanac {}", 1 + n / 4, 40 + n);
        line(9, 740, &head) + &text.collect::<String>()
    }));
    assert_eq!(furniture(&parsed).len(), 6);
}

const TITLES: [&str; 6] = ["Wheel", "Stone", "Sack", "Sieve", "Hopper", "Sluice"];

/// A page for each title, full of text, with an entry of the outline for each if there is one.
fn titled_pages(font: &str, outlined: bool) -> Parsed {
    let base = |name: &str| format!("<</Type/Font/Subtype/Type1/BaseFont/{name}>>");
    let kids: String = (0..6).map(|n| format!("{} 0 R ", 6 + 3 * n)).collect();
    let outline = if outlined { "/Outlines 5 0 R" } else { "" };
    let mut objects = vec![
        format!("<</Type/Catalog/Pages 2 0 R{outline}>>"),
        format!("<</Type/Pages/Kids[{kids}]/Count 6>>"),
        base("Helvetica"),
        base("Helvetica-Bold"),
        "<</Type/Outlines/First 8 0 R/Last 23 0 R/Count 6>>".to_owned(),
    ];
    for (n, title) in TITLES.iter().enumerate() {
        let text = (0..20).map(|at| line(11, 700 - 16 * at, &format!("All of the {title}")));
        let text: String = text.collect();
        let content = format!("BT /{font} 11 Tf 72 740 Td ({title}) Tj ET\n{text}");
        let page = 6 + 3 * n;
        let contents = page + 1;
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {contents} 0 R\
             /Resources<</Font<</F 3 0 R/B 4 0 R>>>>>>",
        ));
        let length = content.len();
        objects.push(format!("<</Length {length}>>stream\n{content}\nendstream"));
        let next = if n < 5 {
            format!("/Next {} 0 R", page + 5)
        } else {
            String::new()
        };
        objects.push(format!(
            "<</Title({title})/Parent 5 0 R/Dest[{page} 0 R/Fit]{next}>>"
        ));
    }
    read(&samples::pdf::file(&objects))
}

#[test]
fn bold_titles_of_pages_and_titles_the_outline_names_are_headings() {
    for (font, outlined) in [("B", false), ("F", true)] {
        let parsed = titled_pages(font, outlined);
        let headings = parsed.atoms.iter();
        let headings = headings.filter(|atom| matches!(atom.kind, AtomKind::Heading { .. }));
        let texts = headings.map(|atom| &parsed.text[atom.span.bytes()]);
        assert_eq!(texts.collect::<Vec<_>>(), TITLES, "{font}, {outlined}");
    }
}

#[test]
fn a_running_head_above_text_is_still_furniture() {
    let parsed = pages((1..=6).map(|n| {
        let text = (0..20).map(|at| line(11, 640 - 16 * at, "What the miller wrote that year"));
        line(9, 740, &format!("Almanac of mills, {n}")) + &text.collect::<String>()
    }));
    assert_eq!(furniture(&parsed).len(), 6);
    assert!(parsed.warnings.is_empty());
}

/// Text of the `n`th page from `y` on, unlike that of any other.
fn text_from(n: usize, y: u16, size: u8) -> String {
    let text = |at: u16| format!("What the miller wrote down in {}", 40 * n + usize::from(at));
    (0..20)
        .map(|at| line(size, y - 16 * at, &text(at)))
        .collect()
}

#[test]
fn heads_of_their_own_words_over_smaller_print_are_furniture() {
    let parsed = pages((1..=24).map(|n| {
        // Every sixth page is a listing, set smaller than the head.
        let size = if n % 6 == 0 { 8 } else { 10 };
        let name = format!("{}{}", TITLES[n / 6 % 6], TITLES[n % 6]);
        let head = line(10, 740, &format!("{name} {}", 40 + n));
        head + &text_from(n, 700, size)
    }));
    assert_eq!(furniture(&parsed).len(), 24);
}

#[test]
fn a_title_that_often_comes_first_on_its_page_is_text() {
    let parsed = pages((1..=24).map(|n| {
        let text = match n % 4 {
            0 => line(10, 700, "Examples") + &text_from(n, 676, 10),
            1 => line(10, 700, "Arguments") + &text_from(n, 676, 10),
            _ => text_from(n, 700, 10),
        };
        line(10, 740, &format!("Almanac of mills {n}")) + &text
    }));
    assert_eq!(furniture(&parsed).len(), 24);
}

#[test]
fn marks_of_footnotes_do_not_make_their_place_one_of_page_numbers() {
    let parsed = pages((1..=24).map(|n| {
        let last = if n % 4 == 0 {
            line(10, 84, &format!("The year {} ends the page", 1800 + 7 * n))
        } else {
            let note = format!("A note below, of the year {}", 1800 + 7 * n);
            line(6, 84, &(n * 2).to_string()) + &line(8, 80, &format!("      {note}"))
        };
        let text = text_from(n, 700, 10) + &line(10, 100, &format!("Sack {}", 5 * n)) + &last;
        line(10, 740, &format!("Almanac of mills {n}")) + &text
    }));
    assert_eq!(furniture(&parsed).len(), 24);
}

#[test]
fn the_head_of_a_page_without_text_is_that_of_the_others() {
    let parsed = pages((1..=6).map(|n| {
        let text = if n == 4 {
            String::new()
        } else {
            text_from(n, 700, 10)
        };
        line(9, 740, "Almanac of mills") + &text + &line(9, 40, &n.to_string())
    }));
    assert_eq!(furniture(&parsed).len(), 12);
}

#[test]
fn a_document_of_page_numbers_alone_says_that_it_holds_no_text() {
    let numbers: Vec<String> = (1..=6).map(|n| n.to_string()).collect();
    let all: Vec<Page<'_>> = numbers.iter().map(|number| Page::Text(number)).collect();
    let parsed = read(&pdf(&all));
    let [warning] = &parsed.warnings[..] else {
        panic!("one warning was expected in {:?}", parsed.warnings);
    };
    assert!(warning.message.starts_with("the document holds no text"));
}

#[test]
fn heads_that_count_at_either_end_are_all_furniture() {
    let names = ["Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse"];
    let names = names.into_iter().chain(["Hazel", "Ivy"]).enumerate();
    let parsed = pages(names.map(|(at, name)| {
        let sheet = at + 1;
        let head = match sheet % 3 {
            0 => format!("{name} of the wood {}", sheet + 1),
            1 => format!("{sheet} {name} of the wood {}", sheet + 1),
            _ => format!("{sheet} {name} of the wood"),
        };
        let text = (0..30).map(|at| line(10, 660 - 14 * at, "words of the miller and his wheel"));
        line(12, 750, &head) + &text.collect::<String>()
    }));
    assert_eq!(furniture(&parsed).len(), 9, "{}", parsed.text);
}
