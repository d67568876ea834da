//! The sandbox of parser processes: resource limits on every Unix, Landlock and seccomp on Linux.
//!
//! Landlock and seccomp restrict the calling thread and the threads that it starts later, so they are set while there is only
//! one thread.
use std::path::Path;

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// The restrictions in force in a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The version of Landlock in force; `None` if the kernel has none.
    pub landlock: Option<i32>,
    /// Whether a seccomp filter is in force.
    pub seccomp: bool,
}

/// What a confined process could still do when it tried. In a working sandbox every field is false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxEscapes {
    /// It opened a file or directory for reading.
    pub read: bool,
    /// It created a file.
    pub write: bool,
    /// It created a TCP, UDP or Unix socket.
    pub network: bool,
    /// It started a program.
    pub program: bool,
}

impl SandboxEscapes {
    /// Whether any escape succeeded.
    pub fn any(self) -> bool {
        self.read || self.write || self.network || self.program
    }
}

/// Open files of a parser process.
const MAX_OPEN_FILES: u64 = 32;

/// Sets the resource limits: `memory` bytes of address space, `seconds` of processor time, no written files, few open files.
pub(crate) fn set_limits(memory: u64, seconds: u64) -> rustix::io::Result<()> {
    let limit = |resource, most| {
        let exact = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, exact)
    };
    // The process has its own group, so nothing else would end it together with its parent.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // When memory runs out, the kernel kills the parser and not the server.
    #[cfg(target_os = "linux")]
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    limit(Resource::As, memory)?;
    limit(Resource::Cpu, seconds)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, MAX_OPEN_FILES)?;
    limit(Resource::Core, 0)
}

/// Permanently denies this process the file system, the network, other processes and new programs. Returns what the kernel
/// supports of it.
pub(crate) fn lock_down() -> Confinement {
    Confinement { landlock: linux::landlock(None), seccomp: linux::seccomp_parser() }
}

/// Like [`lock_down`], for a process that is about to execute `program`: it may still read and execute system files.
pub(crate) fn lock_down_for_program(program: &Path) -> Confinement {
    Confinement { landlock: linux::landlock(Some(program)), seccomp: linux::seccomp_program() }
}

/// Applies only the named part of the sandbox, so that a test can check each alone.
pub(crate) fn lock_down_with(part: &str) -> Confinement {
    let mut confinement = Confinement::default();
    match part {
        "landlock" => confinement.landlock = linux::landlock(None),
        "seccomp" => confinement.seccomp = linux::seccomp_parser(),
        "none" => {}
        _ => return lock_down(),
    }
    confinement
}

/// Tries to do what the sandbox forbids.
pub(crate) fn try_escapes() -> SandboxEscapes {
    use std::net::{TcpStream, UdpSocket};
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;
    // A refused connection left the sandbox; only a denial by the kernel counts as confined.
    let forbidden =
        |error: &std::io::Error| matches!(error.kind(), std::io::ErrorKind::PermissionDenied);
    let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 9));
    let tcp = TcpStream::connect_timeout(&loopback, Duration::from_millis(200));
    let tcp = tcp.map_or_else(|it| !forbidden(&it), |_| true);
    let made = std::env::temp_dir().join(format!(".ibid-probe-{}", std::process::id()));
    let write = std::fs::File::create_new(&made).is_ok();
    if write {
        let _ = std::fs::remove_file(&made);
    }
    let program = match std::process::Command::new("/bin/sh").args(["-c", ":"]).spawn() {
        Ok(mut child) => {
            let _ = child.wait();
            true
        }
        Err(_) => false,
    };
    SandboxEscapes {
        read: std::fs::File::open("/etc/passwd").is_ok() || std::fs::read_dir("/").is_ok(),
        write,
        network: tcp || UdpSocket::bind("127.0.0.1:0").is_ok() || UnixDatagram::unbound().is_ok(),
        program,
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    //! Other systems have neither Landlock nor seccomp.
    use std::path::Path;

    pub(super) fn landlock(_: Option<&Path>) -> Option<i32> {
        None
    }

    pub(super) fn seccomp_parser() -> bool {
        false
    }

    pub(super) fn seccomp_program() -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, LandlockStatus, PathBeneath, PathFd, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
    };
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };

    /// The Landlock version whose rights are requested; an older kernel applies those that it knows.
    const NEWEST: ABI = ABI::V6;

    /// Directories and files with programs, libraries, fonts and character maps.
    const SYSTEM: [&str; 12] = [
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/usr",
        "/opt",
        "/nix/store",
        "/gnu/store",
        "/etc/ld.so.cache",
        "/etc/fonts",
        "/etc/poppler",
    ];

    /// Forbids the file system and the network. With `program`, it and the system files may be read and executed. Returns the
    /// version in force.
    pub(super) fn landlock(program: Option<&Path>) -> Option<i32> {
        let restrict = || -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
            let mut ruleset = Ruleset::default()
                .handle_access(AccessFs::from_all(NEWEST))?
                .handle_access(AccessNet::from_all(NEWEST))?
                .scope(Scope::from_all(NEWEST))?
                .create()?;
            if let Some(program) = program {
                // Libraries are read from the system's directories only, not from directories beside the program, which may
                // be below a user's home.
                let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
                let places = SYSTEM.iter().map(PathBuf::from).chain([program]);
                for place in places {
                    if let Ok(open) = PathFd::new(&place) {
                        let rights = if place.is_dir() {
                            AccessFs::from_read(NEWEST)
                        } else {
                            AccessFs::Execute | AccessFs::ReadFile
                        };
                        ruleset = ruleset.add_rule(PathBeneath::new(open, rights))?;
                    }
                }
                for device in ["/dev/null", "/dev/urandom"] {
                    if let Ok(open) = PathFd::new(device) {
                        ruleset = ruleset.add_rule(PathBeneath::new(open, AccessFs::ReadFile))?;
                    }
                }
            }
            ruleset.restrict_self()
        };
        let status = restrict().ok()?;
        match (status.ruleset, status.landlock) {
            (RulesetStatus::NotEnforced, _) => None,
            (_, LandlockStatus::Available { effective_abi, kernel_abi }) => {
                Some(kernel_abi.unwrap_or(effective_abi as i32))
            }
            _ => None,
        }
    }

    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

    /// Installs a filter that does `matched` for the calls in `rules` and `other` for all others.
    fn install(rules: Rules, other: SeccompAction, matched: SeccompAction) -> Option<()> {
        let arch = std::env::consts::ARCH.try_into().ok()?;
        let filter = SeccompFilter::new(rules, other, matched, arch).ok()?;
        let program: BpfProgram = filter.try_into().ok()?;
        seccompiler::apply_filter(&program).ok()
    }

    fn errno(number: i32) -> SeccompAction {
        SeccompAction::Errno(number.unsigned_abs())
    }

    /// A rule that compares one argument of a call.
    fn arg_rule(argument: u8, is: SeccompCmpOp, value: i32) -> Option<Vec<SeccompRule>> {
        let value = u64::from(value.unsigned_abs());
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value).ok()?;
        Some(vec![SeccompRule::new(vec![condition]).ok()?])
    }

    /// Makes `clone3` fail with `ENOSYS`, so that the C library uses `clone`, whose flags a filter can see.
    fn deny_clone3() -> Option<()> {
        let rules = Rules::from([(libc::SYS_clone3, Vec::new())]);
        install(rules, SeccompAction::Allow, errno(libc::ENOSYS))
    }

    /// Allows only the calls for memory, threads, time and open sockets. Returns whether the filter is in force.
    pub(super) fn seccomp_parser() -> bool {
        let filter = || {
            deny_clone3()?;
            let allowed = [
                libc::SYS_read,
                libc::SYS_readv,
                libc::SYS_write,
                libc::SYS_writev,
                libc::SYS_recvfrom,
                libc::SYS_sendto,
                libc::SYS_ppoll,
                libc::SYS_close,
                libc::SYS_munmap,
                libc::SYS_mremap,
                libc::SYS_madvise,
                libc::SYS_brk,
                libc::SYS_futex,
                libc::SYS_set_robust_list,
                libc::SYS_rseq,
                libc::SYS_rt_sigaction,
                libc::SYS_rt_sigprocmask,
                libc::SYS_rt_sigreturn,
                libc::SYS_sigaltstack,
                libc::SYS_sched_yield,
                libc::SYS_sched_getaffinity,
                libc::SYS_getrandom,
                libc::SYS_clock_gettime,
                libc::SYS_clock_nanosleep,
                libc::SYS_nanosleep,
                libc::SYS_gettimeofday,
                libc::SYS_restart_syscall,
                libc::SYS_getpid,
                libc::SYS_gettid,
                libc::SYS_exit,
                libc::SYS_exit_group,
                // Refused by the filter of `deny_clone3`.
                libc::SYS_clone3,
            ];
            let mut rules: Rules = allowed.into_iter().map(|it| (it, Vec::new())).collect();
            #[cfg(target_arch = "x86_64")]
            rules.insert(libc::SYS_poll, Vec::new());
            // No memory becomes executable (`PROT_EXEC` is 4).
            let no_code = || arg_rule(2, SeccompCmpOp::MaskedEq(4), 0);
            rules.insert(libc::SYS_mmap, no_code()?);
            rules.insert(libc::SYS_mprotect, no_code()?);
            // New threads, but no new processes.
            let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
            let threads = arg_rule(0, SeccompCmpOp::MaskedEq(thread), libc::CLONE_THREAD)?;
            rules.insert(libc::SYS_clone, threads);
            rules.insert(libc::SYS_prctl, arg_rule(0, SeccompCmpOp::Eq, libc::PR_SET_NAME)?);
            install(rules, errno(libc::EPERM), SeccompAction::Allow)
        };
        filter().is_some()
    }

    /// Forbids sockets, other processes and calls with a large attack surface; a system program can still start and read.
    /// Returns whether the filter is in force.
    pub(super) fn seccomp_program() -> bool {
        let filter = || {
            deny_clone3()?;
            let forbidden = [
                libc::SYS_socket,
                libc::SYS_socketpair,
                libc::SYS_connect,
                libc::SYS_bind,
                libc::SYS_listen,
                libc::SYS_ptrace,
                libc::SYS_process_vm_readv,
                libc::SYS_process_vm_writev,
                libc::SYS_pidfd_open,
                libc::SYS_pidfd_getfd,
                libc::SYS_pidfd_send_signal,
                libc::SYS_kill,
                libc::SYS_tkill,
                libc::SYS_setpriority,
                libc::SYS_unshare,
                libc::SYS_setns,
                libc::SYS_mount,
                libc::SYS_umount2,
                libc::SYS_pivot_root,
                libc::SYS_chroot,
                libc::SYS_bpf,
                libc::SYS_perf_event_open,
                libc::SYS_userfaultfd,
                libc::SYS_io_uring_setup,
                libc::SYS_add_key,
                libc::SYS_request_key,
                libc::SYS_keyctl,
                libc::SYS_init_module,
                libc::SYS_finit_module,
                libc::SYS_kexec_load,
            ];
            let mut rules: Rules = forbidden.into_iter().map(|it| (it, Vec::new())).collect();
            #[cfg(target_arch = "x86_64")]
            for it in [libc::SYS_fork, libc::SYS_vfork] {
                rules.insert(it, Vec::new());
            }
            let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
            rules.insert(libc::SYS_clone, arg_rule(0, SeccompCmpOp::MaskedEq(thread), 0)?);
            // A process may read its own limits, and signal itself when it aborts.
            rules.insert(libc::SYS_prlimit64, arg_rule(0, SeccompCmpOp::Ne, 0)?);
            let own = i32::try_from(std::process::id()).ok()?;
            rules.insert(libc::SYS_tgkill, arg_rule(0, SeccompCmpOp::Ne, own)?);
            install(rules, SeccompAction::Allow, errno(libc::EPERM))
        };
        filter().is_some()
    }
}
