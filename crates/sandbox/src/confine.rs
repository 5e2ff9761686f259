//! How a child gives up what it does not need, before it sees a document.
//!
//! Limits first, then files, then system calls: each step still needs what the next one
//! takes away. What the kernel does not offer is reported, not pretended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, nice, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use crate::calls;
use crate::protocol::{Holds, Setup};
use crate::tool::Tool;
use crate::usage::cpu;

const LANDLOCK: ABI = ABI::V6;
/// The largest file a tool may write, where it may write any.
const WRITTEN: u64 = 256 << 20;
/// Where programs, their libraries and their data are installed.
const INSTALLED: &[&str] = &[
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/libreoffice",
    "/var/lib/libreoffice",
    "/var/spool/libreoffice",
    "/var/cache/fontconfig",
    // Of itself alone: what other programs were started with is none of its business.
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/dev/urandom",
];

pub(crate) fn confine(setup: &Setup) -> Holds {
    if setup.niceness > 0 {
        // Being urgent is no danger, so nothing depends on it.
        let _ = nice(setup.niceness);
    }
    match &setup.tool {
        None => Holds {
            memory: without_privileges() && limit_memory(setup.memory_bytes, 0),
            landlock: forbid_files(Vec::new()).unwrap_or(false),
            seccomp: calls::leave_a_reader_its_own().is_some(),
        },
        Some(tool) => Holds {
            memory: limit_tool(tool, setup.memory_bytes),
            landlock: forbid_files(rights_of(tool)).unwrap_or(false),
            seccomp: calls::forbid_a_tool().is_some(),
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
    be_first_to_go();
    let written = tool.folder.as_ref().map_or(0, |_| WRITTEN);
    // It does not outlive the server.
    let alone = without_privileges() && set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    alone && limit_cpu_for_good(tool.cpu_seconds) && limit_memory(bytes, written)
}

/// Where the server is root, a child is so in name only.
fn without_privileges() -> bool {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).is_ok()
}

/// Should the machine run out of memory, then it is this process that goes.
#[expect(clippy::disallowed_methods, reason = "it is no file but the kernel")]
fn be_first_to_go() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// What a tool may do where: read what is installed, write into its folder. There it makes
/// neither programs nor devices.
fn rights_of(tool: &Tool) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let read = AccessFs::from_read(LANDLOCK);
    let write = AccessFs::from_all(LANDLOCK)
        & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let mut rights: Vec<_> = INSTALLED.iter().map(|at| (at.into(), read)).collect();
    rights.push((tool.path.clone(), read));
    rights.extend(suite_of(&tool.path).map(|suite| (suite, read)));
    rights.push((PathBuf::from("/dev/null"), write));
    rights.extend(tool.folder.clone().map(|folder| (folder, write)));
    rights
}

/// Where a program stands that brought its own folder. The others there are none of its business.
fn suite_of(program: &Path) -> Option<PathBuf> {
    let opt = Path::new("/opt");
    let suite = program.strip_prefix(opt).ok()?.iter().next()?;
    Some(opt.join(suite))
}

/// From now on so much CPU time is left. The kernel ends the process when it is used up.
pub(crate) fn limit_cpu(seconds: u64) {
    // Limits are in whole seconds; the nearest, so that a child with nothing behind it has no more.
    let used = (cpu() + Duration::from_millis(500)).as_secs();
    let limit = Rlimit {
        current: Some(used + seconds),
        maximum: getrlimit(Resource::Cpu).maximum,
    };
    // Fails only when a harder limit is in force already, which serves as well.
    let _ = setrlimit(Resource::Cpu, limit);
}

/// The same for a program of others: it is told when its time is used up, and does not live for
/// more than another second whatever it makes of that.
fn limit_cpu_for_good(seconds: u64) -> bool {
    let already = getrlimit(Resource::Cpu).maximum.unwrap_or(u64::MAX);
    let told = (cpu().as_secs() + seconds).min(already);
    let limit = Rlimit {
        current: Some(told),
        maximum: Some((told + 1).min(already)),
    };
    setrlimit(Resource::Cpu, limit).is_ok()
}

/// Every right over files and sockets is handled and none but these are granted. Signals and
/// sockets without a file stay among those who are so confined, where the kernel knows how.
fn forbid_files(rights: Vec<(PathBuf, BitFlags<AccessFs>)>) -> Option<bool> {
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))
        .ok()?
        .handle_access(AccessNet::from_all(LANDLOCK))
        .ok()?
        .scope(Scope::from_all(LANDLOCK))
        .ok()?;
    let mut rules = rules.create().ok()?;
    for (path, access) in rights {
        rules = rules.add_rules(path_beneath_rules([path], access)).ok()?;
    }
    let status = rules.restrict_self().ok()?;
    Some(status.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_a_folder_of_its_own_sees_that_folder_and_not_its_neighbours() {
        let office = Path::new("/opt/libreoffice25.2/program/soffice.bin");
        assert_eq!(
            suite_of(office),
            Some(PathBuf::from("/opt/libreoffice25.2"))
        );
        assert_eq!(suite_of(Path::new("/usr/bin/tesseract")), None);
    }
}
