//! The filter of system calls: no sockets but those that are allowed, no way around the filter, nothing that is meant
//! for whoever administers the machine.
//!
//! Written out instruction by instruction: it is short, it must know both ways to number a call on x86-64, and it may
//! not allocate when it is applied. Filters are inherited and can only be added to.

use super::Door;
use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, BPF_ABS, BPF_JEQ, BPF_JMP, BPF_JUMP, BPF_K, BPF_LD, BPF_RET,
    BPF_STMT, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, c_int, c_long,
    sock_filter,
};
use std::io;

/// A program for the kernel.
pub(super) struct Filter(Vec<sock_filter>);

/// Places in what the filter is given: number, kind of processor, and the lower half of the first argument.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

/// As `linux/audit.h` names it: the machine's number, 64 bit, little end first.
#[cfg(target_arch = "x86_64")]
const OWN_PROCESSOR: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const OWN_PROCESSOR: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const OWN_PROCESSOR: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const OWN_PROCESSOR: Option<u32> = None;

/// From here on x86-64 numbers its calls a second time, for 32-bit pointers.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBERING: Option<u32> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_NUMBERING: Option<u32> = None;

/// Nothing a program of a project does. Most of these need root, which in a container everybody is. Keyrings hold the
/// person's tickets and keys; a file that is opened by its handle was never looked up.
const FORBIDDEN: &[c_long] = &[
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
];

impl Filter {
    /// `None` where no filter is known for this kind of processor.
    pub fn new(network: Door, local_sockets: Door, truncate: Door) -> Option<Self> {
        let mut program = vec![load(PROCESSOR)];
        program.extend([skip_if(OWN_PROCESSOR?, 1), answer(SECCOMP_RET_KILL_PROCESS), load(NUMBER)]);
        if let Some(second) = SECOND_NUMBERING {
            let is_below = jump(libc::BPF_JGE, second, 0, 1);
            program.extend([is_below, refuse(libc::ENOSYS)]);
        }
        // Its requests pass no filter, and one of them makes sockets. Programs do without it where it is missing.
        program.extend([skip_unless(libc::SYS_io_uring_setup), refuse(libc::ENOSYS)]);
        for call in FORBIDDEN {
            program.extend([skip_unless(*call), refuse(libc::EPERM)]);
        }
        if truncate == Door::Closed {
            program.extend([skip_unless(libc::SYS_truncate), refuse(libc::EACCES)]);
        }
        let families = families(network, local_sockets);
        // Past the check of sockets for every other call.
        let check: u8 = u8::try_from(families.len() * 2 + 2).unwrap_or(u8::MAX);
        program.push(jump(BPF_JEQ, number(libc::SYS_socket), 0, check));
        program.push(load(FIRST_ARGUMENT));
        for family in families {
            program.extend([jump(BPF_JEQ, family.unsigned_abs(), 0, 1), answer(SECCOMP_RET_ALLOW)]);
        }
        program.push(refuse(libc::EACCES));
        program.push(answer(SECCOMP_RET_ALLOW));
        Some(Self(program))
    }

    /// Holds from here on, for this thread and whatever it starts. Needs that no privileges can be gained any more.
    #[expect(unsafe_code, reason = "no safe function takes a filter without allocating")]
    pub fn apply(&self) -> io::Result<()> {
        const SET_FILTER: libc::c_uint = 1;
        let program = libc::sock_fprog {
            len: u16::try_from(self.0.len()).unwrap_or(u16::MAX),
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: the kernel copies the program, which lives as long as `self`, and does not write to it.
        let answer = unsafe { libc::syscall(libc::SYS_seccomp, SET_FILTER, 0_u32, &raw const program) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// As a program on disk has it, for bubblewrap.
    pub fn bytes(&self) -> Vec<u8> {
        let bytes = |step: &sock_filter| {
            let [a, b] = step.code.to_ne_bytes();
            let [w, x, y, z] = step.k.to_ne_bytes();
            [a, b, step.jt, step.jf, w, x, y, z]
        };
        self.0.iter().flat_map(bytes).collect()
    }
}

/// Whether the kernel takes filters, and we have one for this processor.
#[expect(unsafe_code, reason = "no safe function asks whether an action is known")]
pub(super) fn is_available() -> bool {
    const IS_KNOWN: libc::c_uint = 2;
    let action = SECCOMP_RET_KILL_PROCESS;
    // SAFETY: the kernel reads the four bytes of `action`.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, IS_KNOWN, 0_u32, &raw const action) };
    OWN_PROCESSOR.is_some() && answer == 0
}

/// Kinds of sockets that may be made. Pairs of connected local ones always may.
fn families(network: Door, local_sockets: Door) -> Vec<c_int> {
    let mut families = Vec::new();
    if local_sockets == Door::Open {
        families.push(AF_UNIX);
    }
    if network == Door::Open {
        // The third asks the kernel which addresses the machine has: resolving a name does.
        families.extend([AF_INET, AF_INET6, AF_NETLINK]);
    }
    families
}

fn number(call: c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

#[expect(unsafe_code, reason = "the macro of the kernel's header, which libc keeps unsafe")]
fn step(code: u32, value: u32) -> sock_filter {
    // SAFETY: it only builds a value.
    unsafe { BPF_STMT(u16::try_from(code).unwrap_or_default(), value) }
}

fn load(place: u32) -> sock_filter {
    step(BPF_LD | BPF_W | BPF_ABS, place)
}

fn answer(what: u32) -> sock_filter {
    step(BPF_RET | BPF_K, what)
}

fn refuse(error: c_int) -> sock_filter {
    answer(SECCOMP_RET_ERRNO | error.unsigned_abs())
}

#[expect(unsafe_code, reason = "the macro of the kernel's header, which libc keeps unsafe")]
fn jump(test: u32, value: u32, if_so: u8, if_not: u8) -> sock_filter {
    // SAFETY: it only builds a value.
    unsafe { BPF_JUMP(u16::try_from(BPF_JMP | test | BPF_K).unwrap_or_default(), value, if_so, if_not) }
}

fn skip_if(value: u32, steps: u8) -> sock_filter {
    jump(BPF_JEQ, value, steps, 0)
}

/// The next step is for this call only.
fn skip_unless(call: c_long) -> sock_filter {
    jump(BPF_JEQ, number(call), 0, 1)
}
