//! W3C trace context: which trace something belongs to, and what came before it.

use std::fmt;
use std::str::FromStr;

/// A place in a trace, as the `traceparent` header writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    trace: u128,
    span: u64,
    sampled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a W3C traceparent")]
pub struct BadTraceParent;

impl TraceContext {
    /// A trace of its own. Both numbers are random; zero is not a number of a trace.
    pub fn new(trace: u128, span: u64) -> Self {
        Self {
            trace: trace.max(1),
            span: span.max(1),
            sampled: true,
        }
    }

    /// What follows from here.
    #[must_use]
    pub fn child(self, span: u64) -> Self {
        Self {
            span: span.max(1),
            ..self
        }
    }

    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    pub fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{:032x}-{:016x}-{flags:02x}", self.trace, self.span)
    }
}

impl FromStr for TraceContext {
    type Err = BadTraceParent;

    fn from_str(text: &str) -> Result<Self, BadTraceParent> {
        let mut parts = text.split('-');
        let mut hex = |length: usize| {
            let part = parts.next().filter(|part| part.len() == length);
            let plain = |part: &&str| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            let part = part.filter(plain).ok_or(BadTraceParent)?;
            u128::from_str_radix(part, 16).map_err(|_| BadTraceParent)
        };
        let (version, trace, span, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        // A later version may append to the header; `ff` is none.
        let known = version != 0xff && (version != 0 || parts.next().is_none());
        let span = u64::try_from(span).map_err(|_| BadTraceParent)?;
        if !known || trace == 0 || span == 0 {
            return Err(BadTraceParent);
        }
        Ok(Self {
            trace,
            span,
            sampled: flags & 1 == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_and_written_and_nonsense_is_refused() {
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let read: TraceContext = header.parse().unwrap();
        assert_eq!(read.to_string(), header);
        assert_eq!(read.child(1).trace_id(), read.trace_id());
        let future = format!("01-{}-more", &header[3..]);
        assert!(future.parse::<TraceContext>().is_ok());
        for bad in [
            "",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert!(bad.parse::<TraceContext>().is_err(), "{bad}");
        }
    }
}
