//! The atoms of a document again, from those of its units.

use model::Atom;

/// Takes the atoms of units in reading order. One that was divided between units is whole again:
/// only its parts touch, as between two atoms stands a blank line.
#[derive(Debug, Default)]
pub struct Joiner {
    /// The last one, of which a part may follow.
    open: Option<Atom>,
}

impl Joiner {
    /// Answers with those that are whole for certain.
    pub fn push(&mut self, atoms: Vec<Atom>) -> Vec<Atom> {
        let mut whole = Vec::with_capacity(atoms.len());
        for atom in atoms {
            match &mut self.open {
                Some(open) if open.span.byte_end == atom.span.byte_start => join(open, atom),
                open => whole.extend(open.replace(atom)),
            }
        }
        whole
    }

    pub fn finish(self) -> Option<Atom> {
        self.open
    }
}

fn join(first: &mut Atom, rest: Atom) {
    first.span.byte_end = rest.span.byte_end;
    first.span.char_end = rest.span.char_end;
    first.links.extend(rest.links);
}
