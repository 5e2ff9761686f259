//! Identifiers are types: a document cannot be passed where a run is meant.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
            JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }

            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )*};
}

ids! {
    /// Owns everything.
    TenantId,
    /// A person who signs in.
    UserId,
    /// A key an application signs in with.
    ApiKeyId,
    /// What people search.
    KbId,
    /// One embedding model and chunk policy of a knowledge base.
    GenerationId,
    /// Where documents come from.
    SourceId,
    /// A presigned upload, until its bytes have arrived.
    UploadId,
    /// An identity in a knowledge base, `(tenant, kb, source_uri)`.
    DocumentId,
    /// One content of a document.
    VersionId,
    /// The processing of one version.
    RunId,
    /// A controllable ingestion of a whole source.
    JobId,
    /// Somebody who wants to be told when something ends.
    WebhookId,
}
