mod closing;
mod model;
mod promises;
mod store;
