//! The terminal itself: taken over and given back, whatever happens; keys and signals as messages.

use super::draw::Screen;
use super::draw::sheet::{Paint, put};
use super::input::{Parser, Typed};
use super::model::Message;
use crate::render::Width;
use base64::Engine as _;
use fugato_model::Exit;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode, size,
};
use ratatui::crossterm::{cursor::Show, execute, queue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{BufWriter, Result, Write, stdout};
use std::mem::ManuallyDrop;
use std::sync::mpsc::SyncSender;
use tokio::signal::unix::{SignalKind, signal};

/// The screen, while it is ours.
pub struct Glass {
    /// Never dropped: it would complain on a terminal that is gone, and panic doing so. What it would do, `give_back` does.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Tty>>>>,
    width: Width,
    paint: Paint,
    has_mouse: bool,
}

/// Past the buffer of the standard library: what could not be written to a terminal that is gone must not be tried again
/// when the program ends.
struct Tty;

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(rustix::io::write(stdout(), bytes)?)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A screen of a wide terminal in one write.
const BUFFER: usize = 128 * 1024;

impl Glass {
    pub fn take(width: Width, has_mouse: bool) -> Result<Self> {
        give_back_on_panic();
        enter(has_mouse)?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER, Tty));
        let terminal = Terminal::new(backend).inspect_err(|_| give_back())?;
        let paint = match anstream::AutoStream::choice(&stdout()) {
            anstream::ColorChoice::Never => Paint::Plain,
            _ => Paint::Colours,
        };
        Ok(Self { terminal: ManuallyDrop::new(terminal), width, paint, has_mouse })
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        match size() {
            Ok((columns, rows)) if columns > 0 && rows > 0 => (usize::from(columns), usize::from(rows)),
            _ => (80, 24),
        }
    }

    /// Only what changed is written, all at once.
    pub fn draw(&mut self, screen: &Screen) -> Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let (width, paint) = (self.width, self.paint);
        self.terminal.draw(|frame| {
            put(screen, frame.buffer_mut(), width, paint);
            if let Some((column, row)) = screen.cursor
                && let (Ok(column), Ok(row)) = (u16::try_from(column), u16::try_from(row))
            {
                frame.set_cursor_position((column, row));
            }
        })?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Everything is drawn anew next time.
    pub fn forget(&mut self) -> Result<()> {
        self.terminal.clear()
    }

    /// Asks the terminal to put a text where the person can paste it from; one that cannot takes no notice.
    pub fn copy(&mut self, text: &str) -> Result<()> {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        let backend = self.terminal.backend_mut();
        write!(backend, "\x1b]52;c;{encoded}\x07")?;
        Write::flush(backend)
    }

    /// Puts the program aside, as Ctrl-Z does everywhere; returns when it is brought back.
    pub fn suspend(&mut self) -> Result<()> {
        give_back();
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
        enter(self.has_mouse)?;
        self.forget()
    }

    /// Clicks and the wheel come here, or stay the terminal's own.
    pub fn mouse(&mut self, has_mouse: bool) -> Result<()> {
        self.has_mouse = has_mouse;
        Tty.write_all(if has_mouse { MOUSE_ON } else { MOUSE_OFF })
    }
}

impl Drop for Glass {
    fn drop(&mut self) {
        give_back();
    }
}

/// Buttons and the wheel, never moves; in the form that knows no largest screen.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1000l";

fn enter(has_mouse: bool) -> Result<()> {
    enable_raw_mode()?;
    let entered = execute!(Tty, EnterAlternateScreen, EnableBracketedPaste);
    let entered = entered.and_then(|()| if has_mouse { Tty.write_all(MOUSE_ON) } else { Ok(()) });
    entered.inspect_err(|_| give_back())
}

/// As it was. A terminal that is gone cannot be given back.
fn give_back() {
    let _ = Tty.write_all(MOUSE_OFF);
    let _ = execute!(Tty, EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// The reason of a panic must be readable; one in a thread behind the screen ends the program, too.
fn give_back_on_panic() {
    let before = std::panic::take_hook();
    let screen = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        give_back();
        before(info);
        if std::thread::current().id() != screen {
            std::process::exit(101);
        }
    }));
}

/// Keys, pastes and the end of the terminal.
pub fn listen_to_keys(out: SyncSender<Message>) {
    std::thread::spawn(move || {
        // Whoever listened is gone, or the terminal is.
        let _ = read_keys(&out).or_else(|_| out.send(Message::End(Exit::Interrupted)));
    });
}

/// After this long without a byte, an escape was the key of that name; a slow line has brought the rest of a sequence.
const ESCAPE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Until the terminal is gone, which is the error; or nobody listens.
fn read_keys(out: &SyncSender<Message>) -> rustix::io::Result<()> {
    let stdin = std::io::stdin();
    let mut parser = Parser::default();
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        let wait = parser.is_waiting().then_some(&ESCAPE);
        let typed = match poll(&mut watched, wait) {
            Ok(0) => parser.flush().into_iter().collect(),
            Ok(_) => match rustix::io::read(&stdin, &mut bytes) {
                Ok(0) => return Err(Errno::IO),
                Ok(count) => parser.feed(bytes.get(..count).unwrap_or_default()),
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(error) => return Err(error),
            },
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(error) => return Err(error),
        };
        for one in typed {
            let message = match one {
                Typed::Key(key) => Message::Key(key),
                Typed::Paste(text) => Message::Paste(text),
                Typed::Mouse(mouse) => Message::Mouse(mouse),
            };
            if out.send(message).is_err() {
                return Ok(());
            }
        }
    }
}

/// Signals: the terminal changed its size, or somebody wants the program to end.
pub fn listen_to_signals(out: SyncSender<Message>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async move {
            let kinds = [
                SignalKind::terminate(),
                SignalKind::hangup(),
                SignalKind::interrupt(),
                SignalKind::window_change(),
            ];
            let [Ok(mut terminate), Ok(mut hangup), Ok(mut interrupt), Ok(mut resized)] = kinds.map(signal)
            else {
                return;
            };
            loop {
                let message = tokio::select! {
                    _ = terminate.recv() => Message::End(Exit::Interrupted),
                    _ = hangup.recv() => Message::End(Exit::Interrupted),
                    _ = interrupt.recv() => Message::End(Exit::Interrupted),
                    _ = resized.recv() => match size() {
                        Ok((columns, rows)) => Message::Resize(usize::from(columns), usize::from(rows)),
                        Err(_) => continue,
                    },
                };
                if out.send(message).is_err() {
                    return;
                }
            }
        });
    });
    Ok(())
}
