//! What this process and its children have used so far. The one place that asks the kernel
//! by hand.

#![expect(unsafe_code, reason = "getrusage fills a plain struct")]

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    pub(crate) peak_bytes: u64,
}

/// Of this process.
pub(crate) fn usage() -> Usage {
    of(libc::RUSAGE_SELF)
}

/// Of its children that have ended: their time together, the memory of the largest.
pub(crate) fn of_children() -> Usage {
    of(libc::RUSAGE_CHILDREN)
}

fn of(whom: libc::c_int) -> Usage {
    // SAFETY: the struct is plain data, and the call writes no further than its end.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(whom, &mut usage);
        usage
    };
    let time = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
    };
    Usage {
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_bytes: usage.ru_maxrss as u64 * 1024,
    }
}
