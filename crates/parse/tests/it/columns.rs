//! Text in columns, in whichever order a page prints it.

use model::{AtomKind, Parsed};
use parse::{Hints, Limits};

const LEFT: [&str; 8] = [
    "Water comes down the race in the early",
    "hours and the wheel begins to turn for",
    "the day. The stones are dressed before",
    "that, since nobody can do so later on.",
    "A sack of rye takes an hour to grind a",
    "first time, and another one when it is",
    "wanted fine. The bran is kept aside in",
    "a bin of its own and goes to the pigs.",
];
const RIGHT: [&str; 8] = [
    "Millers were paid in kind for a long a",
    "time, a sixteenth of what was brought,",
    "until the towns began to pay in coins.",
    "Those who cheated were named in public",
    "and lost the lease, which passed on to",
    "whoever had waited for it the longest.",
    "Few records are left of such disputes,",
    "as most were settled over a good meal.",
];

fn at(x: u16, y: u16, text: &str) -> String {
    format!("BT /F 11 Tf {x} {y} Td ({text}) Tj ET\n")
}

fn read(page: &str) -> Parsed {
    let bytes = samples::pdf::drawn(page);
    parse::parse(&bytes, &Hints::of_filename("a.pdf"), &Limits::default()).unwrap()
}

/// Two columns, a line of each in turn, the second lower by so much.
fn across(lower: u16) -> String {
    let rows = LEFT.iter().zip(RIGHT).enumerate();
    let row = |(row, (left, right)): (usize, (&&str, &str))| {
        let y = 680 - 13 * row as u16;
        at(72, y, left) + &at(310, y - lower, right)
    };
    rows.map(row).collect()
}

fn words(parsed: &Parsed) -> String {
    let texts = parsed.atoms.iter().map(|a| &parsed.text[a.span.bytes()]);
    texts.collect::<Vec<_>>().join(" ").replace('\n', " ")
}

#[test]
fn columns_printed_line_by_line_are_read_one_after_the_other() {
    let read_down = [LEFT.join(" "), RIGHT.join(" ")].join(" ");
    for lower in [0, 2, 6] {
        assert_eq!(words(&read(&across(lower))), read_down, "lower by {lower}");
    }
}

#[test]
fn what_reaches_over_both_columns_stands_above_and_below_them() {
    let title =
        "Of mills and of the millers who kept them going, day after day and year after year";
    let foot =
        "Taken from the almanac of the guild, with the leave of those who still remember it.";
    let page = at(72, 720, title) + &across(0) + &at(72, 560, foot);
    let columns = [LEFT.join(" "), RIGHT.join(" ")].join(" ");
    assert_eq!(words(&read(&page)), format!("{title} {columns} {foot}"));
}

#[test]
fn the_right_column_may_be_printed_first() {
    let rows = LEFT.iter().zip(RIGHT).enumerate();
    let row = |(row, (left, right)): (usize, (&&str, &str))| {
        let y = 680 - 13 * row as u16;
        at(310, y, right) + &at(72, y, left)
    };
    let page: String = rows.map(row).collect();
    let read_down = [LEFT.join(" "), RIGHT.join(" ")].join(" ");
    assert_eq!(words(&read(&page)), read_down);
}

#[test]
fn columns_printed_paragraph_by_paragraph_are_read_one_after_the_other() {
    let mut page = String::new();
    for from in [0, 2, 4, 6] {
        for (x, column) in [(72, LEFT), (310, RIGHT)] {
            for (row, line) in column.iter().enumerate().skip(from).take(2) {
                page.push_str(&at(x, 680 - 13 * row as u16, line));
            }
        }
    }
    let read_down = [LEFT.join(" "), RIGHT.join(" ")].join(" ");
    assert_eq!(words(&read(&page)), read_down);
}

/// A column of running text that begins here, one line under the other.
fn down(x: u16, column: &[&str]) -> String {
    let lines = column.iter().enumerate();
    let line = |(row, line): (usize, &&str)| at(x, 680 - 13 * row as u16, line);
    lines.map(line).collect()
}

#[test]
fn whatever_ends_a_column_it_is_read_before_the_next_one() {
    let ends: [&[(u16, u16, &str)]; 5] = [
        &[(72, 540, "A note that stands alone at the foot")],
        &[
            (72, 420, "Figure 1. The mill as it was seen from"),
            (72, 407, "the western bank."),
        ],
        &[
            (132, 560, "E = m c c \\(1\\)"),
            (72, 540, "where m is the mass."),
        ],
        &[
            (72, 556, "Of those who bake"),
            (72, 538, "They take the flour while it is warm."),
        ],
        &[
            (72, 570, "Rye"),
            (72, 557, "Malt"),
            (72, 544, "Oats"),
            (72, 531, "Wheat"),
            (72, 518, "Barley"),
        ],
    ];
    for end in ends {
        let lines = end.iter().map(|(x, y, line)| at(*x, *y, line));
        let page = down(72, &LEFT) + &lines.collect::<String>() + &down(310, &RIGHT);
        let foot: Vec<&str> = end.iter().map(|(_, _, line)| *line).collect();
        let read_down = [LEFT.join(" "), foot.join(" "), RIGHT.join(" ")].join(" ");
        assert_eq!(words(&read(&page)), read_down.replace('\\', ""));
    }
}

#[test]
fn columns_of_a_few_words_each_are_read_as_they_are_printed() {
    let narrow = |column: [&'static str; 8]| column.map(|line| line[..18].trim());
    let all = [narrow(LEFT), narrow(RIGHT), narrow(LEFT), narrow(RIGHT)];
    let printed = all.iter().zip([60, 180, 300, 420]);
    let page: String = printed.map(|(column, x)| down(x, column)).collect();
    let read_down = all.map(|column| column.join(" ")).join(" ");
    assert_eq!(words(&read(&page)), read_down);
}

#[test]
fn three_columns_are_read_from_left_to_right() {
    let narrow = |column: [&'static str; 8]| column.map(|line| &line[..24]);
    let all = [narrow(LEFT), narrow(RIGHT), narrow(LEFT)];
    let mut page = String::new();
    for row in 0..8 {
        for (column, x) in all.iter().zip([60, 230, 400]) {
            page.push_str(&at(x, 680 - 13 * row as u16, column[row].trim()));
        }
    }
    let read_down = all.map(|column| column.map(str::trim).join(" ")).join(" ");
    assert_eq!(words(&read(&page)), read_down);
}

#[test]
fn terms_and_what_they_mean_are_read_row_by_row() {
    let terms = [
        "Race", "Weir", "Hopper", "Damsel", "Tun", "Rynd", "Quern", "Sluice",
    ];
    let rows = terms.iter().zip(LEFT).enumerate();
    let row = |(row, (term, meaning)): (usize, (&&str, &str))| {
        let y = 680 - 13 * row as u16;
        at(72, y, term) + &at(310, y, meaning)
    };
    let page: String = rows.map(row).collect();
    let parsed = read(&page);
    let text = words(&parsed);
    let places = terms
        .iter()
        .zip(LEFT)
        .flat_map(|(term, meaning)| [*term, meaning]);
    let places: Vec<_> = places.map(|words| text.find(words)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
}

#[test]
fn a_table_of_figures_is_no_text_in_columns() {
    let mut page = String::new();
    for row in 0..8_u16 {
        for (column, x) in [72, 150, 310, 400].into_iter().enumerate() {
            let figure = format!("{}.{}", row * 7 + 3, column + 1);
            page.push_str(&at(x, 680 - 13 * row, &figure));
        }
    }
    let parsed = read(&page);
    let tables = parsed.atoms.iter();
    let tables = tables.filter(|atom| matches!(atom.kind, AtomKind::Table(_)));
    assert_eq!(tables.count(), 1, "{:?}", parsed.atoms);
}
