//! The terminal itself: taken over and given back, whatever happens; keys and signals as messages.

use super::draw::Screen;
use super::draw::sheet::{Paint, put};
use super::model::Message;
use crate::render::Width;
use base64::Engine as _;
use fugato_model::Exit;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode, size,
};
use ratatui::crossterm::{cursor::Show, event, execute, queue};
use std::io::{BufWriter, Result, Stdout, Write as _, stdout};
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// The screen, while it is ours.
pub struct Glass {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    width: Width,
    paint: Paint,
}

/// A screen of a wide terminal in one write.
const BUFFER: usize = 128 * 1024;

impl Glass {
    pub fn take(width: Width) -> Result<Self> {
        give_back_on_panic();
        enter()?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER, stdout()));
        let terminal = Terminal::new(backend).inspect_err(|_| give_back())?;
        let paint = match anstream::AutoStream::choice(&stdout()) {
            anstream::ColorChoice::Never => Paint::Plain,
            _ => Paint::Colours,
        };
        Ok(Self { terminal, width, paint })
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
        std::io::Write::flush(backend)
    }

    /// Puts the program aside, as Ctrl-Z does everywhere; returns when it is brought back.
    pub fn suspend(&mut self) -> Result<()> {
        give_back();
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
        enter()?;
        self.forget()
    }
}

impl Drop for Glass {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste).inspect_err(|_| give_back())
}

/// As it was. A terminal that is gone cannot be given back.
fn give_back() {
    let _ = execute!(stdout(), EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, Show);
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
        while let Some(message) = next_key() {
            let is_end = matches!(message, Message::End(_));
            if out.send(message).is_err() || is_end {
                return;
            }
        }
    });
}

/// Waits for the terminal by itself: the library would turn in circles when it is gone.
fn next_key() -> Option<Message> {
    use rustix::event::{PollFd, PollFlags, poll};
    let gone = Some(Message::End(Exit::Interrupted));
    loop {
        while event::poll(Duration::ZERO).unwrap_or(false) {
            match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => return Some(Message::Key(key)),
                Ok(Event::Paste(text)) => return Some(Message::Paste(text)),
                Ok(_) => {}
                Err(_) => return gone,
            }
        }
        let stdin = std::io::stdin();
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return gone,
        }
        let lost = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if watched.iter().any(|fd| fd.revents().intersects(lost)) {
            return gone;
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
