//! Pages that are pictures, with the words somebody recognised on them.
//!
//! In: what a recogniser printed for a picture of the page: tesseract's table, one row for
//! each block, line and word, with boxes in pixels. Out: fragments as if the page had printed
//! those words itself, so that all that follows treats them alike.

use model::Gap;

use super::fragment::{Fragment, Look};
use super::order::median;

/// Why a picture is a gap as long as nobody has recognised its words.
pub(super) const PICTURE: &str = "the page is a picture without text and was not read";
pub(super) const NO_WORDS: &str = "the page is a picture on which no words were recognised";
/// Of a hundred: less sure than this, it is a stain.
const LEAST_SURE: f32 = 30.0;

/// What was recognised on a page.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recognised {
    /// Counted from 1.
    pub page: u32,
    /// The recogniser's table as it was printed.
    pub table: String,
}

/// The pages of a gap that recognising words would close.
pub fn pictures(gap: &Gap) -> impl Iterator<Item = u32> {
    let pages = gap.pages.filter(|_| gap.reason == PICTURE);
    pages.into_iter().flat_map(|(first, last)| first..=last)
}

/// Whether a gap is only a picture: it was not read, but hurts nobody who looks at it.
pub fn is_picture(gap: &Gap) -> bool {
    gap.reason == PICTURE || gap.reason == NO_WORDS
}

/// A row of the table, in pixels.
struct Row<'t> {
    level: u8,
    left: f32,
    top: f32,
    width: f32,
    height: f32,
    sure: f32,
    text: &'t str,
}

impl<'t> Row<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let mut columns = line.split('\t');
        let level = columns.next()?.parse().ok()?;
        let mut numbers = columns.by_ref().skip(5).map(|n| n.parse::<f32>().ok());
        let mut number = || numbers.next().flatten().filter(|n| n.is_finite());
        let (left, top, width, height) = (number()?, number()?, number()?, number()?);
        let sure = number()?;
        let text = columns.next().unwrap_or("").trim();
        Some(Self {
            level,
            left,
            top,
            width,
            height,
            sure,
            text,
        })
    }
}

/// The words in the order of the table, on a page of this width in points.
pub(super) fn fragments(table: &str, page_width: f32) -> Vec<Fragment> {
    let rows: Vec<Row<'_>> = table.lines().filter_map(Row::of).collect();
    let pixels = rows.iter().find(|row| row.level == 1).map(|row| row.width);
    let scale = page_width / pixels.filter(|width| *width > 0.0).unwrap_or(page_width);
    let mut all = Vec::new();
    // Each line's words stand between the row of the line and that of the next.
    for line in rows.split(|row| row.level < 5) {
        let words: Vec<&Row<'_>> = line.iter().filter(|row| is_word(row)).collect();
        all.extend(of_line(&words, scale));
    }
    even_out(&mut all);
    all
}

fn is_word(row: &Row<'_>) -> bool {
    row.level == 5 && row.sure >= LEAST_SURE && !row.text.is_empty() && row.width > 0.0
}

fn of_line(words: &[&Row<'_>], scale: f32) -> Vec<Fragment> {
    let text: String = words.iter().map(|word| word.text).collect();
    let (above, below) = reach(&text);
    let top = words.iter().map(|word| word.top).fold(f32::MAX, f32::min);
    let bottoms = words.iter().map(|word| word.top + word.height);
    let bottom = bottoms.fold(f32::MIN, f32::max);
    let size = (bottom - top) * scale / (above + below);
    let baseline = bottom * scale - below * size;
    let fragment = |word: &&Row<'_>| {
        let letters = word.text.chars().count();
        Fragment {
            text: word.text.to_owned(),
            left: word.left * scale,
            right: (word.left + word.width) * scale,
            baseline,
            size,
            angle: 0,
            look: Look {
                letters: letters as u32,
                ..Look::default()
            },
            artifact: false,
            apart: true,
            pitch: word.width * scale / letters.max(1) as f32,
            link: None,
        }
    };
    words.iter().map(fragment).collect()
}

/// How far the letters of a line reach above and below its baseline, in font sizes: a box
/// around `nose` is lower than one around `Hedge`, though both are of one size.
fn reach(text: &str) -> (f32, f32) {
    let low = |c: char| matches!(c, 'a' | 'c' | 'e' | 'm'..='s' | 'u'..='z' | 'g' | '.' | ',');
    let hangs = |c: char| matches!(c, 'g' | 'j' | 'p' | 'q' | 'y' | 'Q' | '(' | ')');
    let above = if text.chars().all(low) { 0.5 } else { 0.72 };
    let below = if text.chars().any(hangs) { 0.21 } else { 0.0 };
    (above, below)
}

/// Measured sizes waver; those about the usual are the usual.
fn even_out(fragments: &mut [Fragment]) {
    let letters = |f: &Fragment| f.look.letters.min(64) as usize;
    let sizes = fragments
        .iter()
        .flat_map(|f| std::iter::repeat_n(f.size, letters(f)));
    let Some(usual) = median(sizes) else {
        return;
    };
    for fragment in fragments {
        if (fragment.size - usual).abs() < usual * 0.22 {
            fragment.size = usual;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n\
        1\t1\t0\t0\t0\t0\t0\t0\t1000\t2000\t-1\t\n\
        4\t1\t1\t1\t1\t0\t100\t100\t300\t93\t-1\t\n\
        5\t1\t1\t1\t1\t1\t100\t100\t140\t93\t96.1\tGrey\n\
        5\t1\t1\t1\t1\t2\t260\t100\t140\t72\t95.0\tmill\n\
        5\t1\t1\t1\t1\t3\t460\t100\t14\t72\t3.0\t|\n\
        4\t1\t1\t1\t2\t0\t100\t250\t100\t50\t-1\t\n\
        5\t1\t1\t1\t2\t1\t100\t250\t100\t50\t91.0\tnose\n";

    #[test]
    fn recognised_words_stand_where_the_page_shows_them() {
        let words = fragments(TABLE, 500.0);
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["Grey", "mill", "nose"]);
        let [grey, mill, nose] = &words[..] else {
            unreachable!("three words were counted");
        };
        assert_eq!((grey.left, grey.right), (50.0, 120.0));
        assert_eq!(grey.baseline, mill.baseline);
        assert!((grey.baseline - 86.0).abs() < 0.1, "{}", grey.baseline);
        // Whether a letter hangs or rises makes no difference to the size.
        assert_eq!((grey.size, mill.size), (nose.size, nose.size));
    }

    #[test]
    fn a_table_of_nothing_we_know_is_no_words() {
        assert!(fragments("5\tmany\twords\n\t\t\n", 500.0).is_empty());
        assert!(fragments("5\t1\t1\t1\t1\t1\tNaN\t0\tinf\t5\t99\tx", 500.0).is_empty());
    }
}
