//! What processes have used so far. The one place that asks the kernel by hand.

#![expect(unsafe_code, reason = "getrusage fills a plain struct")]

use std::time::Duration;

/// The most memory a process has had since it became the program it is; nothing where the system
/// does not say. Its own `ru_maxrss` would not do: it begins with what the parent had when it
/// started the child.
pub(crate) fn peak_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Processor time of this process.
pub(crate) fn cpu() -> Duration {
    // SAFETY: the struct is plain data, and the call writes no further than its end.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let time = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}
