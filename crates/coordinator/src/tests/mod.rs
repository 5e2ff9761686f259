mod promises;
mod store;
