//! Sample documents made here, parsed through the public door.

mod columns;
mod encodings;
mod fields;
mod furniture;
mod gaps;
mod hostile;
mod json;
mod layout;
mod links;
mod lost_pages;
mod mail;
mod markdown;
mod odt;
mod office;
mod pages;
mod papers;
mod scans;
mod sheets;
mod snapshots;
mod sources;
mod tables;
mod types;
mod word;
mod wrapped_tables;
