//! How a child gives up what it does not need, before it sees a document.
//!
//! Limits first, then files, then system calls: each step still needs what the next one
//! takes away. What the kernel does not offer is reported, not pretended.

use std::collections::BTreeMap;

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use crate::protocol::{Holds, Setup};
use crate::usage::usage;

pub(crate) fn confine(setup: &Setup) -> Holds {
    Holds {
        memory: limit_memory(setup.memory_bytes),
        landlock: forbid_files().unwrap_or(false),
        seccomp: forbid_calls().is_some(),
    }
}

fn limit_memory(bytes: u64) -> bool {
    let zero = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // No core files, no new processes, no written files.
    let others = [Resource::Core, Resource::Fsize].map(|what| setrlimit(what, zero));
    let memory = setrlimit(
        Resource::As,
        Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        },
    );
    others.iter().all(Result::is_ok) && memory.is_ok()
}

/// From now on so much CPU time is left. The kernel ends the process when it is used up.
pub(crate) fn limit_cpu(seconds: u64) {
    let used = usage().cpu.as_secs() + 1;
    let limit = Rlimit {
        current: Some(used + seconds),
        maximum: getrlimit(Resource::Cpu).maximum,
    };
    // Fails only when a harder limit is in force already, which serves as well.
    let _ = setrlimit(Resource::Cpu, limit);
}

/// Every right over files and sockets is handled and none is granted.
fn forbid_files() -> Option<bool> {
    let abi = ABI::V5;
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .ok()?
        .handle_access(AccessNet::from_all(abi))
        .ok()?;
    let status = rules.create().ok()?.restrict_self().ok()?;
    Some(status.ruleset != RulesetStatus::NotEnforced)
}

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

/// A process may end itself by a signal, and no other: `abort` needs that.
fn forbid_calls() -> Option<()> {
    let mut rules: BTreeMap<i64, Vec<seccompiler::SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let myself = i64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, only_to(myself)?);
    rules.insert(libc::SYS_kill, only_to(myself)?);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into().ok()?,
    );
    let program: BpfProgram = filter.ok()?.try_into().ok()?;
    seccompiler::apply_filter(&program).ok()
}

fn only_to(process: i64) -> Option<Vec<seccompiler::SeccompRule>> {
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
    let (length, equal) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
    let condition = SeccompCondition::new(0, length, equal, process as u64).ok()?;
    Some(vec![SeccompRule::new(vec![condition]).ok()?])
}
