mod model;
mod promises;
mod store;
