//! Gathers spans as they end.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::wire::{Ended, Value};

pub struct Spans {
    sender: mpsc::Sender<Ended>,
    dropped: Arc<AtomicU64>,
}

/// A span under way.
struct Begun {
    start: SystemTime,
    fields: Fields,
}

#[derive(Default)]
struct Fields {
    trace_id: Option<String>,
    span_id: Option<String>,
    parent: Option<String>,
    others: Vec<(&'static str, Value)>,
    failed: bool,
}

impl Fields {
    fn take(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("trace_id", Value::Text(id)) => self.trace_id = Some(id),
            ("span_id", Value::Text(id)) => self.span_id = Some(id),
            ("parent_span_id", Value::Text(id)) => self.parent = Some(id),
            (name, value) => {
                self.failed |= name == "status" && matches!(value, Value::Number(500..));
                self.others.push((name, value));
            }
        }
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, Value::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(
            field,
            Value::Number(i64::try_from(value).unwrap_or(i64::MAX)),
        );
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, Value::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, Value::Text(format!("{value:?}")));
    }
}

impl Spans {
    pub(super) fn new(sender: mpsc::Sender<Ended>, dropped: Arc<AtomicU64>) -> Self {
        Self { sender, dropped }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if fields.trace_id.is_none()
            && let Some(parent) = span.parent()
            && let Some(begun) = parent.extensions().get::<Begun>()
        {
            fields.trace_id.clone_from(&begun.fields.trace_id);
            fields.parent.clone_from(&begun.fields.span_id);
            fields.span_id = Some(format!("{:016x}", rand::random::<u64>().max(1)));
        }
        let start = SystemTime::now();
        span.extensions_mut().insert(Begun { start, fields });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(begun) = span.extensions_mut().get_mut::<Begun>() {
            values.record(&mut begun.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let Some(begun) = span.extensions_mut().remove::<Begun>() else {
            return;
        };
        let fields = begun.fields;
        let (Some(trace_id), Some(span_id)) = (fields.trace_id, fields.span_id) else {
            return;
        };
        let ended = Ended {
            name: span.name(),
            server: span.name() == "request" && *span.metadata().level() == Level::INFO,
            trace_id,
            span_id,
            parent: fields.parent,
            start: begun.start,
            end: SystemTime::now(),
            attributes: fields.others,
            failed: fields.failed,
        };
        if self.sender.try_send(ended).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
