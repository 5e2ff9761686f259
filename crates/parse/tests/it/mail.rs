//! Mails as their readers see them: every text, once, with what it carries.

use parse::{Hints, Limits};

fn read(mail: &str) -> String {
    let bytes = mail.replace('\n', "\r\n");
    let hints = Hints::of_filename("a.eml");
    let parsed = parse::parse(bytes.as_bytes(), &hints, &Limits::default()).unwrap();
    let warnings = parsed.warnings.iter().map(|w| format!("({})\n", w.message));
    parse::to_markdown(&parsed) + &warnings.collect::<String>()
}

const HEAD: &str = "From: Ann <ann@example.org>\nTo: bob@example.org\nSubject: Report\nMessage-ID: <1@example.org>\nMIME-Version: 1.0\n";
const SHOWN: &str = "# Report\n\nFrom: Ann <ann@example.org>\nTo: bob@example.org\n\n";

#[test]
fn of_a_text_told_twice_one_is_read_and_what_follows_it_too() {
    let mail = format!(
        "{HEAD}Content-Type: multipart/mixed; boundary=o\n\n--o\nContent-Type: multipart/alternative; boundary=i\n\n--i\nContent-Type: text/plain\n\nPlain.\n--i\nContent-Type: text/html\n\n<p>Formatted.</p>\n--i--\n--o\nContent-Type: text/plain\n\nOf the list.\n--o\nContent-Type: text/plain\nContent-Disposition: attachment; filename=notes.txt\n\nNotes.\n--o--\n"
    );
    let expected =
        format!("{SHOWN}Formatted.\n\nOf the list.\n(attachments were not read: notes.txt)\n");
    assert_eq!(read(&mail), expected);
}

#[test]
fn a_mail_within_a_mail_is_read_below_it() {
    let inner = "From: Dora <dora@example.org>\nSubject: Inner\n\nInner words.\n";
    let mail = format!(
        "{HEAD}Content-Type: multipart/mixed; boundary=o\n\n--o\nContent-Type: text/plain\n\nSee below.\n--o\nContent-Type: message/rfc822\n\n{inner}\n--o--\n"
    );
    let expected =
        format!("{SHOWN}See below.\n\n## Inner\n\nFrom: Dora <dora@example.org>\n\nInner words.\n");
    assert_eq!(read(&mail), expected);
}

#[test]
fn quoted_lines_and_answers_are_told_apart() {
    let mail = format!("{HEAD}\nAnn wrote:\n> first\n> second\n>\n> third\nYes.\n");
    let expected = format!("{SHOWN}Ann wrote:\n\n> first\n> second\n>\n> third\n\nYes.\n");
    assert_eq!(read(&mail), expected);
}

#[test]
fn a_mail_that_breaks_off_keeps_its_text() {
    let mail = format!(
        "{HEAD}Content-Type: multipart/mixed; boundary=o\n\n--o\nContent-Type: text/plain\n\nNever ended.\n"
    );
    assert_eq!(read(&mail), format!("{SHOWN}Never ended.\n"));
}

#[test]
fn a_date_that_is_none_stands_as_it_is_written() {
    let mail = format!("{HEAD}Date: the ides of March\n\nBeware.\n");
    let expected = format!(
        "{}Date: the ides of March\n\nBeware.\n",
        SHOWN.trim_end().to_owned() + "\n"
    );
    assert_eq!(read(&mail), expected);
}
