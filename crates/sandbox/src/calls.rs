//! Which system calls are left to a child.
//!
//! A reader of ours is told what it may; a program of others what it may not, since nobody has
//! listed all it needs.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// All a parser needs once its input is in a pipe. Everything else fails with EPERM.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_prlimit64,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_restart_syscall,
];

/// The same number on every machine, and not in every library yet.
const FCHMODAT2: libc::c_long = 452;

/// What no program of others needs to read a file and print another: the network, other
/// processes, and files it could not open but still change.
const FORBIDDEN: &[libc::c_long] = &[
    libc::SYS_connect,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_truncate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// A process may end itself by a signal, and no other: `abort` needs that.
pub(crate) fn leave_a_reader_its_own() -> Option<()> {
    let mut rules: Rules = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let itself = || Some(vec![rule(0, SeccompCmpOp::Eq, myself())?]);
    rules.insert(libc::SYS_tgkill, itself()?);
    rules.insert(libc::SYS_kill, itself()?);
    let forbidden = SeccompAction::Errno(libc::EPERM as u32);
    apply(rules, forbidden, SeccompAction::Allow)
}

/// What is left is one process with its threads: whoever kills it has killed all of it, and
/// its limits are the limits of the whole. It may wait on a socket in its folder, as an office
/// suite does for a second start of itself; it can connect to none.
pub(crate) fn forbid_a_tool() -> Option<()> {
    let mut rules: Rules = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let others = || Some(vec![rule(0, SeccompCmpOp::Ne, myself())?]);
    rules.insert(libc::SYS_tgkill, others()?);
    rules.insert(libc::SYS_kill, others()?);
    rules.insert(libc::SYS_prlimit64, vec![rule(0, SeccompCmpOp::Ne, 0)?]);
    rules.insert(libc::SYS_clone, vec![no_thread()?]);
    rules.insert(libc::SYS_socket, all_but_local_streams()?);
    // Landlock does not answer for this one, and says of /tmp that it may be written to.
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_access, vec![asks_to_write(1)?]);
    rules.insert(libc::SYS_faccessat, vec![asks_to_write(2)?]);
    forbid(rules, libc::EPERM)?;
    // What it points to cannot be looked at; who finds it missing takes `clone`.
    forbid(Rules::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

fn forbid(rules: Rules, errno: i32) -> Option<()> {
    let forbidden = SeccompAction::Errno(errno as u32);
    apply(rules, SeccompAction::Allow, forbidden)
}

fn apply(rules: Rules, otherwise: SeccompAction, listed: SeccompAction) -> Option<()> {
    let machine = std::env::consts::ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(rules, otherwise, listed, machine).ok()?;
    let program: BpfProgram = filter.try_into().ok()?;
    seccompiler::apply_filter(&program).ok()
}

fn myself() -> u64 {
    u64::from(std::process::id())
}

fn no_thread() -> Option<SeccompRule> {
    rule(0, SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64), 0)
}

fn asks_to_write(mode: u8) -> Option<SeccompRule> {
    rule(mode, SeccompCmpOp::Eq, libc::W_OK as u64)
}

/// Sockets that speak to other hosts, or to somebody they are not connected with.
fn all_but_local_streams() -> Option<Vec<SeccompRule>> {
    const KIND: u64 = 0xf;
    let of_kind = |kind: i32| rule(1, SeccompCmpOp::MaskedEq(KIND), kind as u64);
    Some(vec![
        rule(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?,
        of_kind(libc::SOCK_DGRAM)?,
        of_kind(libc::SOCK_RAW)?,
    ])
}

fn rule(argument: u8, compare: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
    let length = SeccompCmpArgLen::Dword;
    let condition = SeccompCondition::new(argument, length, compare, value).ok()?;
    SeccompRule::new(vec![condition]).ok()
}
