//! What begins a block that may have no end: a fence, or the head of a table.
//!
//! A segment that begins within such a block repeats these lines, for without them its own
//! would be read as prose.

/// A longer line begins no block that is carried on.
const LONGEST: usize = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct Carried {
    /// The mark and length of the fence of the code block we are in.
    fence: Option<(char, usize)>,
    /// The lines that began the block we are in.
    head: Vec<String>,
    /// The line before, if it may be the head of a table.
    before: String,
}

impl Carried {
    pub(super) fn of(fence: Option<(char, usize)>, head: Option<Vec<String>>) -> Self {
        Self {
            fence,
            head: head.unwrap_or_default(),
            before: String::new(),
        }
    }

    pub(super) fn fence(&self) -> Option<(char, usize)> {
        self.fence
    }

    pub(super) fn head(&self) -> &[String] {
        &self.head
    }

    /// A blank line ends a table, and is told before a segment begins with it.
    pub(super) fn expect(&mut self, line: &str) {
        if self.fence.is_none() && line.trim().is_empty() {
            self.head.clear();
        }
    }

    pub(super) fn track(&mut self, line: &str) {
        self.track_fence(line.trim_start());
        if self.fence.is_none() {
            self.track_table(line.trim_start());
        }
    }

    fn track_fence(&mut self, line: &str) {
        let Some(mark @ ('`' | '~')) = line.chars().next() else {
            return;
        };
        let run = line.chars().take_while(|c| *c == mark).count();
        match self.fence {
            None if run >= 3 => {
                self.fence = Some((mark, run));
                self.head = vec![short(line).to_owned()];
            }
            Some((open, length))
                if mark == open && run >= length && line[run..].trim().is_empty() =>
            {
                self.fence = None;
                self.head.clear();
            }
            _ => {}
        }
    }

    fn track_table(&mut self, line: &str) {
        let is_below = columns(&self.before) == columns(line) && !self.before.is_empty();
        if self.head.is_empty() && is_below && is_delimiter(line) {
            self.head = vec![self.before.clone(), line.to_owned()];
        }
        self.before.clear();
        if line.contains('|') {
            self.before.push_str(short(line));
        }
    }
}

/// Nothing of a line too long to be carried.
fn short(line: &str) -> &str {
    if line.len() > LONGEST { "" } else { line }
}

/// `|---|:-:|`, below the head of a table.
fn is_delimiter(line: &str) -> bool {
    let is_part = |c: char| matches!(c, '|' | '-' | ':' | ' ' | '\t');
    line.len() <= LONGEST && line.contains("-") && line.contains('|') && line.chars().all(is_part)
}

fn columns(line: &str) -> usize {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    line.strip_suffix('|').unwrap_or(line).split('|').count()
}
