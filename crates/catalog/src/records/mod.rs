//! Plain data that crosses the seam.

mod account;
mod audit;
mod folder;
mod generation;
mod hook;
mod job;
mod library;
mod listing;
mod metadata;
mod noted;
mod noted_document;
mod noted_kb;
mod operation;
mod pace;
mod queue;
mod renamed;
mod replay;
mod run;
mod standing;
mod under_way;
mod witness;

pub use account::*;
pub use audit::*;
pub use folder::*;
pub use generation::*;
pub use hook::*;
pub use job::*;
pub use library::*;
pub use listing::*;
pub use metadata::*;
pub use noted::*;
pub use noted_document::*;
pub use noted_kb::*;
pub use operation::*;
pub use pace::*;
pub use queue::*;
pub use renamed::*;
pub use replay::*;
pub use run::*;
pub use standing::*;
pub use under_way::*;
pub use witness::*;

/// An enum stored as text: the words of the schema's CHECKs.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    other => Err(crate::Error::corrupt(format_args!(
                        "`{other}` where a {} belongs", stringify!($name)
                    ))),
                }
            }
        }
    };
}
use words;
