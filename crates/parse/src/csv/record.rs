//! Records of a CSV file, line by line: a quoted field may hold line ends.

/// A quote that never closes must not swallow the file.
const LONGEST_RECORD: usize = 1 << 20;

pub(super) struct Reader {
    separator: char,
    /// Fields of the record being read.
    fields: Vec<String>,
    field: String,
    in_quotes: bool,
    bytes: usize,
}

impl Reader {
    pub(super) fn new(separator: char) -> Self {
        Self {
            separator,
            fields: Vec::new(),
            field: String::new(),
            in_quotes: false,
            bytes: 0,
        }
    }

    pub(super) fn separator(&self) -> char {
        self.separator
    }

    /// Takes a line; answers when it completes a record.
    pub(super) fn line(&mut self, line: &str, cut: bool) -> Option<Vec<String>> {
        self.bytes += line.len() + 1;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if self.in_quotes && chars.peek() == Some(&'"') => {
                    chars.next();
                    self.field.push('"');
                }
                '"' if self.in_quotes => self.in_quotes = false,
                '"' if self.field.trim().is_empty() => {
                    self.field.clear();
                    self.in_quotes = true;
                }
                c if c == self.separator && !self.in_quotes => self.close_field(),
                c => self.field.push(c),
            }
        }
        if cut && self.bytes < LONGEST_RECORD {
            return None;
        }
        if self.in_quotes && self.bytes < LONGEST_RECORD {
            self.field.push('\n');
            return None;
        }
        Some(self.close())
    }

    pub(super) fn end(&mut self) -> Option<Vec<String>> {
        (self.bytes > 0).then(|| self.close())
    }

    fn close_field(&mut self) {
        self.fields.push(std::mem::take(&mut self.field));
    }

    fn close(&mut self) -> Vec<String> {
        self.close_field();
        self.in_quotes = false;
        self.bytes = 0;
        std::mem::take(&mut self.fields)
    }
}

/// The separator a first line uses most, quoted fields apart.
pub(super) fn separator(line: &str) -> char {
    let bare: Vec<&str> = line.split('"').step_by(2).collect();
    let count = |c: &char| {
        bare.iter()
            .map(|part| part.matches(*c).count())
            .sum::<usize>()
    };
    let candidates = ['|', ';', '\t', ','];
    candidates.into_iter().max_by_key(count).unwrap_or(',')
}

/// The separator a first line names, as spreadsheets write and understand it: `sep=;`.
pub(super) fn named_separator(line: &str) -> Option<char> {
    let (name, rest) = line.trim_end_matches(['\r', ' ']).split_at_checked(4)?;
    let mut chars = rest.chars();
    let named = chars.next().filter(|_| name.eq_ignore_ascii_case("sep="));
    named.filter(|_| chars.next().is_none())
}
