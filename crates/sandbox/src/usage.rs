//! What processes have used so far. The one place that asks the kernel by hand.

#![expect(unsafe_code, reason = "the system is asked for plain numbers")]

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

/// Processor time of another process, also of one that has ended and was not asked how yet.
pub(crate) fn cpu_of(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Its name stands in brackets and may hold anything.
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()? + ticks()?;
    // SAFETY: the call takes a number and returns one.
    let second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Some(Duration::from_millis(ticks * 1000 / second.max(1) as u64))
}

/// Processor time of this process.
pub(crate) fn cpu() -> Duration {
    // SAFETY: the struct is plain data, and the call writes no further than its end.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    time_of(&usage)
}

/// Waits for a child to end and returns its processor time; how it ended is left for who asks
/// next. Nothing when that has been asked already.
pub(crate) fn cpu_at_the_end_of(child: u32) -> Option<Duration> {
    let nothing = std::ptr::null_mut::<libc::siginfo_t>();
    let how = libc::WEXITED | libc::WNOWAIT;
    // SAFETY: the struct is plain data, and the call writes no further than its end. The
    // library's `waitid` has no place for it, the kernel's has.
    let (ended, usage) = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        let into = &raw mut usage;
        let ended = libc::syscall(libc::SYS_waitid, libc::P_PID, child, nothing, how, into);
        (ended, usage)
    };
    (ended == 0).then(|| time_of(&usage))
}

fn time_of(usage: &libc::rusage) -> Duration {
    let time = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}
