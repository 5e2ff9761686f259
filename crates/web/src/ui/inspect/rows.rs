//! The rows of a table, found on the lines of its text.

use std::ops::Range;

use model::Table;

use crate::ui::marks::is_rule;

/// A row of a table, and the line of the table's text it stands on.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    pub line: Range<usize>,
    pub cells: Vec<String>,
    pub head: bool,
}

/// The rows that a table's text has lines of, in Markdown. A table divided among units
/// has the cells of the whole in each of them: there the lines say which are here.
pub fn rows(table: &Table, text: &str) -> Vec<Row> {
    let (mut lines, ruled) = lines(text);
    if ruled && table.header_rows == 0 {
        // Without a head, what stands above the rule is empty.
        lines.remove(0);
    }
    let is_whole = lines.len() == table.rows.len();
    let row = |(number, line): (usize, Range<usize>)| Row {
        cells: match is_whole {
            true => table.rows[number].clone(),
            false => cells(&text[line.clone()]),
        },
        head: (is_whole || ruled) && number < table.header_rows as usize,
        line,
    };
    lines.into_iter().enumerate().map(row).collect()
}

/// The lines without the rule under the first, and whether there is one.
fn lines(text: &str) -> (Vec<Range<usize>>, bool) {
    let mut at = 0;
    let mut lines = Vec::new();
    let mut ruled = false;
    for line in text.split('\n') {
        // Further down, a row may be all dashes.
        if lines.len() == 1 && !ruled && is_rule(line) {
            ruled = true;
        } else if !line.is_empty() {
            lines.push(at..at + line.len());
        }
        at += line.len() + 1;
    }
    (lines, ruled)
}

/// `| rye | bread |` as its cells. A stroke within a cell stands behind a backslash.
fn cells(line: &str) -> Vec<String> {
    let row = line.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    // The text of a document has no zero byte.
    let row = row.replace("\\|", "\0");
    let cell = |cell: &str| cell.trim().replace('\0', "|");
    row.split('|').map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(table: &Table, text: &str) -> Vec<String> {
        let show = |row: Row| {
            let head = if row.head { "*" } else { "" };
            format!("{head}{}@{}", row.cells.join("/"), &text[row.line])
        };
        rows(table, text).into_iter().map(show).collect()
    }

    #[test]
    fn rows_of_a_table_stand_on_its_lines_also_without_a_head_or_divided() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let mut table = Table {
            header_rows: 1,
            rows: vec![row(["a", "b"]), row(["1", "2|3"]), row(["4", ""])],
        };
        let text = "| a | b |\n| --- | --: |\n| 1 | 2\\|3 |\n| 4 |  |";
        let (head, one, four) = ("*a/b@| a | b |", "1/2|3@| 1 | 2\\|3 |", "4/@| 4 |  |");
        assert_eq!(shown(&table, text), [head, one, four]);
        let divided = text.find("| 4").unwrap();
        assert_eq!(shown(&table, &text[divided..]), [four]);
        assert_eq!(shown(&table, &text[..divided]), [head, one]);

        table.header_rows = 0;
        table.rows.remove(0);
        let text = text.replace("| a | b |", "|  |  |");
        assert_eq!(shown(&table, &text), [one, four]);
    }
}
