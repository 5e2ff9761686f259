//! RTF as tokens: groups, control words, and bytes of text.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    Word(&'a str, Option<i32>),
    /// A control symbol such as `\~` or `\*`.
    Symbol(u8),
    /// A byte of text in the code page of the document.
    Byte(u8),
}

pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How far the file has been read.
    pub(super) fn position(&self) -> u64 {
        self.at as u64
    }

    fn control(&mut self) -> Token<'a> {
        let Some(first) = self.bytes.get(self.at).copied() else {
            return Token::Symbol(b'\\');
        };
        if !first.is_ascii_alphabetic() {
            self.at += 1;
            return match first {
                b'\'' => self.hex(),
                b'\n' | b'\r' => Token::Word("par", None),
                symbol => Token::Symbol(symbol),
            };
        }
        let name = self.take(u8::is_ascii_alphabetic);
        let negative = self.bytes.get(self.at) == Some(&b'-');
        self.at += usize::from(negative);
        let digits = self.take(u8::is_ascii_digit);
        let number = digits
            .parse::<i32>()
            .ok()
            .map(|n| if negative { -n } else { n });
        if self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        // Data that is no text follows `\bin`: it is passed over.
        if name == "bin" {
            let length = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
            self.at = self.at.saturating_add(length).min(self.bytes.len());
        }
        Token::Word(name, number)
    }

    fn take(&mut self, wanted: impl Fn(&u8) -> bool) -> &'a str {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take(32).take_while(|b| wanted(b)).count();
        self.at += length;
        std::str::from_utf8(&rest[..length]).unwrap_or_default()
    }

    fn hex(&mut self) -> Token<'a> {
        let digits = self.bytes.get(self.at..self.at + 2);
        let value = digits
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u8::from_str_radix(d, 16).ok());
        self.at += if value.is_some() { 2 } else { 0 };
        Token::Byte(value.unwrap_or(b'?'))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            return Some(match byte {
                b'{' => Token::Open,
                b'}' => Token::Close,
                b'\\' => self.control(),
                b'\r' | b'\n' | 0 => continue,
                byte => Token::Byte(byte),
            });
        }
    }
}
