//! The data folder a catalog belongs to.

use uuid::Uuid;

/// Where index and objects are, by a name they keep wherever they are moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFolder {
    pub id: Uuid,
    /// Where it lies, or lay when it was last opened.
    pub place: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    Here,
    /// To another folder, whose index and objects the catalog tells of.
    Elsewhere(DataFolder),
}
