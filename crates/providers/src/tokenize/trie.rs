//! The longest piece of a vocabulary that some bytes begin with.
//!
//! A double array: the child of node `n` over byte `b` sits at `base[n] + b`, and
//! is really its child when `parent` there says so. A step is one addition and one
//! look, whatever the size of the vocabulary.

pub const ROOT: u32 = 0;
const NONE: u32 = u32::MAX;
/// The parent of the root: taken, and nobody's.
const NOBODY: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct Node {
    base: u32,
    parent: u32,
    /// The id of the piece that ends here.
    id: u32,
}

const FREE: Node = Node {
    base: 0,
    parent: NONE,
    id: NONE,
};

pub struct Trie {
    nodes: Vec<Node>,
}

impl Trie {
    /// `pieces` need not be sorted; of two equal ones either id may win.
    pub fn new(mut pieces: Vec<(&[u8], u32)>) -> Self {
        pieces.sort_unstable();
        let mut building = Building {
            nodes: vec![FREE; 1 << 16],
            // No base is below one, so slots below a byte's value stay free for ever.
            first_free: 256,
            first_roomy: 256,
        };
        building.nodes[ROOT as usize].parent = NOBODY;
        let mut open = vec![(ROOT, 0, &pieces[..])];
        while let Some((node, depth, pieces)) = open.pop() {
            building.fill(node, depth, pieces, &mut open);
        }
        // A step never looks further than one byte past the last base.
        let used = building.nodes.iter().rposition(|n| n.parent != NONE);
        building.nodes.resize(used.unwrap_or(0) + 257, FREE);
        Self {
            nodes: building.nodes,
        }
    }

    /// The id and length of the longest piece `bytes` begin with, counted from `root`.
    #[inline]
    pub fn longest(&self, root: u32, bytes: &[u8]) -> Option<(u32, usize)> {
        let mut node = root;
        let mut found = None;
        for (at, byte) in bytes.iter().enumerate() {
            match self.step(node, *byte) {
                Some(child) => node = child,
                None => break,
            }
            let id = self.nodes[node as usize].id;
            if id != NONE {
                found = Some((id, at + 1));
            }
        }
        found
    }

    /// The node at which pieces that begin with `prefix` go on.
    pub fn descend(&self, prefix: &[u8]) -> Option<u32> {
        let step = |node, byte: &u8| self.step(node, *byte);
        prefix.iter().try_fold(ROOT, step)
    }

    #[inline]
    fn step(&self, node: u32, byte: u8) -> Option<u32> {
        let child = self.nodes[node as usize].base + u32::from(byte);
        (self.nodes[child as usize].parent == node).then_some(child)
    }
}

struct Building {
    nodes: Vec<Node>,
    first_free: usize,
    first_roomy: usize,
}

/// A node, how many bytes lead to it, and the sorted pieces that begin with those.
type Open<'p, 'b> = (u32, usize, &'p [(&'b [u8], u32)]);

impl Building {
    fn fill<'p, 'b>(
        &mut self,
        node: u32,
        depth: usize,
        mut pieces: &'p [(&'b [u8], u32)],
        open: &mut Vec<Open<'p, 'b>>,
    ) {
        // Sorted, the pieces that end here come first.
        while let Some((_, id)) = pieces.first().filter(|(piece, _)| piece.len() == depth) {
            self.nodes[node as usize].id = *id;
            pieces = &pieces[1..];
        }
        let children: Vec<_> = pieces.chunk_by(|a, b| a.0[depth] == b.0[depth]).collect();
        let bytes: Vec<u8> = children.iter().map(|group| group[0].0[depth]).collect();
        let base = self.place(&bytes);
        self.nodes[node as usize].base = base;
        for (byte, group) in bytes.iter().zip(children) {
            let child = base + u32::from(*byte);
            self.nodes[child as usize].parent = node;
            open.push((child, depth + 1, group));
        }
    }

    /// A base at which a slot is free for every one of `bytes`.
    fn place(&mut self, bytes: &[u8]) -> u32 {
        let Some(first) = bytes.first().map(|b| usize::from(*b)) else {
            return 0;
        };
        while self.nodes[self.first_free].parent != NONE {
            self.first_free += 1;
        }
        // Only children fill the holes; families look where there is still room.
        let from = if bytes.len() == 1 {
            self.first_free
        } else {
            self.first_roomy
        };
        let slot = (from..)
            .find(|slot| self.is_free(slot - first, bytes))
            .expect("the array grows");
        if slot - from > 64 && bytes.len() > 1 {
            self.first_roomy = slot;
        }
        (slot - first) as u32
    }

    fn is_free(&mut self, base: usize, bytes: &[u8]) -> bool {
        if base + 256 >= self.nodes.len() {
            self.nodes.resize(self.nodes.len() * 2, FREE);
        }
        let free = |b: &u8| self.nodes[base + usize::from(*b)].parent == NONE;
        bytes.iter().all(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_piece_wins_and_its_length_is_told() {
        let words = ["a", "mill", "mills", "##s", "##stone"];
        let pieces = words.iter().zip(0..).map(|(w, id)| (w.as_bytes(), id));
        let trie = Trie::new(pieces.collect());
        assert_eq!(trie.longest(ROOT, b"millstone"), Some((2, 5)));
        assert_eq!(trie.longest(ROOT, b"mil"), None);
        let continuation = trie.descend(b"##").unwrap();
        assert_eq!(trie.longest(continuation, b"stone"), Some((4, 5)));
        assert_eq!(trie.longest(continuation, b"mill"), None);
    }
}
