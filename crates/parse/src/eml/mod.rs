//! Mails: who wrote to whom and when, then the text, then the mails they carry. Other
//! attachments are named, not read.

mod plain;
mod quoted;
mod source;

use mail_parser::{
    Address, HeaderName, Message, MessageParser, MessagePart, MimeHeaders, PartType,
};
use model::{AtomKind, Parsed};

use crate::builder::{Piece, TextBuilder};
use crate::{Error, Format, Input, Limits, html};

use source::Origin;

const FORMAT: Format = Format::Eml;
/// Mails in mails beyond this are named, not read.
const DEEPEST: u8 = 6;

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let message = MessageParser::default()
        .parse(input.bytes)
        .ok_or_else(|| Error::damaged(FORMAT, "it has no header"))?;
    let mut out = TextBuilder::new(input.limits);
    out.title(message.subject().unwrap_or_default());
    if let Some(date) = message.date().filter(|date| date.is_valid()) {
        out.property("created", &date.to_rfc3339());
    }
    if let Some(from) = message.from() {
        out.property("author", &written(from));
    }
    let mut mail = Mail {
        limits: input.limits,
        out: &mut out,
        unread: Vec::new(),
    };
    mail.write(&message, Origin::File(input.bytes), 1)?;
    let unread = mail.unread;
    if !unread.is_empty() {
        out.warn(format!("attachments were not read: {}", unread.join(", ")));
    }
    Ok(out.finish(FORMAT))
}

struct Mail<'a> {
    limits: &'a Limits,
    out: &'a mut TextBuilder,
    /// Names of what was not read.
    unread: Vec<String>,
}

impl Mail<'_> {
    fn write(&mut self, message: &Message<'_>, origin: Origin<'_>, level: u8) -> Result<(), Error> {
        self.header(message, origin, level)?;
        for id in told(message) {
            if let Some(part) = message.part(*id) {
                self.part(part, origin)?;
            }
        }
        for part in message.attachments() {
            match &part.body {
                // Text whose end was lost with the end of the mail is text all the same.
                PartType::Text(_) | PartType::Html(_) if part.is_encoding_problem => {
                    self.part(part, origin)?;
                }
                PartType::Message(inner) if level < DEEPEST => {
                    self.write(inner, origin.within(part), level + 1)?;
                }
                _ => {
                    let name = part.attachment_name().unwrap_or("without a name");
                    self.unread.push(name.to_owned());
                }
            }
        }
        Ok(())
    }

    fn header(
        &mut self,
        message: &Message<'_>,
        origin: Origin<'_>,
        level: u8,
    ) -> Result<(), Error> {
        let subject = message.subject().unwrap_or_default();
        let heading = Piece::new(AtomKind::Heading { level }, subject);
        let place = origin.field(message, &[HeaderName::Subject]);
        self.out.push(heading.with_source(place))?;
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
        if let Some(date) = date(message) {
            lines.push(format!("Date: {date}"));
        }
        let fields = [
            HeaderName::From,
            HeaderName::To,
            HeaderName::Cc,
            HeaderName::Date,
        ];
        let piece = Piece::new(AtomKind::Paragraph, lines.join("\n"));
        let place = origin.field(message, &fields);
        self.out.push(piece.with_source(place))
    }

    fn part(&mut self, part: &MessagePart<'_>, origin: Origin<'_>) -> Result<(), Error> {
        match &part.body {
            PartType::Html(text) => {
                let body = origin.body(part, text);
                let source = |start: usize, end: usize| body.range(text, start, end);
                html::write_all(text, &source, self.limits, self.out)
            }
            PartType::Text(text) => {
                let body = origin.body(part, text);
                let source = |start: usize, end: usize| body.range(text, start, end);
                plain::write(text, &source, self.out)
            }
            _ => Ok(()),
        }
    }
}

/// As all mails would write it, or as this one does where that is no date.
fn date(message: &Message<'_>) -> Option<String> {
    let raw = || message.header_raw(HeaderName::Date).map(str::trim);
    let parsed = message.date().filter(|date| date.is_valid());
    let date = parsed.map(mail_parser::DateTime::to_rfc3339);
    date.or_else(|| raw().map(str::to_owned))
}

/// The parts that are the text. Of a text told twice the formatted one is read: it has the
/// structure.
fn told<'m>(message: &'m Message<'_>) -> &'m [u32] {
    let is_formatted = |id: &u32| message.part(*id).is_some_and(MessagePart::is_text_html);
    match message.html_body.iter().any(is_formatted) {
        true => &message.html_body,
        false => &message.text_body,
    }
}

fn written(address: &Address<'_>) -> String {
    let one = |person: &mail_parser::Addr<'_>| match (person.name(), person.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    };
    address.iter().map(one).collect::<Vec<_>>().join(", ")
}
