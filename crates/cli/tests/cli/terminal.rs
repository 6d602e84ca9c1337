//! A pseudo terminal and just enough of a screen to see what a person would see.

use fugato_testkit::TestEnv;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
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
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(name).unwrap();
        tcsetwinsize(&slave, size).unwrap();
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

    pub fn finish(mut self) -> (i32, Vec<String>) {
        self.read_until(|_| false);
        (self.child.wait().unwrap().code().unwrap_or(-1), screen(&self.bytes))
    }
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
