//! Mails: who wrote to whom and when, then the text. Attachments are named, not read.

use mail_parser::{Address, Message, MessageParser, MimeHeaders};
use model::{AtomKind, Parsed};

use crate::builder::{Piece, TextBuilder};
use crate::{Error, Format, Input, html};

const FORMAT: Format = Format::Eml;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let message = MessageParser::default()
        .parse(input.bytes)
        .ok_or_else(|| Error::damaged(FORMAT, "it has no header"))?;
    let mut out = TextBuilder::new(input.limits);
    header(&message, &mut out)?;
    body(&message, input, &mut out)?;
    attachments(&message, &mut out);
    Ok(out.finish(FORMAT))
}

fn header(message: &Message<'_>, out: &mut TextBuilder) -> Result<(), Error> {
    let subject = message.subject().unwrap_or_default();
    out.title(subject);
    out.push(Piece::new(AtomKind::Heading { level: 1 }, subject))?;
    let mut lines = Vec::new();
    let people = [
        ("From", message.from()),
        ("To", message.to()),
        ("Cc", message.cc()),
    ];
    for (name, address) in people {
        if let Some(address) = address {
            lines.push(format!("{name}: {}", written(address)));
        }
    }
    if let Some(date) = message.date() {
        lines.push(format!("Date: {}", date.to_rfc3339()));
        out.property("created", &date.to_rfc3339());
    }
    if let Some(from) = message.from() {
        out.property("author", &written(from));
    }
    out.push(Piece::new(AtomKind::Paragraph, lines.join("\n")))
}

fn written(address: &Address<'_>) -> String {
    let one = |person: &mail_parser::Addr<'_>| match (person.name(), person.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    };
    address.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Of a text told twice the formatted one is read: it has the structure.
fn body(message: &Message<'_>, input: &Input<'_>, out: &mut TextBuilder) -> Result<(), Error> {
    let formatted = message
        .html_part(0)
        .is_some_and(mail_parser::MessagePart::is_text_html);
    if formatted && let Some(text) = message.body_html(0) {
        return html::write_all(&text, input.limits, out);
    }
    let texts = (0..message.text_body_count()).filter_map(|n| message.body_text(n));
    for text in texts {
        plain(&text, out)?;
    }
    Ok(())
}

/// Paragraphs at blank lines; lines after `>` are quoted.
fn plain(text: &str, out: &mut TextBuilder) -> Result<(), Error> {
    let text = text.replace("\r\n", "\n");
    for paragraph in text.split("\n\n") {
        let quoted = paragraph
            .lines()
            .all(|line| line.starts_with('>') || line.trim().is_empty());
        if quoted {
            let lines = paragraph
                .lines()
                .map(|line| line.trim_start_matches(['>', ' ']));
            let text = lines.collect::<Vec<_>>().join("\n");
            out.push(Piece::new(AtomKind::Quote, text))?;
        } else {
            out.push(Piece::new(AtomKind::Paragraph, paragraph))?;
        }
    }
    Ok(())
}

fn attachments(message: &Message<'_>, out: &mut TextBuilder) {
    let names: Vec<&str> = message
        .attachments()
        .map(|part| part.attachment_name().unwrap_or("without a name"))
        .collect();
    if !names.is_empty() {
        out.warn(format!("attachments were not read: {}", names.join(", ")));
    }
}
