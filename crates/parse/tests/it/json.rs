//! JSON in the order it was written, and as far as it goes.

use model::{Atom, AtomKind, Parsed};
use parse::{Error, Hints, Limits};

fn tried(text: &str) -> Result<Parsed, Error> {
    let hints = Hints::of_filename("a.json");
    parse::parse(text.as_bytes(), &hints, &Limits::default())
}

#[test]
fn fields_stand_in_their_order_and_no_source_covers_another() {
    let parsed = tried(r#"{"a": "first", "intro": {"text": "second"}, "outro": "last"}"#).unwrap();
    assert_eq!(
        parse::to_markdown(&parsed),
        "a: first\n\n# intro\n\ntext: second\n\n# outro\n\nlast\n"
    );
    let source = |atom: &Atom| atom.source.clone().unwrap();
    for pair in parsed.atoms.windows(2) {
        assert!(source(&pair[0]).end <= source(&pair[1]).start);
    }
}

#[test]
fn what_stands_before_the_damage_is_read_and_the_rest_is_a_gap() {
    let cases = [
        (r#"{"a": {"text": "kept"}, "b": [1, 2, 3"#, "kept", "3"),
        ("{\"a\": \"kept\", \"b\": \"cut o", "kept", "cut o"),
        ("{\"a\": \"kept\",\n \"b\": \"raw\nline\"}", "kept", "raw"),
        (r#"{"a": "kept", "b": [1, }, "c": 2}"#, "kept", "1"),
        (r#"{"a": "kept \é"}"#, "a", "kept"),
        (r#"["kept", "too"] {"more": 1}"#, "kept", "too"),
    ];
    for (text, first, last) in cases {
        let parsed = tried(text).unwrap();
        assert!(parsed.text.contains(first), "{text}: {}", parsed.text);
        assert!(parsed.text.contains(last), "{text}: {}", parsed.text);
        assert_eq!(parsed.gaps.len(), 1, "{text}");
        assert!(parsed.gaps[0].reason.contains("line"), "{text}");
    }
}

#[test]
fn damage_before_any_word_is_an_error() {
    for text in ["{ nothing of the kind", "[", "{]"] {
        assert!(matches!(tried(text), Err(Error::Damaged { .. })), "{text}");
    }
}

#[test]
fn whole_values_have_no_gaps() {
    let parsed = tried(r#"{"a": {"b": []}, "c": {"d": "e"}}"#).unwrap();
    assert_eq!(parsed.gaps, []);
    let is_heading = |atom: &&Atom| matches!(atom.kind, AtomKind::Heading { .. });
    assert_eq!(parsed.atoms.iter().filter(is_heading).count(), 2);
}
