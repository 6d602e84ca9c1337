//! A pseudo terminal and just enough of a screen to see what a person would see.

use fugato_testkit::TestEnv;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Stdio};

/// A program on a terminal of this size.
pub struct Terminal {
    pub child: Child,
    master: OwnedFd,
    /// Everything the program wrote.
    pub bytes: Vec<u8>,
}

impl Terminal {
    /// Starts the binary with its stderr, where progress is shown, on a terminal.
    pub fn start(env: &TestEnv, args: &[&str], columns: u16, rows: u16) -> Self {
        let (master, slave) = open(columns, rows);
        let mut command = env.command();
        let child = command
            .args(args)
            .env("TERM", "xterm")
            .env("SLOW", "0.6")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(slave)
            .spawn()
            .unwrap();
        // The command holds the other end; while it is open, the program's end is not seen.
        drop(command);
        Self { child, master, bytes: Vec::new() }
    }

    /// Starts the binary with everything on a terminal, as a person does.
    pub fn whole(env: &TestEnv, args: &[&str], columns: u16, rows: u16) -> Self {
        let (master, slave) = open(columns, rows);
        let mut command = env.command();
        let child = command
            .args(args)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave)
            .spawn()
            .unwrap();
        drop(command);
        Self { child, master, bytes: Vec::new() }
    }

    /// What a person types.
    pub fn type_keys(&mut self, keys: &str) {
        File::from(self.master.try_clone().unwrap()).write_all(keys.as_bytes()).unwrap();
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::WINCH,
        )
        .unwrap();
    }

    /// Reads until the screen shows this.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        let began = std::time::Instant::now();
        let mut buffer = [0; 65_536];
        loop {
            let seen = full_screen(&self.bytes);
            if seen.contains(text) {
                return;
            }
            assert!(began.elapsed() < LONG, "`{text}` is not there:\n{seen}");
            if has_more(&self.master, 100) {
                let mut file = File::from(self.master.try_clone().unwrap());
                let read = file.read(&mut buffer).unwrap_or(0);
                assert!(read > 0, "it ended before `{text}`:\n{seen}");
                self.bytes.extend(&buffer[..read]);
            }
        }
    }

    /// Closes the terminal, as a window that is closed.
    pub fn hang_up(self) -> Child {
        self.child
    }

    /// Reads until everything read so far satisfies the wish, or the program is gone.
    pub fn read_until(&mut self, wish: impl Fn(&str) -> bool) {
        let mut file = File::from(self.master.try_clone().unwrap());
        let mut buffer = [0; 4096];
        while !wish(&String::from_utf8_lossy(&self.bytes)) {
            match file.read(&mut buffer) {
                Ok(read) if read > 0 => self.bytes.extend(&buffer[..read]),
                // The other end is closed.
                _ => return,
            }
        }
    }

    /// Its end, and everything it wrote.
    pub fn finish_any(mut self) -> (i32, Vec<u8>) {
        self.read_until(|_| false);
        (self.child.wait().unwrap().code().unwrap_or(-1), self.bytes)
    }

    pub fn finish(mut self) -> (i32, Vec<String>) {
        self.read_until(|_| false);
        (self.child.wait().unwrap().code().unwrap_or(-1), screen(&self.bytes))
    }
}

/// A machine may be busy.
const LONG: std::time::Duration = std::time::Duration::from_secs(90);

fn open(columns: u16, rows: u16) -> (OwnedFd, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    // Not the terminal of the test itself.
    let flags = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap();
    let slave = File::options().read(true).write(true).custom_flags(flags).open(name).unwrap();
    tcsetwinsize(&slave, size).unwrap();
    (master, slave)
}

fn has_more(fd: &OwnedFd, milliseconds: i64) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut watched = [PollFd::new(fd, PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: milliseconds * 1_000_000 };
    poll(&mut watched, Some(&wait)).is_ok_and(|ready| ready > 0)
}

/// What a terminal of any size shows that was drawn by places: `CSI row;column H` and text. Enough to find words.
pub fn full_screen(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut cells: std::collections::BTreeMap<(usize, usize), char> = std::collections::BTreeMap::new();
    let (mut row, mut column) = (0, 0);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' if chars.peek() == Some(&']') => {
                chars.by_ref().find(|c| *c == '\u{7}');
            }
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                let mut numbers = String::new();
                let last = loop {
                    match chars.next() {
                        Some(c) if !c.is_ascii_alphabetic() => numbers.push(c),
                        last => break last,
                    }
                };
                let mut numbers = numbers.split(';').map(|n| n.parse::<usize>().unwrap_or(1));
                match last {
                    Some('H') => {
                        row = numbers.next().unwrap_or(1).saturating_sub(1);
                        column = numbers.next().unwrap_or(1).saturating_sub(1);
                    }
                    Some('J') => cells.clear(),
                    _ => {}
                }
            }
            '\u{1b}' => {}
            c => {
                cells.insert((row, column), c);
                let wide = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
                if wide == 2 {
                    cells.remove(&(row, column + 1));
                }
                column += wide;
            }
        }
    }
    let mut shown = String::new();
    let (mut at_row, mut at_column) = (0, 0);
    for ((row, column), c) in cells {
        while at_row < row {
            shown.push('\n');
            (at_row, at_column) = (at_row + 1, 0);
        }
        let gap = column.saturating_sub(at_column);
        shown.push_str(&" ".repeat(gap));
        shown.push(c);
        at_column = column + unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
    }
    shown
}

/// The lines a terminal shows after these bytes; panics on anything the program has no business to send.
pub fn screen(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut lines: Vec<String> = vec![String::new()];
    let mut at = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {}
            '\n' => {
                at += 1;
                if at == lines.len() {
                    lines.push(String::new());
                }
            }
            '\u{1b}' => {
                assert_eq!(chars.next(), Some('['));
                let mut sequence = String::new();
                let last = loop {
                    match chars.next().unwrap() {
                        c if c.is_ascii_alphabetic() => break c,
                        c => sequence.push(c),
                    }
                };
                match last {
                    'A' => at -= sequence.parse::<usize>().unwrap(),
                    'K' => lines[at].clear(),
                    other => assert_eq!(other, 'm', "unexpected sequence {sequence}{other}"),
                }
            }
            c => lines[at].push(c),
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}
