//! Which lines near the edges run from page to page: the same words, or the number of the page.

use std::collections::{HashMap, HashSet};

use super::edge::{EdgeLine, NUMBER};

/// A line of more numbers than this is no head: a row of figures.
const FEW_NUMBERS: usize = 6;
/// So many lines at one height tell what kind of place it is.
const TELLING: usize = 5;

/// For each line whether it is like those at the same height on other pages.
pub(super) fn running_lines(lines: &[EdgeLine]) -> Vec<bool> {
    let repeated = repeats(lines);
    let offsets = counting_slots(lines);
    let numbered =
        |line: &EdgeLine| offsets_of(line).any(|offset| offsets.contains(&(line.slot, offset)));
    let running = lines.iter().zip(repeated);
    running
        .map(|(line, repeated)| repeated || numbered(line))
        .collect()
}

/// Heights where most lines begin or end with a number that counts with the pages, whatever
/// their words are, and how far that number is from the page's own. At one height both ends may
/// count, each on pages of its own.
fn counting_slots(lines: &[EdgeLine]) -> HashSet<(i32, i64)> {
    let mut all: HashMap<i32, usize> = HashMap::new();
    let mut alike: HashMap<(i32, i64), usize> = HashMap::new();
    for line in lines {
        *all.entry(line.slot).or_default() += 1;
        for offset in offsets_of(line) {
            *alike.entry((line.slot, offset)).or_default() += 1;
        }
    }
    let most = alike
        .into_iter()
        .filter(|((slot, _), count)| *count >= TELLING && count * 2 > all[slot]);
    most.map(|(place, _)| place).collect()
}

/// How far the numbers at a line's ends are from the number of its page.
fn offsets_of(line: &EdgeLine) -> impl Iterator<Item = i64> {
    let sheet = i64::from(line.sheet);
    let [first, last] = line.ends.map(|number| number.map(|number| number - sheet));
    let last = last.filter(|_| last != first);
    first.into_iter().chain(last)
}

/// What two lines have in common if they are the same head: their height, their words and all
/// numbers, the one that counts with the pages as its distance from them.
type Likeness<'l> = (i32, &'l str, Option<usize>, Vec<i64>);

/// What a line may have in common with others at this height. No more than one number counts:
/// two that both do are a date or a price, and not those of a page.
fn likenesses(line: &EdgeLine, slot: i32) -> impl Iterator<Item = Likeness<'_>> {
    let few = Some(line.numbers.len()).filter(|count| *count <= FEW_NUMBERS);
    let counting = std::iter::once(None).chain((0..few.unwrap_or(0)).map(Some));
    counting.map(move |counting| {
        let mut numbers = line.numbers.clone();
        if let Some(at) = counting {
            numbers[at] -= i64::from(line.sheet);
        }
        (slot, line.words.as_str(), counting, numbers)
    })
}

/// Which lines' words stand at the same height on at least two other pages (or on the
/// other one, of two).
fn repeats(lines: &[EdgeLine]) -> Vec<bool> {
    let is_number = |line: &EdgeLine| line.words.chars().eq([NUMBER]);
    // On how many pages, and the last of them.
    let mut pages: HashMap<Likeness<'_>, (usize, usize)> = HashMap::new();
    for line in lines.iter().filter(|line| !is_number(line)) {
        for likeness in likenesses(line, line.slot) {
            let (seen, last) = pages.entry(likeness).or_insert((0, usize::MAX));
            *seen += usize::from(*last != line.page);
            *last = line.page;
        }
    }
    let needed = if lines.iter().any(|line| line.page > 1) {
        3
    } else {
        2
    };
    let seen = |likeness: &Likeness<'_>| pages.get(likeness).map_or(0, |(seen, _)| *seen);
    let again = |line: &EdgeLine| {
        likenesses(line, line.slot).any(|mut likeness| {
            let near = (line.slot - 1..=line.slot + 1).map(|slot| {
                likeness.0 = slot;
                seen(&likeness)
            });
            near.sum::<usize>() >= needed
        })
    };
    lines.iter().map(again).collect()
}

/// Numbers that stand alone and grow as the pages do: for each line whether it is one.
pub(super) fn counting_numbers(lines: &[EdgeLine]) -> Vec<bool> {
    let offset = |line: &EdgeLine| Some(line.number? - i64::from(line.sheet));
    let mut alike: HashMap<i64, usize> = HashMap::new();
    for offset in lines.iter().filter_map(offset) {
        *alike.entry(offset).or_default() += 1;
    }
    let counts = |line: &EdgeLine| offset(line).is_some_and(|offset| alike[&offset] >= 2);
    lines.iter().map(counts).collect()
}
