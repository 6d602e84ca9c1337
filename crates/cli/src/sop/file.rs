//! The file a program stands in.

use crate::app::App;
use crate::error::CliError;
use crate::render::shell_word;
use fugato_model::{Diagnostic, words};
use fugato_skill::Place;
use fugato_skill::limits::SOP_PROGRAM_BYTES;
use fugato_skill::orchestrator::{ProgramPart, program_part};
use fugato_skill::sop::{INPUT, Program, SopError};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// A text, and what people call it.
pub struct ProgramFile {
    pub shown: String,
    pub text: String,
    /// The program in it: all of it, or the `## SOP` part of a descriptor.
    part: ProgramPart,
}

impl ProgramFile {
    /// Reads a file, or the standard input for `-`.
    pub fn read(path: &Path, app: &App) -> Result<Self, CliError> {
        let bad = |error: std::io::Error| CliError::io("read", path, &error);
        // One byte more than a program may have: the check says the rest.
        let most = SOP_PROGRAM_BYTES as u64 + 1;
        let mut bytes = Vec::new();
        let shown = if path == Path::new("-") {
            std::io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(bad)?;
            "-".to_owned()
        } else {
            let full = app.places.cwd.join(path);
            let file = std::fs::File::open(&full).map_err(bad)?;
            if !file.metadata().map_err(bad)?.is_file() {
                let shown = app.show_path(&full);
                return Err(CliError::usage(words!("`{shown}` is not a file", "`{shown}` 不是文件")));
            }
            file.take(most).read_to_end(&mut bytes).map_err(bad)?;
            app.show_path(&full)
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            CliError::failed(words!(
                "`{shown}` is not UTF-8 text (byte {at})",
                "`{shown}` 不是 UTF-8 文本（第 {at} 字节）"
            ))
        })?;
        let whole = ProgramPart { place: Place::new(0, text.len()), is_prepared: false };
        let is_descriptor = path.file_name().is_some_and(|name| name == "oskill.md");
        let part = match program_part(&text).filter(|_| is_descriptor) {
            Some(part) => part,
            None if is_descriptor => return Err(no_program(path, &shown)),
            None => whole,
        };
        Ok(Self { shown, text, part })
    }

    /// The program, which may refer to the request, and that of a descriptor to what its preparation will find.
    pub fn parse(&self, input: &str) -> Result<Program, Vec<SopError>> {
        let input: Arc<str> = input.into();
        let given = |name: &str| match name == INPUT {
            true => Some(Arc::clone(&input)),
            false => self.part.is_prepared.then(|| "".into()),
        };
        Program::parse_inside(&self.text, self.part.place, &given)
    }

    /// The text of the program alone.
    pub fn program_text(&self) -> &str {
        self.text.get(self.part.place.start..self.part.place.end).unwrap_or_default()
    }

    pub fn diagnostics(&self, errors: &[SopError]) -> Vec<Diagnostic> {
        errors.iter().map(|error| error.diagnostic(&self.shown, &self.text)).collect()
    }

    /// The program does not read or does not fit together.
    pub fn refused(&self, errors: &[SopError]) -> CliError {
        let shown = &self.shown;
        CliError::failed(words!("`{shown}` cannot be run", "`{shown}` 无法运行"))
            .diagnostics(self.diagnostics(errors))
    }
}

/// A descriptor whose programs a planner writes.
fn no_program(path: &Path, shown: &str) -> CliError {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = shell_word(dir);
    CliError::failed(words!(
        "`{shown}` has no `## SOP` section: its programs are planned for each request",
        "`{shown}` 没有 `## SOP` 小节：它的程序按每次请求现做规划"
    ))
    .hint(words!("fugato skill check {dir}", "fugato skill check {dir}"))
}
