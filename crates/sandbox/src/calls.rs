//! Which system calls are left to a child.
//!
//! A reader of ours is told what it may; a program of others what it may not, since nobody has
//! listed all it needs.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
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

// The same numbers on every machine, and not in every library yet.
const MEMFD_SECRET: libc::c_long = 447;
const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const FILE_SETATTR: libc::c_long = 469;

/// What no program of others needs to read a file and print another: the network, other
/// processes, files it could not open but still change, and memory that its limit does not
/// count or that outlives it.
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
    // An access list is an attribute, and the mode with it.
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_setrlimit,
    libc::SYS_setpriority,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_ioprio_set,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_kcmp,
    libc::SYS_memfd_create,
    MEMFD_SECRET,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
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

/// What may be asked of an open file. Among the rest: whom it signals, and when.
const OF_FILES: &[libc::c_int] = &[
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
];

/// What may be asked of what stands behind it: whether it is a terminal, and how much there is
/// to read. Among the rest: whom it signals, and attributes of files it cannot write to.
const OF_DEVICES: &[libc::c_ulong] = &[
    libc::TCGETS as libc::c_ulong,
    libc::TCGETS2 as libc::c_ulong,
    libc::TIOCGWINSZ as libc::c_ulong,
    libc::FIONREAD as libc::c_ulong,
    libc::FIONBIO as libc::c_ulong,
    libc::FIOCLEX as libc::c_ulong,
    libc::FIONCLEX as libc::c_ulong,
];

/// What a process may ask for itself. Among the rest: to outlive its parent.
const OF_ITSELF: &[libc::c_int] = &[libc::PR_SET_NAME, libc::PR_GET_NAME];

/// A process may end itself by a signal and no other, which `abort` needs, and limit itself.
pub(crate) fn leave_a_reader_its_own() -> Option<()> {
    let mut rules: Rules = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let itself = || Some(vec![rule(0, SeccompCmpOp::Eq, myself())?]);
    rules.insert(libc::SYS_tgkill, itself()?);
    rules.insert(libc::SYS_kill, itself()?);
    // Its own limits: each document is given CPU time anew.
    rules.insert(libc::SYS_prlimit64, vec![rule(0, SeccompCmpOp::Eq, 0)?]);
    let forbidden = SeccompAction::Errno(libc::EPERM as u32);
    apply(rules, forbidden, SeccompAction::Allow)
}

/// What is left is one process with its threads: whoever kills it has killed all of it, and
/// its limits are the limits of the whole. It may wait on a socket in its folder, as an office
/// suite does for a second start of itself; it can connect to none.
pub(crate) fn forbid_a_tool() -> Option<()> {
    forbid_other_numbers()?;
    // What it points to cannot be looked at; who finds it missing takes `clone`.
    forbid(Rules::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    // The last: who lives under it puts up no further filter.
    forbid(refused_to_a_tool()?, libc::EPERM)
}

fn refused_to_a_tool() -> Option<Rules> {
    let mut rules: Rules = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let others = || Some(vec![rule(0, SeccompCmpOp::Ne, myself())?]);
    rules.insert(libc::SYS_tgkill, others()?);
    rules.insert(libc::SYS_kill, others()?);
    rules.insert(libc::SYS_prlimit64, all_but_own_limits_read()?);
    rules.insert(libc::SYS_clone, vec![no_thread()?]);
    rules.insert(libc::SYS_socket, all_but_local_streams()?);
    // One of a pair of other sockets could be sent from, to anybody.
    rules.insert(libc::SYS_socketpair, all_but_local_streams()?);
    rules.insert(libc::SYS_fcntl, vec![none_of(1, OF_FILES)?]);
    rules.insert(libc::SYS_ioctl, vec![none_of(1, OF_DEVICES)?]);
    rules.insert(libc::SYS_prctl, vec![none_of(0, OF_ITSELF)?]);
    // Landlock does not answer for this one, and says of /tmp that it may be written to.
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_access, vec![asks_to_write(1)?]);
    rules.insert(libc::SYS_faccessat, vec![asks_to_write(2)?]);
    Some(rules)
}

/// On some machines every call has a second number, with a bit that no first one has.
fn forbid_other_numbers() -> Option<()> {
    const SECOND: u32 = 0x4000_0000;
    let step = |code: u32, jf: u8, k: u32| sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    seccompiler::apply_filter(&[
        // The number is the first thing that a filter is shown.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, SECOND),
        step(libc::BPF_RET | libc::BPF_K, 0, refused),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ])
    .ok()
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

/// Limits of others, and new ones.
fn all_but_own_limits_read() -> Option<Vec<SeccompRule>> {
    let wide = SeccompCmpArgLen::Qword;
    let new = SeccompCondition::new(2, wide, SeccompCmpOp::Ne, 0).ok()?;
    Some(vec![
        rule(0, SeccompCmpOp::Ne, 0)?,
        SeccompRule::new(vec![new]).ok()?,
    ])
}

/// An argument that is not listed.
fn none_of<T: Copy + TryInto<u64>>(argument: u8, listed: &[T]) -> Option<SeccompRule> {
    let another = |value: &T| condition(argument, SeccompCmpOp::Ne, (*value).try_into().ok()?);
    let conditions: Option<Vec<_>> = listed.iter().map(another).collect();
    SeccompRule::new(conditions?).ok()
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
    SeccompRule::new(vec![condition(argument, compare, value)?]).ok()
}

fn condition(argument: u8, compare: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, value).ok()
}
