//! An office suite that tries what it must not, and prints what it was allowed.
//!
//! In: a document that names a foreign process and a foreign file. Every attempt is a bare
//! system call, so that no library refuses first.

#![expect(unsafe_code, reason = "system calls nobody offers otherwise")]
#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::ffi::CString;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// What the kernel takes: numbers, and pointers as such.
type Call = [i64; 6];

pub(crate) fn print() {
    let home = std::env::var("HOME").unwrap();
    let home = Path::new(&home);
    let document = std::fs::read_to_string(home.join("document.docx")).unwrap();
    let (process, file) = document.split_once(' ').unwrap();
    let mut allowed = signalling(process.parse().unwrap());
    allowed.extend(disturbing(process.parse().unwrap()));
    allowed.extend(marking(file));
    allowed.extend(escaping());
    allowed.push("nothing else");
    std::fs::write(home.join("document.pdf"), allowed.join(", ")).unwrap();
}

/// Whoever owns a socket is sent a signal of the owner's choice when something comes.
fn signalling(process: i64) -> Vec<&'static str> {
    let (mut here, there) = UnixStream::pair().unwrap();
    let fd = i64::from(there.as_raw_fd());
    let id = i32::try_from(process).unwrap();
    let owner = [1, id];
    let (owner, id) = (address(&owner), address(&id));
    let fcntl = |command, value| [libc::SYS_fcntl, fd, command, value, 0, 0];
    let allowed = tried(&[
        ("F_SETSIG", fcntl(10, i64::from(libc::SIGKILL))),
        ("F_SETOWN_EX", fcntl(15, owner)),
        ("F_SETOWN", fcntl(8, process)),
        ("FIOSETOWN", [libc::SYS_ioctl, fd, 0x8901, id, 0, 0]),
        ("SIOCSPGRP", [libc::SYS_ioctl, fd, 0x8902, id, 0, 0]),
        ("kill", [libc::SYS_kill, process, 9, 0, 0, 0]),
    ]);
    let _ = call(fcntl(i64::from(libc::F_SETFL), i64::from(libc::O_ASYNC)));
    let _ = std::io::Write::write(&mut here, b"!");
    allowed
}

fn disturbing(process: i64) -> Vec<&'static str> {
    let (cores, calm) = (address(&1_u64), address(&[0_i32; 1]));
    tried(&[
        ("setpriority", [libc::SYS_setpriority, 0, process, 19, 0, 0]),
        (
            "affinity",
            [libc::SYS_sched_setaffinity, process, 8, cores, 0, 0],
        ),
        (
            "scheduler",
            [libc::SYS_sched_setscheduler, process, 3, calm, 0, 0],
        ),
        (
            "ioprio_set",
            [libc::SYS_ioprio_set, 1, process, 3 << 13, 0, 0],
        ),
    ])
}

/// An access list that lets everybody do everything.
fn marking(file: &str) -> Vec<&'static str> {
    let path = CString::new(file).unwrap();
    let name = c"system.posix_acl_access";
    let mut all: Vec<u8> = vec![2, 0, 0, 0];
    for who in [1, 4, 32] {
        all.extend([who, 0, 7, 0, 255, 255, 255, 255]);
    }
    let own = std::fs::File::open("document.docx").unwrap();
    let (path, name) = (path.as_ptr() as i64, name.as_ptr() as i64);
    let (value, size) = (all.as_ptr() as i64, all.len() as i64);
    let fd = i64::from(own.as_raw_fd());
    let flags = address(&0_i64);
    tried(&[
        ("setxattr", [libc::SYS_setxattr, path, name, value, size, 0]),
        (
            "lsetxattr",
            [libc::SYS_lsetxattr, path, name, value, size, 0],
        ),
        ("fsetxattr", [libc::SYS_fsetxattr, fd, name, value, size, 0]),
        ("removexattr", [libc::SYS_removexattr, path, name, 0, 0, 0]),
        ("setxattrat", [463, AT_HERE, path, 0, name, 0]),
        ("removexattrat", [466, AT_HERE, path, 0, name, 0]),
        (
            "FS_IOC_SETFLAGS",
            [libc::SYS_ioctl, fd, 0x4008_6602, flags, 0, 0],
        ),
    ])
}

const AT_HERE: i64 = libc::AT_FDCWD as i64;

/// From its limits, and from dying with the server.
fn escaping() -> Vec<&'static str> {
    const DATAGRAMS: i64 = libc::SOCK_DGRAM as i64;
    let cpu = i64::from(libc::RLIMIT_CPU);
    let (none, pair) = (address(&[u64::MAX; 2]), address(&[0 as RawFd; 2]));
    let name = c"name".as_ptr() as i64;
    tried(&[
        ("prlimit", [libc::SYS_prlimit64, 0, cpu, none, 0, 0]),
        ("setrlimit", [libc::SYS_setrlimit, cpu, none, 0, 0, 0]),
        ("PR_SET_PDEATHSIG", [libc::SYS_prctl, 1, 0, 0, 0, 0]),
        ("memfd_create", [libc::SYS_memfd_create, name, 0, 0, 0, 0]),
        ("shmget", [libc::SYS_shmget, 0, 4096, 0o1600, 0, 0]),
        ("semget", [libc::SYS_semget, 0, 1, 0o1600, 0, 0]),
        ("msgget", [libc::SYS_msgget, 0, 0o1600, 0, 0, 0]),
        ("mq_open", [libc::SYS_mq_open, name, 0o102, 0o600, 0, 0]),
        (
            "socketpair",
            [libc::SYS_socketpair, 1, DATAGRAMS, 0, pair, 0],
        ),
        // By the second number that some machines have for it.
        ("getpid", [libc::SYS_getpid | 0x4000_0000, 0, 0, 0, 0, 0]),
    ])
}

/// Those that were not refused.
fn tried(calls: &[(&'static str, Call)]) -> Vec<&'static str> {
    let refused = |with: Call| call(with).is_err_and(|errno| errno == libc::EPERM);
    let allowed = calls.iter().filter(|(_, with)| !refused(*with));
    allowed.map(|(name, _)| *name).collect()
}

fn address<T>(of: &T) -> i64 {
    std::ptr::from_ref(of) as i64
}

fn call([number, a, b, c, d, e]: Call) -> Result<i64, i32> {
    // SAFETY: pointers among the arguments are to what their makers still hold; what the
    // kernel would write is no larger than that.
    let returned = unsafe { libc::syscall(number, a, b, c, d, e) };
    match returned {
        -1 => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        value => Ok(value),
    }
}
