//! The file a program stands in.

use crate::app::App;
use crate::error::CliError;
use fugato_model::{Diagnostic, words};
use fugato_skill::limits::SOP_PROGRAM_BYTES;
use fugato_skill::sop::{INPUT, Program, SopError};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// A text, and what people call it.
pub struct ProgramFile {
    pub shown: String,
    pub text: String,
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
        Ok(Self { shown, text })
    }

    /// The program, which may refer to the request.
    pub fn parse(&self, input: &str) -> Result<Program, Vec<SopError>> {
        let input: Arc<str> = input.into();
        Program::parse_given(&self.text, &|name| (name == INPUT).then(|| Arc::clone(&input)))
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
