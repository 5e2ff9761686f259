//! A text without pages is read part by part.
//!
//! A part is a unit: what is loaded to show it is bounded, however large the document.
//! What comes in is the catalog's list of units; out comes which of them is shown, and
//! which chunks stand before and after it.

use catalog::UnitRow;
use model::UnitName;

use super::Looked;
use crate::problem::Problem;

pub struct Parts {
    /// Those the index holds something of, in reading order.
    units: Vec<UnitRow>,
    /// Which of them is shown, counted from 1.
    pub page: usize,
}

/// A chunk by its key, and the page it is shown on.
pub type Elsewhere = (usize, String);

impl Parts {
    /// A chunk knows its part better than an address does that was kept for long.
    pub fn new(looked: &Looked, mut units: Vec<UnitRow>) -> Result<Self, Problem> {
        units.retain(|unit| unit.chunks > 0);
        let page = match &looked.chunk {
            None => looked.page.unwrap_or(1),
            Some(key) => {
                let unit = key.rsplit_once(':').map(|(unit, _)| unit);
                let at = units.iter().position(|row| Some(row.name.as_str()) == unit);
                at.ok_or_else(|| Problem::not_found("chunk", key))? + 1
            }
        };
        let parts = Self { units, page };
        if (1..=parts.last()).contains(&page) {
            Ok(parts)
        } else {
            Err(Problem::not_found("page", page))
        }
    }

    pub fn last(&self) -> usize {
        self.units.len().max(1)
    }

    /// `None` where the index holds nothing.
    pub fn shown(&self) -> Option<&UnitName> {
        self.units.get(self.page - 1).map(|row| &row.name)
    }

    /// The last chunk of the part before.
    pub fn before(&self) -> Option<Elsewhere> {
        let page = self.page.checked_sub(1).filter(|page| *page > 0)?;
        let row = &self.units[page - 1];
        Some((page, format!("{}:{}", row.name, row.chunks - 1)))
    }

    /// The first chunk of the part after.
    pub fn after(&self) -> Option<Elsewhere> {
        let row = self.units.get(self.page)?;
        Some((self.page + 1, format!("{}:0", row.name)))
    }
}

#[cfg(test)]
mod tests {
    use catalog::UnitState;

    use super::*;

    fn unit(name: &str, chunks: u64) -> UnitRow {
        UnitRow {
            name: UnitName::new(name).unwrap(),
            index: 0,
            state: UnitState::Done,
            chunks,
            tokens: 0,
            reused: 0,
            reason: None,
        }
    }

    fn parts(page: Option<usize>, chunk: Option<&str>) -> Result<Parts, Problem> {
        let looked = Looked {
            page,
            chunk: chunk.map(str::to_owned),
            q: String::new(),
            view: None,
        };
        let units = vec![unit("a", 3), unit("gap", 0), unit("b", 2), unit("c", 1)];
        Parts::new(&looked, units)
    }

    #[test]
    fn a_part_is_found_by_its_number_or_by_a_chunk_and_knows_its_neighbours() {
        let shown = |parts: &Parts| parts.shown().map(ToString::to_string);
        let first = parts(None, None).unwrap();
        assert_eq!(shown(&first).as_deref(), Some("a"));
        assert_eq!(first.before(), None);
        assert_eq!(first.after(), Some((2, "b:0".to_owned())));

        // The chunk decides, and what the index holds nothing of is no part.
        let second = parts(Some(1), Some("b:1")).unwrap();
        assert_eq!((second.page, second.last()), (2, 3));
        assert_eq!(second.before(), Some((1, "a:2".to_owned())));
        assert_eq!(second.after(), Some((3, "c:0".to_owned())));
        assert_eq!(parts(Some(3), None).unwrap().after(), None);

        for (page, chunk) in [(Some(4), None), (Some(0), None), (None, Some("gap:0"))] {
            assert!(parts(page, chunk).is_err(), "{page:?} {chunk:?}");
        }
    }
}
