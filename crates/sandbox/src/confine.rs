//! How a child gives up what it does not need, before it sees a document.
//!
//! Limits first, then files, then system calls: each step still needs what the next one
//! takes away. What the kernel does not offer is reported, not pretended.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use crate::protocol::{Holds, Setup};
use crate::tool::Tool;
use crate::usage::cpu;

const LANDLOCK: ABI = ABI::V5;
/// Where programs, their libraries and their data are installed.
const INSTALLED: &[&str] = &[
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/opt",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/libreoffice",
    "/proc",
    "/sys/devices/system/cpu",
    "/dev/urandom",
];

pub(crate) fn confine(setup: &Setup) -> Holds {
    match &setup.tool {
        None => Holds {
            memory: limit_memory(setup.memory_bytes, 0),
            landlock: forbid_files(&[]).unwrap_or(false),
            seccomp: forbid_calls().is_some(),
        },
        Some(tool) => Holds {
            memory: limit_tool(tool, setup.memory_bytes),
            landlock: forbid_files(&rights_of(tool)).unwrap_or(false),
            seccomp: forbid_network().is_some(),
        },
    }
}

fn limit_memory(bytes: u64, written: u64) -> bool {
    let most = |bytes| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    // No core files, and no file written beyond that.
    let limits = [
        setrlimit(Resource::Core, most(0)),
        setrlimit(Resource::Fsize, most(written)),
        setrlimit(Resource::As, most(bytes)),
    ];
    limits.iter().all(Result::is_ok)
}

fn limit_tool(tool: &Tool, bytes: u64) -> bool {
    limit_cpu(tool.cpu_seconds);
    let written = if tool.folder.is_some() { bytes } else { 0 };
    limit_memory(bytes, written)
}

/// What a tool may do where: read what is installed, write into its folder.
fn rights_of(tool: &Tool) -> Vec<(&Path, BitFlags<AccessFs>)> {
    let read = AccessFs::from_read(LANDLOCK);
    let all = AccessFs::from_all(LANDLOCK);
    let mut rights: Vec<_> = INSTALLED.iter().map(|at| (Path::new(at), read)).collect();
    rights.push((&tool.path, read));
    rights.push((Path::new("/dev/null"), all));
    rights.extend(tool.folder.as_deref().map(|folder| (folder, all)));
    rights
}

/// From now on so much CPU time is left. The kernel ends the process when it is used up.
pub(crate) fn limit_cpu(seconds: u64) {
    let used = cpu().as_secs() + 1;
    let limit = Rlimit {
        current: Some(used + seconds),
        maximum: getrlimit(Resource::Cpu).maximum,
    };
    // Fails only when a harder limit is in force already, which serves as well.
    let _ = setrlimit(Resource::Cpu, limit);
}

/// Every right over files and sockets is handled and none but these are granted.
fn forbid_files(rights: &[(&Path, BitFlags<AccessFs>)]) -> Option<bool> {
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))
        .ok()?
        .handle_access(AccessNet::from_all(LANDLOCK))
        .ok()?;
    let mut rules = rules.create().ok()?;
    for (path, access) in rights {
        rules = rules.add_rules(path_beneath_rules([path], *access)).ok()?;
    }
    let status = rules.restrict_self().ok()?;
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

/// A tool makes threads and reads files, so what it may is not listed, but what it may not.
fn forbid_network() -> Option<()> {
    let calls = [
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_ptrace,
        libc::SYS_mount,
        libc::SYS_unshare,
        libc::SYS_bpf,
        libc::SYS_process_vm_readv,
        libc::SYS_io_uring_setup,
        libc::SYS_keyctl,
    ];
    let rules = calls.map(|call| (call, Vec::new()));
    let filter = SeccompFilter::new(
        rules.into(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        std::env::consts::ARCH.try_into().ok()?,
    );
    let program: BpfProgram = filter.ok()?.try_into().ok()?;
    seccompiler::apply_filter(&program).ok()
}

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
